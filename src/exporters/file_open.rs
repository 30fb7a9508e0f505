//! Opens the file of a `file` exporter: directory, permissions, lock, and the end of what is there.
//!
//! Files are 0600: they hold prompts. A file of ours is locked, so that two writers do not mix. What is no regular file
//! (`/dev/stdout`, a pipe) is only written to.

use super::error::Problem;
use super::file_rotation::Backups;
use super::file_tail::whole_length;
use super::settings::FileSettings;
use super::whole_append::WholeAppend;
use crate::clock::Nanos;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

const KEY: &str = "path";

/// An open file, and whether it is one that can be cut and renamed.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) end: WholeAppend<File>,
    pub(crate) regular: bool,
}

/// Opens at the start of the exporter: everything that is wrong is told.
pub(crate) fn open_at_start(
    settings: &FileSettings,
    backups: &Backups,
    now: Nanos,
) -> Result<Opened, Problem> {
    let path = &settings.path;
    let failed =
        |what: &str, error| Problem::io(KEY, format!("cannot {what} {}", path.display()), error);
    if let (Some(mode), Some(parent)) = (settings.create_directory, path.parent()) {
        DirBuilder::new()
            .recursive(true)
            .mode(mode)
            .create(parent)
            .map_err(|e| failed("make the directory of", e))?;
    }
    let file = open(path).map_err(|e| failed("open", e))?;
    let metadata = file.metadata().map_err(|e| failed("look at", e))?;
    if !metadata.is_file() {
        return Ok(Opened {
            end: WholeAppend::new(file, 0, false),
            regular: false,
        });
    }
    lock(&file)?;
    let len = metadata.len();
    if !settings.append && settings.rotation.is_none() {
        file.set_len(0).map_err(|e| failed("empty", e))?;
        return Ok(Opened {
            end: WholeAppend::new(file, 0, false),
            regular: true,
        });
    }
    if settings.zstd && len > 0 {
        // A torn frame cannot be found from behind, and would hide what follows it: the old file is set aside whole.
        let fresh = set_aside(path, backups, now).map_err(|e| failed("set aside", e))?;
        return Ok(Opened {
            end: WholeAppend::new(fresh, 0, false),
            regular: true,
        });
    }
    let whole = whole_length(&file, len, settings.format).map_err(|e| failed("read", e))?;
    if whole < len {
        tracing::warn!(
            bytes = len - whole,
            "file exporter: the torn record at the end of the file is cut off"
        );
        file.set_len(whole).map_err(|e| failed("cut", e))?;
    }
    Ok(Opened {
        end: WholeAppend::new(file, whole, false),
        regular: true,
    })
}

/// Makes the names in the file's directory survive the loss of power.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    File::open(parent)?.sync_all()
}

/// Renames the file to a backup and begins a new one; on failure everything is as it was.
pub(crate) fn set_aside(path: &Path, backups: &Backups, now: Nanos) -> io::Result<File> {
    let backup = backups.name(now)?;
    std::fs::rename(path, &backup)?;
    match open(path) {
        Ok(fresh) => {
            // Nobody else has seen it yet; a file system without locks is as good as before.
            let _ = fresh.try_lock();
            Ok(fresh)
        }
        Err(error) => {
            std::fs::rename(&backup, path)?;
            Err(error)
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    // Read as well, for the search of the last whole record; a device may not allow it.
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    options
        .clone()
        .read(true)
        .open(path)
        .or_else(|_| options.open(path))
}

fn lock(file: &File) -> Result<(), Problem> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(Problem::new(
            KEY,
            "another exporter or process is writing to this file; each needs one of its own",
        )),
        // A file system without locks is no reason not to write.
        Err(TryLockError::Error(_)) | Ok(()) => Ok(()),
    }
}
