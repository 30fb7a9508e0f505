//! Appending: all frames of a call in one gathered write, visible together or not at all.

use super::handle::{Shared, Stream, Tail};
use crate::log::checksum::crc32c_of;
use crate::log::errors::AppendError;
use crate::log::frame::{ALIGN, FRAME_HEADER, FrameHeader, OutFrame, frame_len};
use crate::log::settings::Durability;
use crate::log::storage::write_all;
use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Stream {
    /// Appends the frames, in order, and gives their positions. When it returns they have the set durability.
    ///
    /// # Errors
    /// None of the frames is visible. `Full` with reason `log full`: [`release_before`](Self::release_before) first.
    /// `TooLarge`: over [`max_batch`](Self::max_batch). After `Io` and `disk full` some may reappear, whole, at the next
    /// start if the process dies before another append succeeds: accepted duplicates of what the sender repeats.
    pub fn append(&self, frames: &[OutFrame<'_>]) -> Result<Vec<u64>, AppendError> {
        self.append_summed(frames, |_, frame| crc32c_of(frame.body))
    }

    /// As [`append`](Self::append), with the checksum of each body from whoever had the bytes at hand.
    pub(crate) fn append_summed(
        &self,
        frames: &[OutFrame<'_>],
        checksum: impl Fn(usize, &OutFrame<'_>) -> u32,
    ) -> Result<Vec<u64>, AppendError> {
        if frames.is_empty() {
            return Ok(Vec::new());
        }
        let shared = &*self.shared;
        let mut tail = shared.tail.lock();
        let total = frames.iter().map(|frame| frame_len(frame.body_len())).sum();
        shared.make_room(&mut tail, total)?;
        let batch = Batch::lay_out(frames, checksum, tail.active.end(), tail.active.stamp())?;
        shared.write(&mut tail, &batch, frames)?;
        tail.active.publish(batch.end, batch.stamp);
        shared.end.send_replace(batch.end);
        Ok(batch.headers.iter().map(|header| header.position).collect())
    }

    /// Bytes that can be appended, headers included, before a new segment is needed.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        let tail = self.shared.tail.lock();
        if tail.broken {
            0
        } else {
            tail.active.limit() - tail.active.end()
        }
    }
}

/// Frames with their places.
struct Batch {
    headers: Vec<FrameHeader>,
    end: u64,
    stamp: u64,
}

impl Batch {
    fn lay_out(
        frames: &[OutFrame<'_>],
        checksum: impl Fn(usize, &OutFrame<'_>) -> u32,
        start: u64,
        last_stamp: u64,
    ) -> Result<Self, AppendError> {
        let mut batch = Self {
            headers: Vec::with_capacity(frames.len()),
            end: start,
            stamp: last_stamp,
        };
        for (number, frame) in frames.iter().enumerate() {
            let length = frame.body_len();
            let too_large = |_| AppendError::TooLarge {
                bytes: length,
                limit: u64::from(u32::MAX),
            };
            let body_len = u32::try_from(length).map_err(too_large)?;
            batch.stamp = batch.stamp.max(frame.stamp);
            let (position, stamp, meta) = (batch.end, batch.stamp, frame.meta);
            batch.headers.push(FrameHeader {
                body_len,
                body_crc: checksum(number, frame),
                position,
                stamp,
                meta,
            });
            batch.end += frame_len(length);
        }
        Ok(batch)
    }
}

impl Shared {
    /// Writes, and syncs where that was promised. After a failure that may have left bytes, or left it unknown what is on
    /// the disk, the file gets no more appends.
    fn write(
        &self,
        tail: &mut Tail,
        batch: &Batch,
        frames: &[OutFrame<'_>],
    ) -> Result<(), AppendError> {
        let active = Arc::clone(&tail.active);
        let headers: Vec<[u8; FRAME_HEADER]> = batch
            .headers
            .iter()
            .map(|header| header.encode(active.salt))
            .collect();
        let mut parts = gather(&headers, frames);
        if let Err(failure) = write_all(&*active.file, &mut parts, active.end() - active.base) {
            tail.broken |= failure.dirty;
            return Err(failure.error.into());
        }
        if self.settings.durability == Durability::Fsync {
            self.syncs.fetch_add(1, Ordering::Relaxed);
            if let Err(error) = active.file.sync() {
                tail.broken = true;
                return Err(AppendError::Io(Arc::new(error)));
            }
        }
        Ok(())
    }
}

/// Headers, bodies and padding in the order of the file.
fn gather<'a>(headers: &'a [[u8; FRAME_HEADER]], frames: &'a [OutFrame<'_>]) -> Vec<IoSlice<'a>> {
    const PADDING: [u8; ALIGN as usize] = [0; ALIGN as usize];
    let mut parts = Vec::with_capacity(frames.len() * 4);
    for (header, frame) in headers.iter().zip(frames) {
        parts.push(IoSlice::new(header));
        parts.extend(
            frame
                .body
                .iter()
                .filter(|part| !part.is_empty())
                .map(|part| IoSlice::new(part)),
        );
        let body = frame.body_len();
        let padding = (frame_len(body) - body - FRAME_HEADER as u64) as usize;
        if let Some(padding) = PADDING.get(..padding).filter(|p| !p.is_empty()) {
            parts.push(IoSlice::new(padding));
        }
    }
    parts
}
