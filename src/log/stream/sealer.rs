//! Syncs sealed segments off the writing thread where nobody waits for it (`durability: os`).
//!
//! It bounds what a loss of power can take to the last segments. A failure changes nothing that was promised.

use crate::log::storage::{Storage, StorageFile};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// A thread that syncs what it is handed; ends, after finishing, when dropped.
#[derive(Debug)]
pub(super) struct Sealer {
    files: Option<Sender<Arc<dyn StorageFile>>>,
    thread: Option<JoinHandle<()>>,
}

impl Sealer {
    /// Starts the thread. Without one (the system refused it) sealed segments are not synced.
    pub(super) fn start(storage: Arc<dyn Storage>) -> Self {
        let (files, queue) = channel::<Arc<dyn StorageFile>>();
        let thread = std::thread::Builder::new().name("log-seal".to_owned()).spawn(move || {
            for file in queue {
                if let Err(error) = file.sync().and_then(|()| storage.sync_dir()) {
                    tracing::warn!(%error, "a sealed segment could not be synced; a loss of power may damage it");
                }
            }
        });
        Self {
            files: Some(files),
            thread: thread.ok(),
        }
    }

    pub(super) fn seal(&self, file: Arc<dyn StorageFile>) {
        if let Some(files) = &self.files {
            drop(files.send(file));
        }
    }
}

impl Drop for Sealer {
    fn drop(&mut self) {
        self.files = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
