//! A small file system of its own, so that a full disk is a full disk. Needs root, as CI has it.

use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Mounted below a directory; unmounted when it goes out of scope, whoever still has files there.
#[derive(Debug)]
pub(crate) struct Tmpfs {
    path: PathBuf,
}

impl Tmpfs {
    pub(crate) fn mount(below: &TempDir, mib: u64) -> Self {
        let path = below.path().join("disk");
        std::fs::create_dir(&path).unwrap();
        let size = format!("size={mib}m");
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(&path)
            .status()
            .unwrap();
        assert!(
            mount.success(),
            "a tmpfs is needed for this test: run it as root"
        );
        Self { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg("--lazy")
            .arg(&self.path)
            .status();
    }
}
