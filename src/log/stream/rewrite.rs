//! Writing over what is in segment files, for erasing: the only writes below the end, made when no daemon has the log.

use super::handle::Stream;
use super::recover::free_number;
use super::segment::base_of;
use crate::log::checksum::crc32c;
use crate::log::frame::{FRAME_HEADER, FrameHeader};
use crate::log::storage::{Storage, StorageFile, read_full, write_all};
use std::io::{self, ErrorKind, IoSlice};
use std::sync::Arc;

/// Zeros that are written at once.
const ZEROS: usize = 1 << 20;

/// The file that holds a position, and where in it.
fn locate(storage: &dyn Storage, position: u64) -> io::Result<(Arc<dyn StorageFile>, u64)> {
    let names = storage.list()?;
    let bases = names.iter().filter_map(|name| Some((base_of(name)?, name)));
    let (base, name) = bases
        .filter(|(base, _)| *base <= position)
        .max()
        .ok_or(ErrorKind::NotFound)?;
    Ok((storage.open(name)?, position - base))
}

/// The frame at `position` with another body of the same length; `None` when there is no such frame.
pub(crate) fn frame_with(
    storage: &dyn Storage,
    position: u64,
    body: &[u8],
) -> io::Result<Option<Vec<u8>>> {
    let (file, at) = locate(storage, position)?;
    let mut bytes = [0; FRAME_HEADER];
    read_full(&*file, &mut bytes, at)?;
    let salt = FrameHeader::salt_of(&bytes);
    let header = FrameHeader::decode(&bytes, position, salt);
    let Some(header) = header.filter(|header| header.body_len as usize == body.len()) else {
        return Ok(None);
    };
    let header = FrameHeader {
        body_crc: crc32c(body),
        ..header
    };
    Ok(Some([&header.encode(salt), body].concat()))
}

/// Writes a frame where it lies; durable when it returns.
pub(crate) fn put_frame(storage: &dyn Storage, position: u64, frame: &[u8]) -> io::Result<()> {
    let (file, at) = locate(storage, position)?;
    write(&*file, frame, at)?;
    file.sync()
}

/// Fills with zeros what holds no frame any more and is still there to be read: free files, and files behind their end.
pub(crate) fn wipe_unused(stream: &Stream, storage: &dyn Storage) -> io::Result<()> {
    for segment in stream.segments() {
        let (file, end) = locate(storage, segment.base)?;
        wipe(&*file, end + (segment.end - segment.base), segment.size)?;
    }
    for name in storage
        .list()?
        .iter()
        .filter(|name| free_number(name).is_some())
    {
        let file = storage.open(name)?;
        wipe(&*file, 0, file.size()?)?;
    }
    Ok(())
}

fn wipe(file: &dyn StorageFile, from: u64, to: u64) -> io::Result<()> {
    let zeros = vec![0; ZEROS];
    let mut at = from;
    while at < to {
        let length = usize::try_from(to - at).unwrap_or(ZEROS).min(ZEROS);
        write(file, zeros.get(..length).unwrap_or_default(), at)?;
        at += length as u64;
    }
    file.sync()
}

pub(crate) fn write(file: &dyn StorageFile, bytes: &[u8], at: u64) -> io::Result<()> {
    write_all(file, &mut [IoSlice::new(bytes)], at).map_err(|failure| failure.error)
}
