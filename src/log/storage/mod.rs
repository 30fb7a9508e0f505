//! The only way to files: what the segment code needs of a file system, and who provides it.
//!
//! Three kinds: [`disk`], [`memory`], and in tests a simulated one that injects faults and crashes. A storage is one
//! flat directory; names are chosen by the log and hold no separator.

mod disk;
mod gather;
mod memory;
#[cfg(test)]
pub(crate) mod simulated;

pub(crate) use disk::DiskStorage;
pub(crate) use gather::{read_full, write_all};
pub(crate) use memory::MemoryStorage;

use std::fmt::Debug;
use std::io::{self, IoSlice};
use std::sync::Arc;

/// One flat directory.
pub(crate) trait Storage: Send + Sync + Debug {
    /// A new file of `size` bytes with its blocks allocated; a file of that name is replaced.
    fn create(&self, name: &str, size: u64) -> io::Result<Arc<dyn StorageFile>>;
    /// An existing file.
    fn open(&self, name: &str) -> io::Result<Arc<dyn StorageFile>>;
    /// Names of the files and directories in it, in no order.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Renames in one step; a file named `to` is replaced.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes creations, renames and removals survive the loss of power.
    fn sync_dir(&self) -> io::Result<()>;
    /// A directory in it, created where it is missing.
    fn child(&self, name: &str) -> io::Result<Arc<dyn Storage>>;
    /// Whether a sync may take so long that it should be done by another thread where that is possible.
    fn sync_may_stall(&self) -> bool;
}

/// A file of a [`Storage`]. Reads and writes may run side by side.
pub(crate) trait StorageFile: Send + Sync + Debug {
    /// Writes the parts end to end; may write less than all of them.
    fn write_at(&self, parts: &[IoSlice<'_>], offset: u64) -> io::Result<usize>;
    /// Reads; 0 at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Makes everything written survive the loss of power.
    fn sync(&self) -> io::Result<()>;
    /// Bytes of the file.
    fn size(&self) -> io::Result<u64>;
}
