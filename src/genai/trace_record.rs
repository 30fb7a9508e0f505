//! What a trace says about its model calls: a fold over the records of its spans.
//!
//! Of fixed size: sums for each of the six places that report calls, seven texts as numbers with the key that chose them,
//! sets as bits, the greatest engine times, and four evaluations. [`TraceRecord::merge`] is associative and commutative, so
//! spans may come in any order and in any pieces. Who is believed is decided when it is asked, in `authority`: a call that
//! four layers saw is four numbers here and one there.

use super::layer_sums::LayerSums;
use super::longest::Longest;
use super::pick::Pick;
use super::record::{FinishSet, SpanRecord};
use super::trace_scores::{TraceScore, TraceScores};
use super::words::{Kind, Stand};

/// The record of a trace. Texts are numbers: of names as the caller gave them, of ids [`hash_id`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TraceRecord {
    pub(super) layers: [LayerSums; Stand::ALL.len()],
    pub(super) provider: Pick,
    pub(super) request_model: Pick,
    pub(super) response_model: Pick,
    pub(super) error_type: Pick,
    pub(super) conversation_id: Pick,
    pub(super) response_id: Pick,
    pub(super) environment: Pick,
    pub(super) queue: Longest,
    pub(super) prefill: Longest,
    pub(super) decode: Longest,
    /// Kinds that were seen, a bit for each.
    pub(super) kinds: u16,
    /// Layers that were seen.
    pub(super) stands: u8,
    pub(super) finish: FinishSet,
    /// Of calls: one was streamed, one was not.
    pub(super) streamed: bool,
    pub(super) whole: bool,
    pub(super) hit: bool,
    pub(super) missed: bool,
    pub(super) error: bool,
    pub(super) scores: TraceScores,
}

/// An id as a number that is the same in every process.
#[must_use]
pub fn hash_id(id: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(id)
}

impl TraceRecord {
    /// Of one span.
    #[must_use]
    pub fn of(record: &SpanRecord<u64>) -> Self {
        let call = matches!(record.kind, Kind::Inference);
        let mut out = Self {
            provider: Pick::of(record, record.provider),
            request_model: Pick::of(record, record.request_model),
            response_model: Pick::of(record, record.response_model),
            error_type: Pick::of(record, record.error_type),
            conversation_id: Pick::of(record, record.conversation_id),
            response_id: Pick::of(record, record.response_id),
            environment: Pick::of(record, record.environment),
            queue: Longest::of(record.queue),
            prefill: Longest::of(record.prefill),
            decode: Longest::of(record.decode),
            kinds: 1 << record.kind as u16,
            stands: 1 << record.stand as u8,
            finish: if call {
                record.finish
            } else {
                FinishSet::default()
            },
            streamed: call && record.stream == Some(true),
            whole: call && record.stream == Some(false),
            hit: call && record.cache_hit == Some(true),
            missed: call && record.cache_hit == Some(false),
            error: record.error,
            ..Self::default()
        };
        if let Some(sums) = out.layers.get_mut(record.stand as usize) {
            *sums = LayerSums::of(record);
        }
        record.scores.iter().for_each(|score| out.scores.add(score));
        out
    }

    /// Adds a span.
    pub fn fold(&mut self, record: &SpanRecord<u64>) {
        self.merge(&Self::of(record));
    }

    /// Adds other spans of the same trace.
    pub fn merge(&mut self, other: &Self) {
        for (sums, more) in self.layers.iter_mut().zip(&other.layers) {
            sums.merge(more);
        }
        self.provider.merge(other.provider);
        self.request_model.merge(other.request_model);
        self.response_model.merge(other.response_model);
        self.error_type.merge(other.error_type);
        self.conversation_id.merge(other.conversation_id);
        self.response_id.merge(other.response_id);
        self.environment.merge(other.environment);
        self.queue.merge(other.queue);
        self.prefill.merge(other.prefill);
        self.decode.merge(other.decode);
        self.kinds |= other.kinds;
        self.stands |= other.stands;
        self.finish = self.finish.union(other.finish);
        self.streamed |= other.streamed;
        self.whole |= other.whole;
        self.hit |= other.hit;
        self.missed |= other.missed;
        self.error |= other.error;
        self.scores.merge(&other.scores);
    }

    /// A span of this kind was there.
    #[must_use]
    pub fn has_kind(&self, kind: Kind) -> bool {
        self.kinds >> kind as u16 & 1 == 1
    }

    /// This place reported something.
    #[must_use]
    pub fn has_stand(&self, stand: Stand) -> bool {
        self.stands >> stand as u8 & 1 == 1
    }

    /// Evaluations by name.
    pub fn scores(&self) -> impl Iterator<Item = &TraceScore> {
        self.scores.iter()
    }
}
