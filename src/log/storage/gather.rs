//! Whole reads and writes out of short ones.

use super::StorageFile;
use std::io::{self, ErrorKind, IoSlice};

/// `UIO_MAXIOV` of Linux: more parts are refused in one call.
const PARTS_PER_CALL: usize = 1024;

/// A write that ended early.
#[derive(Debug)]
pub(crate) struct WriteFailure {
    /// Whether bytes of it may have reached the file.
    pub(crate) dirty: bool,
    /// What the store said.
    pub(crate) error: io::Error,
}

/// Writes all parts end to end at `offset`.
pub(crate) fn write_all(
    file: &dyn StorageFile,
    mut parts: &mut [IoSlice<'_>],
    mut offset: u64,
) -> Result<(), WriteFailure> {
    let mut dirty = false;
    IoSlice::advance_slices(&mut parts, 0);
    while !parts.is_empty() {
        let now = parts.get(..PARTS_PER_CALL).unwrap_or(parts);
        match file.write_at(now, offset) {
            Ok(0) => {
                return Err(WriteFailure {
                    dirty,
                    error: ErrorKind::WriteZero.into(),
                });
            }
            Ok(written) => {
                dirty = true;
                offset += written as u64;
                IoSlice::advance_slices(&mut parts, written);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                // A refused block leaves nothing behind; after any other error the file may hold anything.
                let dirty = dirty || error.kind() != ErrorKind::StorageFull;
                return Err(WriteFailure { dirty, error });
            }
        }
    }
    Ok(())
}

/// Reads until `buffer` is full or the file ends; the number of bytes read.
pub(crate) fn read_full(
    file: &dyn StorageFile,
    buffer: &mut [u8],
    mut offset: u64,
) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset) {
            Ok(0) => break,
            Ok(read) => {
                done += read;
                offset += read as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
