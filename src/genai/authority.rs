//! One authority for each metric of a trace: which of the layers that saw the same calls is believed.
//!
//! Tokens and calls: the layer that counted most calls, because a layer misses calls (a stream without usage, an engine of
//! another owner) and never invents them; gateways and engines are asked for the number of calls only when no client is
//! there, because they see retries as calls. Of equals the order of [`Stand`] decides. Times to tokens: the caller's before
//! the engine's. Limit: a framework and an SDK that each saw different calls are taken for two views of the same.

use super::layer_sums::LayerSums;
use super::record::FinishSet;
use super::trace_record::TraceRecord;
use super::words::{Layer, Stand};

impl TraceRecord {
    /// Calls of models for text.
    #[must_use]
    pub fn calls(&self) -> u32 {
        self.of_calls().map_or(0, |sums| sums.calls)
    }

    /// Of those, the failed ones.
    #[must_use]
    pub fn failed_calls(&self) -> u32 {
        self.of_calls().map_or(0, |sums| sums.failed)
    }

    /// Tokens in, over all calls; `None` when no call tells.
    #[must_use]
    pub fn input_tokens(&self) -> Option<u32> {
        self.of_usage().map(|sums| sums.input)
    }

    /// Tokens out.
    #[must_use]
    pub fn output_tokens(&self) -> Option<u32> {
        self.of_usage().map(|sums| sums.output)
    }

    /// Tokens in that a cache had.
    #[must_use]
    pub fn cached_tokens(&self) -> Option<u32> {
        self.detail(|sums| sums.cached)
    }

    /// Tokens in that a cache took.
    #[must_use]
    pub fn cache_write_tokens(&self) -> Option<u32> {
        self.detail(|sums| sums.written)
    }

    /// Tokens out that were reasoning.
    #[must_use]
    pub fn reasoning_tokens(&self) -> Option<u32> {
        self.detail(|sums| sums.reasoning)
    }

    /// Calls of models for vectors or order.
    #[must_use]
    pub fn embeddings(&self) -> u32 {
        let counted = self.most(|sums| sums.counted_embeddings);
        match counted {
            Some(sums) => sums.counted_embeddings,
            None => self
                .most(|sums| sums.embeddings)
                .map_or(0, |sums| sums.embeddings),
        }
    }

    /// Tokens of those.
    #[must_use]
    pub fn embedded_tokens(&self) -> u32 {
        self.most(|sums| sums.embedded)
            .map_or(0, |sums| sums.embedded)
    }

    /// Tools that ran.
    #[must_use]
    pub fn tools(&self) -> u32 {
        self.most(|sums| sums.tools).map_or(0, |sums| sums.tools)
    }

    /// Of those, the failed ones.
    #[must_use]
    pub fn failed_tools(&self) -> u32 {
        self.most(|sums| sums.failed_tools)
            .map_or(0, |sums| sums.failed_tools)
    }

    /// The longest call.
    #[must_use]
    pub fn longest_call(&self) -> Option<u64> {
        self.of_calls()?.longest_call.time()
    }

    /// The longest time to a first token.
    #[must_use]
    pub fn ttft(&self) -> Option<u64> {
        self.layers.iter().find_map(|sums| sums.ttft.time())
    }

    /// The longest time for each token behind the first.
    #[must_use]
    pub fn time_per_output_token(&self) -> Option<u64> {
        self.layers
            .iter()
            .find_map(|sums| sums.time_per_output_token.time())
    }

    /// The longest time in a queue.
    #[must_use]
    pub fn queue(&self) -> Option<u64> {
        self.queue.time()
    }

    /// The longest prefill.
    #[must_use]
    pub fn prefill(&self) -> Option<u64> {
        self.prefill.time()
    }

    /// The longest decode.
    #[must_use]
    pub fn decode(&self) -> Option<u64> {
        self.decode.time()
    }

    /// The provider of the first call.
    #[must_use]
    pub fn provider(&self) -> Option<u64> {
        self.provider.value()
    }

    /// The model that the first call asked for.
    #[must_use]
    pub fn request_model(&self) -> Option<u64> {
        self.request_model.value()
    }

    /// The model that answered it.
    #[must_use]
    pub fn response_model(&self) -> Option<u64> {
        self.response_model.value()
    }

    /// What failed first.
    #[must_use]
    pub fn error_type(&self) -> Option<u64> {
        self.error_type.value()
    }

    /// The conversation.
    #[must_use]
    pub fn conversation_id(&self) -> Option<u64> {
        self.conversation_id.value()
    }

    /// The id of the first answer.
    #[must_use]
    pub fn response_id(&self) -> Option<u64> {
        self.response_id.value()
    }

    /// Where it ran.
    #[must_use]
    pub fn environment(&self) -> Option<u64> {
        self.environment.value()
    }

    /// A recognised span failed.
    #[must_use]
    pub fn error(&self) -> bool {
        self.error
    }

    /// Why models stopped.
    #[must_use]
    pub fn finish(&self) -> FinishSet {
        self.finish
    }

    /// A call was streamed; `None` when none tells.
    #[must_use]
    pub fn stream(&self) -> Option<bool> {
        (self.streamed || self.whole).then_some(self.streamed)
    }

    /// A cache had a part of a prompt; `None` when no call tells.
    #[must_use]
    pub fn cache_hit(&self) -> Option<bool> {
        (self.hit || self.missed).then_some(self.hit)
    }

    /// Whose tokens are believed.
    #[must_use]
    pub fn usage_stand(&self) -> Option<Stand> {
        let believed = self.of_usage()?;
        let of_it = |(_, sums): &(&Stand, &LayerSums)| std::ptr::eq(*sums, believed);
        let mut all = Stand::ALL.iter().zip(&self.layers);
        all.find(of_it).map(|(stand, _)| *stand)
    }

    fn of_calls(&self) -> Option<&LayerSums> {
        [Layer::Client, Layer::Gateway, Layer::Router, Layer::Engine]
            .into_iter()
            .find_map(|layer| self.first_most(|stand| stand.layer() == layer, |sums| sums.calls))
    }

    fn of_usage(&self) -> Option<&LayerSums> {
        self.most(|sums| sums.counted)
    }

    /// A part of the usage: of who is believed for it, else of the first that tells it.
    fn detail(&self, of: impl Fn(&LayerSums) -> u32) -> Option<u32> {
        let believed = self.of_usage()?;
        match of(believed) {
            0 => Some(
                self.layers
                    .iter()
                    .map(&of)
                    .find(|part| *part > 0)
                    .unwrap_or(0),
            ),
            part => Some(part),
        }
    }

    fn most(&self, of: impl Fn(&LayerSums) -> u32) -> Option<&LayerSums> {
        self.first_most(|_| true, of)
    }

    /// The first of those with the greatest number, if it is not 0.
    fn first_most(
        &self,
        among: impl Fn(Stand) -> bool,
        of: impl Fn(&LayerSums) -> u32,
    ) -> Option<&LayerSums> {
        let mut best: Option<&LayerSums> = None;
        for (stand, sums) in Stand::ALL.iter().zip(&self.layers) {
            if among(*stand) && of(sums) > best.map_or(0, &of) {
                best = Some(sums);
            }
        }
        best
    }
}
