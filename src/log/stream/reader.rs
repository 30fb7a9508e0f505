//! Reading a stream from front to back.

use super::handle::Shared;
use super::scan;
use super::segment::Segment;
use crate::log::errors::ReadError;
use crate::log::frame::{ALIGN, FrameHeader, StoredFrame};
use bytes::Bytes;
use std::sync::Arc;

/// A place in a stream. It sees the frames that were whole when it looked, in order; damage is an error value and is
/// passed over.
#[derive(Debug)]
pub struct StreamReader {
    shared: Arc<Shared>,
    segment: Option<Arc<Segment>>,
    position: u64,
    aligned: bool,
}

impl StreamReader {
    pub(super) fn new(shared: Arc<Shared>, from: u64) -> Self {
        let start = shared
            .segments
            .read()
            .front()
            .map_or(0, |segment| segment.base);
        Self {
            shared,
            segment: None,
            position: from.max(start),
            aligned: false,
        }
    }

    /// Where the next frame may begin: everything below has been handed out or reported.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The next frame; `None` at the end, for now.
    ///
    /// # Errors
    /// The reader has already moved past what the error is about: count it and call again.
    #[allow(
        clippy::should_implement_trait,
        reason = "not an iterator: after None there may be more, errors do not end it"
    )]
    pub fn next(&mut self) -> Result<Option<StoredFrame>, ReadError> {
        self.next_before(u64::MAX)
    }

    /// As [`next`](Self::next), but nothing at or beyond `limit`.
    pub(crate) fn next_before(&mut self, limit: u64) -> Result<Option<StoredFrame>, ReadError> {
        let Some(segment) = self.enter()? else {
            return Ok(None);
        };
        let end = segment.end();
        if !self.aligned {
            self.align(&segment, end);
        }
        if self.position >= limit {
            return Ok(None);
        }
        if self.position >= end {
            return self.next_before(limit);
        }
        let frame = self.frame(&segment, end);
        if segment.is_released() {
            self.segment = None;
            return Err(self.gone());
        }
        if let Ok(frame) = &frame {
            self.position = frame.next;
        } else if let Err(ReadError::Damaged { next, .. }) = &frame {
            self.position = *next;
        }
        frame.map(Some)
    }

    /// The segment that holds the next frame, with the position moved into it; `None` at the end.
    fn enter(&mut self) -> Result<Option<Arc<Segment>>, ReadError> {
        if let Some(segment) = &self.segment
            && self.position < segment.end()
        {
            return Ok(Some(Arc::clone(segment)));
        }
        // Under the lock: once a segment has a successor, its end is final.
        let segments = self.shared.segments.read();
        let mut index = segments.partition_point(|segment| segment.base <= self.position);
        if index == 0 {
            drop(segments);
            return Err(self.gone());
        }
        index -= 1;
        while let Some(segment) = segments.get(index) {
            self.position = self.position.max(segment.first());
            if self.position < segment.end() {
                self.segment = Some(Arc::clone(segment));
                return Ok(self.segment.clone());
            }
            index += 1;
        }
        Ok(None)
    }

    fn gone(&mut self) -> ReadError {
        let position = self.position;
        let start = self
            .shared
            .segments
            .read()
            .front()
            .map_or(0, |segment| segment.base);
        self.position = start.max(position);
        self.aligned = false;
        ReadError::Gone { position, start }
    }

    /// Moves from any byte to the first frame at or after it.
    fn align(&mut self, segment: &Segment, end: u64) {
        self.aligned = true;
        if matches!(scan::header_at(segment, self.position, end), Ok(Some(_))) {
            return;
        }
        let mut at = segment.first();
        while at < self.position {
            at = match scan::header_at(segment, at, end) {
                Ok(Some(header)) => header.next(),
                _ => scan::find(segment, at + ALIGN, end).map_or(end, |header| header.position),
            };
        }
        self.position = at;
    }

    fn frame(&self, segment: &Segment, end: u64) -> Result<StoredFrame, ReadError> {
        let position = self.position;
        let Ok(Some(header)) = scan::header_at(segment, position, end) else {
            let next =
                scan::find(segment, position + ALIGN, end).map_or(end, |header| header.position);
            return Err(ReadError::Damaged { position, next });
        };
        let FrameHeader { stamp, meta, .. } = header;
        match scan::body_of(segment, &header) {
            Ok(Some(body)) => Ok(StoredFrame {
                position,
                next: header.next(),
                stamp,
                meta,
                body: Bytes::from(body),
            }),
            _ => Err(ReadError::Damaged {
                position,
                next: header.next(),
            }),
        }
    }
}
