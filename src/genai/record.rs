//! What one span says about a model call, whatever dialect it speaks.
//!
//! Times are nanoseconds. Texts are of type `T`: as found, slices of the request; to keep them, [`SpanRecord::map`] turns
//! them into numbers. A record holds names, ids and numbers, never a prompt or an answer.

use super::dialects::DialectId;
use super::scores::Scores;
use super::words::{Finish, Kind, Layer, Operation, Stand};

/// The record of a recognised span.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpanRecord<T> {
    /// The span's start; with the layer it orders the records of a trace.
    pub start: u64,
    /// End less start.
    pub duration: u64,
    /// Who wrote it.
    pub dialect: DialectId,
    /// On which side of the call.
    pub stand: Stand,
    /// What it is about.
    pub kind: Kind,
    /// The operation, when the dialect tells.
    pub operation: Option<Operation>,
    /// The provider, aliases folded.
    pub provider: Option<T>,
    /// The model asked for.
    pub request_model: Option<T>,
    /// The model that answered.
    pub response_model: Option<T>,
    /// Of the model that answered, else of the one asked for: without version.
    pub family: Option<T>,
    /// Its version; absent when the name has none.
    pub version: Option<T>,
    /// The answer was streamed.
    pub stream: Option<bool>,
    /// Tokens in, cached ones included.
    pub input_tokens: Option<u32>,
    /// Tokens out, reasoning included.
    pub output_tokens: Option<u32>,
    /// Tokens in that a cache had.
    pub cached_tokens: Option<u32>,
    /// Tokens in that a cache took.
    pub cache_write_tokens: Option<u32>,
    /// Tokens out that were reasoning.
    pub reasoning_tokens: Option<u32>,
    /// Time to the first token.
    pub ttft: Option<u64>,
    /// Time for each token behind the first: told, or of the rest of the span.
    pub time_per_output_token: Option<u64>,
    /// Time in a queue.
    pub queue: Option<u64>,
    /// Time of the prefill.
    pub prefill: Option<u64>,
    /// Time of the decode.
    pub decode: Option<u64>,
    /// Why the model stopped, for each choice; a set.
    pub finish: FinishSet,
    /// The span failed, by any of the marks that dialects have for it.
    pub error: bool,
    /// What failed, without the module's name.
    pub error_type: Option<T>,
    /// A cache had a part of the prompt.
    pub cache_hit: Option<bool>,
    /// The tool that ran.
    pub tool: Option<T>,
    /// The conversation or session.
    pub conversation_id: Option<T>,
    /// The provider's id of the answer.
    pub response_id: Option<T>,
    /// Where it ran: `deployment.environment.name` of its resource, told by who knows the resource.
    pub environment: Option<T>,
    /// Evaluations on the span.
    pub scores: Scores<T>,
}

impl<T: Copy> SpanRecord<T> {
    pub(super) fn new(dialect: DialectId, stand: Stand, kind: Kind) -> Self {
        Self {
            start: 0,
            duration: 0,
            dialect,
            stand,
            kind,
            operation: None,
            provider: None,
            request_model: None,
            response_model: None,
            family: None,
            version: None,
            stream: None,
            input_tokens: None,
            output_tokens: None,
            cached_tokens: None,
            cache_write_tokens: None,
            reasoning_tokens: None,
            ttft: None,
            time_per_output_token: None,
            queue: None,
            prefill: None,
            decode: None,
            finish: FinishSet::default(),
            error: false,
            error_type: None,
            cache_hit: None,
            tool: None,
            conversation_id: None,
            response_id: None,
            environment: None,
            scores: Scores::default(),
        }
    }

    /// On which side of the call it was recorded.
    #[must_use]
    pub fn layer(&self) -> Layer {
        self.stand.layer()
    }

    /// The model that answered, else the one asked for.
    #[must_use]
    pub fn model(&self) -> Option<T> {
        self.response_model.or(self.request_model)
    }

    /// The record with other texts: `name` for those that repeat, `id` for those that do not.
    pub fn map<U>(
        &self,
        mut name: impl FnMut(T) -> U,
        mut id: impl FnMut(T) -> U,
    ) -> SpanRecord<U> {
        SpanRecord {
            start: self.start,
            duration: self.duration,
            dialect: self.dialect,
            stand: self.stand,
            kind: self.kind,
            operation: self.operation,
            provider: self.provider.map(&mut name),
            request_model: self.request_model.map(&mut name),
            response_model: self.response_model.map(&mut name),
            family: self.family.map(&mut name),
            version: self.version.map(&mut name),
            stream: self.stream,
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cached_tokens: self.cached_tokens,
            cache_write_tokens: self.cache_write_tokens,
            reasoning_tokens: self.reasoning_tokens,
            ttft: self.ttft,
            time_per_output_token: self.time_per_output_token,
            queue: self.queue,
            prefill: self.prefill,
            decode: self.decode,
            finish: self.finish,
            error: self.error,
            error_type: self.error_type.map(&mut name),
            cache_hit: self.cache_hit,
            tool: self.tool.map(&mut name),
            conversation_id: self.conversation_id.map(&mut id),
            response_id: self.response_id.map(&mut id),
            environment: self.environment.map(&mut name),
            scores: self.scores.map(&mut name),
        }
    }
}

/// Finish reasons, each once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FinishSet(pub(super) u8);

impl FinishSet {
    /// With one more.
    #[must_use]
    pub fn with(self, finish: Finish) -> Self {
        Self(self.0 | 1 << finish as u8)
    }

    /// Those of both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether it is in.
    #[must_use]
    pub fn has(self, finish: Finish) -> bool {
        self.0 >> finish as u8 & 1 == 1
    }

    /// One is in both.
    #[must_use]
    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// None is in.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those that are in.
    pub fn iter(self) -> impl Iterator<Item = Finish> {
        Finish::ALL
            .iter()
            .copied()
            .filter(move |finish| self.has(*finish))
    }
}
