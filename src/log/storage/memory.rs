//! Files in memory: the `memory` kind of the buffer runs the same segment code on these.
//!
//! A file takes memory as it is written, in chunks, and keeps it when its segment is recycled.

use super::{Storage, StorageFile};
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::io::{self, ErrorKind, IoSlice};
use std::sync::Arc;

/// Small beside a segment, large beside a frame.
const CHUNK: usize = 256 * 1024;

/// A directory in memory.
#[derive(Debug, Default)]
pub(crate) struct MemoryStorage {
    files: Mutex<HashMap<String, Arc<MemoryFile>>>,
    children: Mutex<HashMap<String, Arc<MemoryStorage>>>,
}

impl Storage for MemoryStorage {
    fn create(&self, name: &str, size: u64) -> io::Result<Arc<dyn StorageFile>> {
        let file = Arc::new(MemoryFile {
            size,
            chunks: RwLock::default(),
        });
        self.files.lock().insert(name.to_owned(), Arc::clone(&file));
        Ok(file)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        match self.files.lock().get(name) {
            Some(file) => Ok(Arc::<MemoryFile>::clone(file)),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self
            .files
            .lock()
            .keys()
            .chain(self.children.lock().keys())
            .cloned()
            .collect())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = self.files.lock();
        let file = files.remove(from).ok_or(ErrorKind::NotFound)?;
        files.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.files
            .lock()
            .remove(name)
            .map(drop)
            .ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn sync_dir(&self) -> io::Result<()> {
        Ok(())
    }

    fn child(&self, name: &str) -> io::Result<Arc<dyn Storage>> {
        Ok(Arc::<Self>::clone(
            self.children.lock().entry(name.to_owned()).or_default(),
        ))
    }

    fn sync_may_stall(&self) -> bool {
        false
    }
}

#[derive(Debug)]
struct MemoryFile {
    size: u64,
    chunks: RwLock<Vec<Box<[u8]>>>,
}

impl MemoryFile {
    /// Bytes from `offset` to the end of its chunk, at most `wanted`: (chunk, begin, length).
    fn span(offset: u64, wanted: usize) -> (usize, usize, usize) {
        let chunk = offset / CHUNK as u64;
        let begin = (offset % CHUNK as u64) as usize;
        (
            usize::try_from(chunk).unwrap_or(usize::MAX),
            begin,
            wanted.min(CHUNK - begin),
        )
    }
}

impl StorageFile for MemoryFile {
    fn write_at(&self, parts: &[IoSlice<'_>], mut offset: u64) -> io::Result<usize> {
        let total: usize = parts.iter().map(|part| part.len()).sum();
        let end = offset
            .checked_add(total as u64)
            .filter(|end| *end <= self.size)
            .ok_or(ErrorKind::FileTooLarge)?;
        let needed =
            usize::try_from(end.div_ceil(CHUNK as u64)).map_err(|_| ErrorKind::FileTooLarge)?;
        let mut chunks = self.chunks.write();
        while chunks.len() < needed {
            chunks.push(vec![0; CHUNK].into_boxed_slice());
        }
        for part in parts {
            let mut rest: &[u8] = part;
            while !rest.is_empty() {
                let (chunk, begin, length) = Self::span(offset, rest.len());
                let (now, later) = rest.split_at(length);
                if let Some(target) = chunks
                    .get_mut(chunk)
                    .and_then(|c| c.get_mut(begin..begin + length))
                {
                    target.copy_from_slice(now);
                }
                offset += length as u64;
                rest = later;
            }
        }
        Ok(total)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        if left == 0 {
            return Ok(0);
        }
        let (chunk, begin, length) = Self::span(offset, buffer.len().min(left));
        let chunks = self.chunks.read();
        let target = buffer.get_mut(..length).unwrap_or_default();
        match chunks.get(chunk).and_then(|c| c.get(begin..begin + length)) {
            Some(source) => target.copy_from_slice(source),
            None => target.fill(0),
        }
        Ok(length)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_across_chunks_come_back() {
        let file = MemoryStorage::default()
            .create("a", 3 * CHUNK as u64)
            .unwrap();
        let bytes: Vec<u8> = (0..CHUNK + 100).map(|i| (i % 251) as u8).collect();
        let (one, two) = bytes.split_at(70);
        let at = CHUNK as u64 - 50;
        assert_eq!(
            file.write_at(&[IoSlice::new(one), IoSlice::new(two)], at)
                .unwrap(),
            bytes.len()
        );
        let mut read = vec![1; bytes.len() + 1];
        assert_eq!(
            super::super::read_full(&*file, &mut read, at).unwrap(),
            read.len()
        );
        assert_eq!(read.split_last(), Some((&0, &bytes[..])));
        assert!(
            file.write_at(&[IoSlice::new(one)], 3 * CHUNK as u64 - 69)
                .is_err()
        );
        assert_eq!(file.read_at(&mut read, 3 * CHUNK as u64).unwrap(), 0);
    }
}
