//! Files of the machine: `pwritev`, `fallocate`, `fdatasync`.
//!
//! Files are 0600 and directories 0700: prompts lie in them. The lock of the root lives as long as any storage below it.

use super::{Storage, StorageFile};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, IoSlice};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Arc;

/// A directory of the machine.
#[derive(Debug)]
pub(crate) struct DiskStorage {
    path: PathBuf,
    lock: Option<Arc<File>>,
}

impl DiskStorage {
    /// The directory at `path`, created where it is missing. `lock` is kept open with it.
    pub(crate) fn at(path: PathBuf, lock: Option<Arc<File>>) -> io::Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)?;
        Ok(Self { path, lock })
    }

    fn options() -> OpenOptions {
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o600);
        options
    }
}

impl Storage for DiskStorage {
    fn create(&self, name: &str, size: u64) -> io::Result<Arc<dyn StorageFile>> {
        let path = self.path.join(name);
        let file = Self::options().create(true).truncate(true).open(&path)?;
        if let Err(error) = allocate(&file, size) {
            drop(std::fs::remove_file(&path));
            return Err(error);
        }
        Ok(Arc::new(DiskFile(file)))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        Ok(Arc::new(DiskFile(
            Self::options().open(self.path.join(name))?,
        )))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let entries =
            std::fs::read_dir(&self.path)?.map(|entry| Ok(entry?.file_name().into_string().ok()));
        entries.filter_map(Result::transpose).collect()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        std::fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.path.join(name))
    }

    fn sync_dir(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    fn child(&self, name: &str) -> io::Result<Arc<dyn Storage>> {
        Ok(Arc::new(Self::at(self.path.join(name), self.lock.clone())?))
    }

    fn sync_may_stall(&self) -> bool {
        true
    }
}

/// Blocks for the whole file, so that a full disk shows now and not in the middle of a segment.
fn allocate(file: &File, size: u64) -> io::Result<()> {
    if size == 0 {
        return Ok(());
    }
    match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, size) {
        // File systems without fallocate: the file is sparse, and a full disk shows at the write.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => file.set_len(size),
        other => other.map_err(io::Error::from),
    }
}

#[derive(Debug)]
struct DiskFile(File);

impl StorageFile for DiskFile {
    fn write_at(&self, parts: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        Ok(rustix::io::pwritev(&self.0, parts, offset)?)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(&self.0, buffer, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
}
