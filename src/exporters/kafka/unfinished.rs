//! Batches of which a part has arrived and the rest has not: a second try sends the rest alone.
//!
//! A batch is known by where its bytes lie. An entry holds them, so that no other batch can lie there for as long as it
//! is remembered. What is forgotten for want of room is sent whole again: copies, and no loss.

use super::parts::Part;
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::VecDeque;

/// Three exporters' worth of the usual ten batches under way; a batch that is given up is forgotten behind these.
const REMEMBERED: usize = 32;

/// What is left of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rest {
    pub(super) parts: Vec<Part>,
    /// Spans that have arrived.
    pub(super) arrived: u64,
    /// Spans that were refused for good.
    pub(super) rejected: u64,
}

#[derive(Debug, Default)]
pub(super) struct Unfinished(Mutex<VecDeque<(Bytes, Rest)>>);

impl Unfinished {
    /// What an earlier try has left of this batch.
    pub(super) fn take(&self, batch: &Bytes) -> Option<Rest> {
        let mut known = self.0.lock();
        let at = known
            .iter()
            .position(|(held, _)| held.as_ptr() == batch.as_ptr() && held.len() == batch.len())?;
        known.remove(at).map(|(_, rest)| rest)
    }

    pub(super) fn put(&self, batch: Bytes, rest: Rest) {
        let mut known = self.0.lock();
        if known.len() >= REMEMBERED {
            known.pop_front();
        }
        known.push_back((batch, rest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::Signal;

    #[test]
    fn a_batch_is_its_bytes_and_not_what_they_say() {
        let unfinished = Unfinished::default();
        let (one, other) = (Bytes::from(vec![1; 9]), Bytes::from(vec![1; 9]));
        let rest = |rejected| Rest {
            parts: vec![Part::whole(Signal::Traces, one.clone(), 1)],
            arrived: 0,
            rejected,
        };
        unfinished.put(one.clone(), rest(1));
        assert_eq!(unfinished.take(&other), None);
        assert_eq!(unfinished.take(&one.clone()), Some(rest(1)));
        assert_eq!(unfinished.take(&one), None);
        unfinished.put(one.clone(), rest(2));
        for number in 0..REMEMBERED {
            let batch = Bytes::from(vec![0; number + 1]);
            unfinished.put(batch, rest(0));
        }
        assert_eq!(unfinished.take(&one), None, "the oldest is forgotten");
    }
}
