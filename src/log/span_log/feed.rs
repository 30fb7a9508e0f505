//! A cursor over the span log: the store first, then the window.

use super::core::Core;
use super::window::{Look, Window};
use crate::log::api::{Fed, Feed};
use crate::log::errors::ReadError;
use crate::log::frame::{FrameMeta, StoredFrame};
use crate::log::stream::StreamReader;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct SpanFeed<A> {
    core: Arc<Core<A>>,
    id: u64,
    position: u64,
    reader: Option<StreamReader>,
}

impl<A> SpanFeed<A> {
    pub(super) fn new(core: Arc<Core<A>>, from: u64) -> Self {
        let mut window = core.window.lock();
        let position = from.min(window.end);
        let id = window.register(position);
        drop(window);
        Self {
            core,
            id,
            position,
            reader: None,
        }
    }

    /// From memory, or the news that there is nothing; `Err` with the end of what only the store has.
    fn live(&mut self, timeout: Duration) -> Result<Fed<A>, u64> {
        let core = Arc::clone(&self.core);
        let mut window = core.window.lock();
        if matches!(window.look(self.position), Look::End) && !window.closed && !timeout.is_zero() {
            core.changed.wait_for(&mut window, timeout);
        }
        let (next, fed) = match window.look(self.position) {
            Look::Store { until } => return Err(until),
            Look::End => return Ok(self.at_end(&window)),
            Look::Live(entry) => {
                let (position, stamp, meta) = (entry.position, entry.stamp, entry.meta);
                (
                    entry.next,
                    Fed::Live {
                        position,
                        stamp,
                        meta,
                        attachment: Arc::clone(&entry.attachment),
                    },
                )
            }
        };
        self.position = next;
        self.reader = None;
        let gone = window.moved(self.id, next);
        drop(window);
        drop(gone);
        Ok(fed)
    }

    /// Under the window's lock: a later write gets a stamp that is no lower.
    fn at_end(&self, window: &Window<A>) -> Fed<A> {
        if window.closed {
            return Fed::Closed;
        }
        Fed::Idle {
            now: window.in_flight.unwrap_or_else(|| self.core.time.now()),
        }
    }

    /// From the store; `None` when it has nothing more below `until`.
    fn stored(&mut self, until: u64) -> Option<Fed<A>> {
        let reader = self
            .reader
            .get_or_insert_with(|| self.core.stream.reader(self.position));
        let before = reader.position();
        let fed = match reader.next_before(until) {
            Ok(None) => None,
            Ok(Some(frame)) => Some(fed_of(frame)),
            Err(ReadError::Damaged { position, next }) => Some(Fed::Damaged { position, next }),
            Err(ReadError::Gone { position, .. }) => Some(Fed::Damaged {
                position,
                next: reader.position(),
            }),
            Err(_) => Some(Fed::Damaged {
                position: before,
                next: reader.position(),
            }),
        };
        self.position = if fed.is_some() {
            reader.position()
        } else {
            until.max(self.position)
        };
        if fed.is_none() {
            self.reader = None;
        }
        let gone = self.core.window.lock().moved(self.id, self.position);
        drop(gone);
        fed
    }
}

fn fed_of<A>(frame: StoredFrame) -> Fed<A> {
    let StoredFrame {
        position,
        next,
        stamp,
        meta,
        body,
    } = frame;
    match FrameMeta::unpack(&meta) {
        Some(meta) => Fed::Stored {
            position,
            stamp,
            meta,
            body,
        },
        None => Fed::Damaged { position, next },
    }
}

impl<A: Send + Sync> Feed<A> for SpanFeed<A> {
    fn next(&mut self, timeout: Duration) -> Fed<A> {
        loop {
            match self.live(timeout) {
                Ok(fed) => return fed,
                Err(until) => {
                    if let Some(fed) = self.stored(until) {
                        return fed;
                    }
                }
            }
        }
    }

    fn position(&self) -> u64 {
        self.position
    }
}

impl<A> Drop for SpanFeed<A> {
    fn drop(&mut self) {
        let gone = self.core.window.lock().unregister(self.id);
        drop(gone);
    }
}
