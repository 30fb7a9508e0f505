//! What one layer says of a trace's calls. Sums and maxima only: no order matters, and two halves of a trace add up.

use super::longest::Longest;
use super::record::SpanRecord;
use super::words::Kind;

/// The sums of one layer. Full sums stay full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct LayerSums {
    /// Calls of models for text.
    pub(super) calls: u32,
    /// Of those, the failed ones...
    pub(super) failed: u32,
    /// ...and those that tell tokens.
    pub(super) counted: u32,
    pub(super) input: u32,
    pub(super) output: u32,
    pub(super) cached: u32,
    pub(super) written: u32,
    pub(super) reasoning: u32,
    /// Calls of models for vectors or order, and the tokens of theirs.
    pub(super) embeddings: u32,
    /// Of those, the ones that tell tokens: some libraries write a span around them.
    pub(super) counted_embeddings: u32,
    pub(super) embedded: u32,
    pub(super) tools: u32,
    pub(super) failed_tools: u32,
    /// Of the slowest call.
    pub(super) longest_call: Longest,
    pub(super) ttft: Longest,
    pub(super) time_per_output_token: Longest,
}

impl LayerSums {
    /// Of one record.
    pub(super) fn of(record: &SpanRecord<u64>) -> Self {
        let failed = u32::from(record.error);
        match record.kind {
            Kind::Inference => Self {
                calls: 1,
                failed,
                counted: u32::from(record.input_tokens.is_some() || record.output_tokens.is_some()),
                input: record.input_tokens.unwrap_or(0),
                output: record.output_tokens.unwrap_or(0),
                cached: record.cached_tokens.unwrap_or(0),
                written: record.cache_write_tokens.unwrap_or(0),
                reasoning: record.reasoning_tokens.unwrap_or(0),
                longest_call: Longest::of(Some(record.duration)),
                ttft: Longest::of(record.ttft),
                time_per_output_token: Longest::of(record.time_per_output_token),
                ..Self::default()
            },
            Kind::Embeddings | Kind::Rerank => Self {
                embeddings: 1,
                counted_embeddings: u32::from(record.input_tokens.is_some()),
                embedded: record.input_tokens.unwrap_or(0),
                ..Self::default()
            },
            Kind::Tool => Self {
                tools: 1,
                failed_tools: failed,
                ..Self::default()
            },
            _ => Self::default(),
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        let sums = [
            (&mut self.calls, other.calls),
            (&mut self.failed, other.failed),
            (&mut self.counted, other.counted),
            (&mut self.input, other.input),
            (&mut self.output, other.output),
            (&mut self.cached, other.cached),
            (&mut self.written, other.written),
            (&mut self.reasoning, other.reasoning),
            (&mut self.embeddings, other.embeddings),
            (&mut self.counted_embeddings, other.counted_embeddings),
            (&mut self.embedded, other.embedded),
            (&mut self.tools, other.tools),
            (&mut self.failed_tools, other.failed_tools),
        ];
        for (sum, more) in sums {
            *sum = sum.saturating_add(more);
        }
        self.longest_call.merge(other.longest_call);
        self.ttft.merge(other.ttft);
        self.time_per_output_token
            .merge(other.time_per_output_token);
    }
}
