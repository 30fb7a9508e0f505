//! Finding frames where no index says where they are: the tail after a crash, and the way past damage.

use super::segment::{SEGMENT_HEADER, Segment};
use crate::log::checksum::crc32c;
use crate::log::frame::{ALIGN, FRAME_HEADER, FrameHeader, MAGIC};
use crate::log::storage::{StorageFile, read_full};
use memchr::memmem;
use std::io;

/// Read at once while looking for a frame header.
const WINDOW: usize = 128 * 1024;

/// Read at once where a window holds something unreadable: a frame header and a little.
const SMALL_WINDOW: usize = 64;

/// The header of the frame at `position`; `None` when there is none whose frame ends by `limit`.
pub(super) fn header_at(
    segment: &Segment,
    position: u64,
    limit: u64,
) -> io::Result<Option<FrameHeader>> {
    let mut bytes = [0; FRAME_HEADER];
    if segment.read(position, &mut bytes)? < bytes.len() {
        return Ok(None);
    }
    Ok(FrameHeader::decode(&bytes, position, segment.salt).filter(|header| header.next() <= limit))
}

/// The body of a frame; `None` when its checksum does not match.
pub(super) fn body_of(segment: &Segment, header: &FrameHeader) -> io::Result<Option<Vec<u8>>> {
    let mut body = vec![0; header.body_len as usize];
    let read = segment.read(header.position + FRAME_HEADER as u64, &mut body)?;
    Ok((read == body.len() && crc32c(&body) == header.body_crc).then_some(body))
}

/// The first frame header at or after `from` whose frame ends by `limit`. What cannot be read is passed over.
pub(super) fn find(segment: &Segment, from: u64, limit: u64) -> Option<FrameHeader> {
    let mut window = vec![0; WINDOW];
    let mut at = from.next_multiple_of(ALIGN);
    let mut size = WINDOW;
    while at.saturating_add(FRAME_HEADER as u64) <= limit {
        let wanted = usize::try_from(limit - at).unwrap_or(usize::MAX).min(size);
        let Ok(read) = segment.read(at, window.get_mut(..wanted).unwrap_or_default()) else {
            at += if size == SMALL_WINDOW { ALIGN } else { 0 };
            size = SMALL_WINDOW;
            continue;
        };
        let found = in_window(
            window.get(..read).unwrap_or_default(),
            at,
            limit,
            segment.salt,
        );
        if found.is_some() {
            return found;
        }
        size = WINDOW;
        // Windows overlap by a header, so that none is missed on their border.
        at += (wanted.saturating_sub(FRAME_HEADER) as u64)
            .next_multiple_of(ALIGN)
            .max(ALIGN);
    }
    None
}

fn in_window(window: &[u8], at: u64, limit: u64, salt: u32) -> Option<FrameHeader> {
    // No two places of the magic overlap, for its bytes differ; so an odd one hides none that is aligned.
    memmem::find_iter(window, &MAGIC.to_le_bytes())
        .filter(|offset| offset.is_multiple_of(ALIGN as usize))
        .find_map(|offset| {
            let bytes = window.get(offset..)?.first_chunk::<FRAME_HEADER>()?;
            FrameHeader::decode(bytes, at + offset as u64, salt)
                .filter(|header| header.next() <= limit)
        })
}

/// The salt of a segment whose header is damaged, from its first frame; `None` when that is not whole either.
pub(super) fn guess_salt(file: &dyn StorageFile, base: u64) -> Option<u32> {
    let mut bytes = [0; FRAME_HEADER];
    let read = read_full(file, &mut bytes, SEGMENT_HEADER).ok()?;
    let salt = FrameHeader::salt_of(&bytes);
    let header =
        FrameHeader::decode(&bytes, base + SEGMENT_HEADER, salt).filter(|_| read == bytes.len())?;
    let mut body = vec![
        0;
        header
            .body_len
            .min(file.size().ok()?.try_into().unwrap_or(u32::MAX)) as usize
    ];
    let read = read_full(file, &mut body, SEGMENT_HEADER + FRAME_HEADER as u64).ok()?;
    (read == header.body_len as usize && crc32c(&body) == header.body_crc).then_some(salt)
}

/// Where the frames of a segment end, at `limit` at most, and the stamp of the last: the end of the last whole frame in it. Damage before it
/// is left for readers to meet. Stamps never step back, so a frame with a lower one is the rest of a write that failed.
pub(super) fn end_of(segment: &Segment, limit: u64) -> (u64, u64) {
    let (mut end, mut stamp) = (segment.first(), segment.previous.1);
    let mut at = segment.first();
    let limit = limit.min(segment.limit());
    loop {
        let header = match header_at(segment, at, limit) {
            Ok(Some(header)) => header,
            _ => match find(segment, at + ALIGN, limit) {
                Some(header) => header,
                None => return (end, stamp),
            },
        };
        let whole = header.stamp >= stamp && matches!(body_of(segment, &header), Ok(Some(_)));
        if whole {
            (end, stamp) = (header.next(), header.stamp);
        }
        at = header.next();
    }
}
