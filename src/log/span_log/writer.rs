//! The writing thread.

use super::core::Core;
use super::queue::{Pending, Taken};
use super::retention::Retention;
use super::window::Entry;
use crate::log::checksum::crc32c_of;
use crate::log::errors::AppendError;
use crate::log::frame::OutFrame;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long nothing may come before the retention by age is looked at anyway.
const PATIENCE: Duration = Duration::from_secs(1);

/// Ends the log however the thread ends, so that nobody waits for it.
struct CloseOnExit<A>(Arc<Core<A>>);

impl<A> Drop for CloseOnExit<A> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Writes until the queue is stopped and empty.
pub(super) fn run<A>(core: Arc<Core<A>>, mut retention: Retention) {
    let core = CloseOnExit(core);
    let core = &core.0;
    loop {
        match core.queue.take(core.stream.remaining(), PATIENCE) {
            Taken::Batch(batch) => write(core, &mut retention, batch),
            Taken::Nothing => {}
            Taken::Stop => break,
        }
        retention.tidy(core);
    }
    if let Err(error) = core.stream.flush() {
        tracing::warn!(%error, "the log could not be synced at its end");
    }
}

fn write<A>(core: &Core<A>, retention: &mut Retention, batch: Vec<Pending<A>>) {
    let stamp = core.begin_write();
    match append(core, retention, stamp, &batch) {
        Ok(positions) => publish(core, retention, stamp, batch, &positions),
        Err(error) => {
            core.abandon_write();
            for request in batch {
                core.refuse(request.answer, error.clone());
            }
        }
    }
}

/// One gathered write; what stands in its way and may go, goes.
fn append<A>(
    core: &Core<A>,
    retention: &mut Retention,
    stamp: u64,
    batch: &[Pending<A>],
) -> Result<Vec<u64>, AppendError> {
    retention.make_room(core, batch.iter().map(Pending::frame_len).sum())?;
    let bodies: Vec<Vec<&[u8]>> = batch
        .iter()
        .map(|r| r.blocks.iter().map(|block| &*block.bytes).collect())
        .collect();
    let frame = |(request, body): (&Pending<A>, _)| OutFrame {
        stamp,
        meta: request.meta.pack(),
        body,
    };
    let frames: Vec<OutFrame<'_>> = batch
        .iter()
        .zip(bodies.iter().map(Vec::as_slice))
        .map(frame)
        .collect();
    let checksum = |number: usize, frame: &OutFrame<'_>| match batch.get(number) {
        Some(request) => request.checksum,
        None => crc32c_of(frame.body),
    };
    match core.stream.append_summed(&frames, checksum) {
        // The disk is full of other things: a segment of ours that nobody needs makes room.
        Err(AppendError::Full { .. }) if retention.release_oldest(core) => {
            core.stream.append_summed(&frames, checksum)
        }
        other => other,
    }
}

fn publish<A>(
    core: &Core<A>,
    retention: &mut Retention,
    stamp: u64,
    batch: Vec<Pending<A>>,
    positions: &[u64],
) {
    let mut blocks = Vec::with_capacity(batch.len());
    let mut entries = Vec::with_capacity(batch.len());
    let mut answers = Vec::with_capacity(batch.len());
    core.counters.writes.fetch_add(1, Ordering::Relaxed);
    let segment = core.stream.active_base();
    for (request, position) in batch.into_iter().zip(positions.iter().copied()) {
        let length = request.frame_len();
        core.counters.frames.fetch_add(1, Ordering::Relaxed);
        core.counters
            .spans
            .fetch_add(u64::from(request.meta.spans), Ordering::Relaxed);
        core.counters.bytes.fetch_add(length, Ordering::Relaxed);
        retention.wrote(segment, &request.blocks);
        let (its_blocks, parts, answer) = request.into_parts();
        blocks.push((position, its_blocks));
        entries.push(Entry::new(position, position + length, stamp, parts));
        answers.push((answer, position));
    }
    // In the cache before anyone can decide it, in the window before anyone is told.
    core.cache.insert(blocks.into_iter());
    let mut window = core.window.lock();
    let gone = window.publish(entries.into_iter());
    window.in_flight = None;
    drop(window);
    core.changed.notify_all();
    drop(gone);
    for (answer, position) in answers {
        drop(answer.send(Ok(position)));
    }
}
