//! One process per directory: an exclusive `flock` on a file that names its holder.

use super::errors::LogError;
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

/// Locks `directory` for as long as the file stays open; the kernel lets go when the process dies.
pub(crate) fn lock(directory: &Path) -> Result<Arc<File>, LogError> {
    let what = "locking the log's directory";
    let mut options = OpenOptions::new();
    let path = directory.join("lock");
    let mut file = options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(LogError::io(what))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => {
            return Err(LogError::Locked {
                directory: directory.to_owned(),
                pid: holder(&mut file),
            });
        }
        Err(error) => {
            return Err(LogError::Io {
                what,
                source: error.into(),
            });
        }
    }
    file.set_len(0).map_err(LogError::io(what))?;
    writeln!(file, "{}", std::process::id()).map_err(LogError::io(what))?;
    Ok(Arc::new(file))
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(20).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
