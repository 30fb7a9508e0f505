//! Erases pieces of a log that no daemon has open: they are written over where they lie, marked, under new checksums, and
//! so is everything in the files that holds no frame any more.
//!
//! Invariants: positions and lengths stay, so that every entry still names what it named; a frame is rewritten in whole or
//! not at all, also when the process dies in between: it is in a journal before it is written over, and whoever opens the
//! directory next ends what was begun.

use super::checksum::crc32c;
use super::directory::Directory;
use super::errors::{LogError, ReadError};
use super::frame::{FrameMeta, Signal};
use super::piece::{PIECE_HEADER, StoredPiece, pieces, write_erased_header};
use super::storage::{Storage, read_full};
use super::stream::{frame_with, put_frame, wipe_unused, write};
use bytes::Bytes;
use std::io;

const JOURNAL: &str = "erasing";
/// Position u64, length u32, CRC32C of the frame u32, all little endian.
const JOURNAL_HEADER: usize = 16;

/// What was erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Erased {
    /// Pieces.
    pub pieces: u64,
    /// Spans and log records in them.
    pub spans: u64,
    /// Frames that could not be read, and in which there may be more.
    pub damaged: u64,
}

/// What is to stand where a piece stands; `None`: it stays.
pub type Scrub<'a> = dyn Fn(Signal, &StoredPiece) -> Option<Vec<u8>> + 'a;

/// Erases every piece for which `scrub` gives what is to stand there: as many bytes.
///
/// # Errors
/// The store's. What was erased before it stays so; it can be tried again.
pub fn erase(directory: &Directory, scrub: &Scrub<'_>) -> Result<Erased, LogError> {
    let stream = directory.spans()?;
    let storage = directory.spans_storage()?;
    let mut erased = Erased::default();
    let mut reader = stream.reader(stream.start());
    loop {
        match reader.next() {
            Ok(None) => break,
            Ok(Some(frame)) => {
                // Frames of a signal that this build does not know hold nothing that it could read.
                let Some(meta) = FrameMeta::unpack(&frame.meta) else {
                    erased.damaged += 1;
                    continue;
                };
                let before = erased;
                let body = rewritten((meta.signal, &frame.body), scrub, &mut erased);
                if erased != before {
                    replace(directory.root(), &*storage, frame.position, &body)
                        .map_err(LogError::io("writing over a piece"))?;
                }
            }
            Err(ReadError::Io { source, .. }) => {
                return Err(LogError::io("reading the log")(source));
            }
            Err(_) => erased.damaged += 1,
        }
    }
    wipe_unused(&stream, &*storage).map_err(LogError::io("writing over free space of the log"))?;
    Ok(erased)
}

/// The body of a frame with its meant pieces written over.
fn rewritten((signal, body): (Signal, &Bytes), scrub: &Scrub<'_>, erased: &mut Erased) -> Vec<u8> {
    let mut out = body.to_vec();
    let mut at = 0;
    for piece in pieces(body).map_while(Result::ok) {
        let end = at + PIECE_HEADER + piece.body.len();
        if let Some(new) = scrub(signal, &piece).filter(|new| new.len() == piece.body.len())
            && let Some((header, place)) = out
                .get_mut(at..end)
                .and_then(|piece| piece.split_at_mut_checked(PIECE_HEADER))
        {
            write_erased_header(header, piece.partition, piece.spans, &new);
            place.copy_from_slice(&new);
            erased.pieces += 1;
            erased.spans += u64::from(piece.spans);
        }
        at = end;
    }
    out
}

/// First into the journal, then where it lies.
fn replace(root: &dyn Storage, spans: &dyn Storage, position: u64, body: &[u8]) -> io::Result<()> {
    let Some(frame) = frame_with(spans, position, body)? else {
        return Ok(());
    };
    let mut journal = position.to_le_bytes().to_vec();
    journal.extend(u32::try_from(frame.len()).unwrap_or(u32::MAX).to_le_bytes());
    journal.extend(crc32c(&frame).to_le_bytes());
    journal.extend_from_slice(&frame);
    let file = root.create(JOURNAL, journal.len() as u64)?;
    write(&*file, &journal, 0)?;
    file.sync()?;
    root.sync_dir()?;
    put_frame(spans, position, &frame)?;
    root.remove(JOURNAL)?;
    root.sync_dir()
}

/// Ends what a process that died has begun. A journal that is not whole was written over nothing yet.
pub(super) fn resume(root: &dyn Storage) -> io::Result<()> {
    if !root.list()?.iter().any(|name| name == JOURNAL) {
        return Ok(());
    }
    let file = root.open(JOURNAL)?;
    let mut journal = vec![0; usize::try_from(file.size()?).unwrap_or(0)];
    read_full(&*file, &mut journal, 0)?;
    if let Some((position, frame)) = whole(&journal) {
        put_frame(&*root.child("spans")?, position, frame)?;
        tracing::info!(position, "an erasure that was interrupted is done");
    }
    root.remove(JOURNAL)?;
    root.sync_dir()
}

fn whole(journal: &[u8]) -> Option<(u64, &[u8])> {
    let (header, frame) = journal.split_at_checked(JOURNAL_HEADER)?;
    let (position, rest) = header.split_first_chunk()?;
    let (length, crc) = rest.split_first_chunk()?;
    let sound = u32::from_le_bytes(*length) as usize == frame.len()
        && u32::from_le_bytes(crc.try_into().ok()?) == crc32c(frame);
    sound.then_some((u64::from_le_bytes(*position), frame))
}

#[cfg(test)]
mod tests {
    use super::super::frame::{FRAME_HEADER, OutFrame};
    use super::super::piece::tests::body_of;
    use super::super::settings::{Durability, LogSettings, StoreKind};
    use super::*;
    use std::path::Path;

    fn settings(path: &Path) -> LogSettings {
        LogSettings {
            store: StoreKind::Disk(path.join("log")),
            max_size: 8 << 20,
            retention: None,
            durability: Durability::Os,
            partitions: 1,
            segment_size: 128 << 10,
        }
    }

    /// Every byte of every file.
    fn is_there(path: &Path, text: &str) -> bool {
        path.read_dir().unwrap().any(|entry| {
            let path = entry.unwrap().path();
            if path.is_dir() {
                return is_there(&path, text);
            }
            let bytes = std::fs::read(path).unwrap();
            memchr::memmem::find(&bytes, text.as_bytes()).is_some()
        })
    }

    fn fill(directory: &Directory, frames: &[&[&[u8]]]) -> Vec<u64> {
        let stream = directory.spans().unwrap();
        let append = |bodies: &&[&[u8]]| {
            let body = body_of(bodies);
            let frame = OutFrame {
                stamp: 1,
                meta: [1; 16],
                body: &[&body],
            };
            stream.append(&[frame]).unwrap()[0]
        };
        frames.iter().map(append).collect()
    }

    fn found(directory: &Directory) -> Vec<(Vec<u8>, bool)> {
        let stream = directory.spans().unwrap();
        let mut reader = stream.reader(stream.start());
        let mut out = Vec::new();
        while let Some(frame) = reader.next().unwrap() {
            let each = pieces(&frame.body).map(Result::unwrap);
            out.extend(each.map(|piece| (piece.body.to_vec(), piece.erased)));
        }
        out
    }

    fn secrets(_: Signal, piece: &StoredPiece) -> Option<Vec<u8>> {
        piece
            .body
            .starts_with(b"secret")
            .then(|| vec![b'x'; piece.body.len()])
    }

    #[test]
    fn what_is_meant_is_gone_and_the_rest_is_sound() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::open(&settings(place.path())).unwrap();
        let _ = fill(
            &directory,
            &[&[b"secret one", b"other"], &[b"more"], &[b"secret two"]],
        );
        assert!(is_there(place.path(), "secret"));
        let expected = Erased {
            pieces: 2,
            spans: 2,
            damaged: 0,
        };
        assert_eq!(erase(&directory, &secrets).unwrap(), expected);
        assert!(!is_there(place.path(), "secret"));
        let pieces = [
            ("xxxxxxxxxx", true),
            ("other", false),
            ("more", false),
            ("xxxxxxxxxx", true),
        ];
        let pieces = pieces.map(|(text, erased)| (text.as_bytes().to_vec(), erased));
        assert_eq!(found(&directory), pieces);
        assert_eq!(erase(&directory, &secrets).unwrap(), Erased::default());
    }

    #[test]
    fn an_interrupted_erasure_is_ended_by_the_next_who_opens() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::open(&settings(place.path())).unwrap();
        let positions = fill(&directory, &[&[b"secret"], &[b"other"]]);
        let storage = directory.spans_storage().unwrap();
        let body = rewritten(
            (Signal::Traces, &body_of(&[b"secret"])),
            &secrets,
            &mut Erased::default(),
        );
        let frame = frame_with(&*storage, positions[0], &body).unwrap().unwrap();
        let journal = |frame: &[u8]| {
            let length = u32::try_from(frame.len()).unwrap().to_le_bytes();
            [
                &positions[0].to_le_bytes()[..],
                &length,
                &crc32c(frame).to_le_bytes(),
                frame,
            ]
            .concat()
        };
        let path = place.path().join("log").join(JOURNAL);
        // It died in the middle of the second write.
        put_frame(&*storage, positions[0], &frame[..FRAME_HEADER + 3]).unwrap();
        std::fs::write(&path, journal(&frame)).unwrap();
        drop((storage, directory));
        let directory = Directory::open(&settings(place.path())).unwrap();
        assert!(!path.exists());
        let expected = [(b"xxxxxx".to_vec(), true), (b"other".to_vec(), false)];
        assert_eq!(found(&directory), expected);
        drop(directory);
        // It died in the middle of the journal.
        std::fs::write(&path, &journal(&frame)[..20]).unwrap();
        let directory = Directory::open(&settings(place.path())).unwrap();
        assert!(!path.exists());
        assert_eq!(found(&directory), expected);
    }
}
