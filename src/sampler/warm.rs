//! Looks at the skeletons of a frame's traces before they are folded into.
//!
//! They lie far apart. Looked up together, their memory is waited for together; with many small pieces that wait is the
//! larger part of the work. Nothing is changed here.

use super::scanned::Scanned;
use super::worker::Worker;

impl Worker {
    pub(super) fn warm(&self, scanned: &Scanned) {
        let touched = scanned.pieces.iter().filter_map(|piece| {
            let partition = self.partitions.get(usize::from(piece.partition))?;
            partition.skeletons.touch(piece.trace)
        });
        std::hint::black_box(touched.fold(0, |sum, byte| sum ^ byte));
    }
}
