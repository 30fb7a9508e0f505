//! The processors that stand beside `tail_sampling` in a pipeline: `filter`, `attributes`, `resource` and
//! `probabilistic_sampler`, as the Collector (contrib v0.161.0) has them for traces.
//!
//! A [`Chain`] takes a piece (a `TracesData` message of one trace) and gives the piece that is left of it. Pure: the same
//! bytes give the same bytes, with no clock, I/O or randomness, because a chain in front of `tail_sampling` runs when spans
//! are folded, when they are read back, and again in every replay. Unknown fields travel; what is not changed is not
//! copied. Where chains run, and what becomes of the counts, is for the sampler and the exporters.

mod actions;
mod attribute_list;
mod attributes;
mod chain;
mod convert;
mod filter;
mod hash;
mod literal;
mod matching;
mod number;
mod patterns;
mod sampler;
mod settings;
mod step;
#[cfg(test)]
mod tests;
mod walk;

pub use chain::{Applied, BuildError, Chain};
pub use literal::Literal;
pub use settings::{
    ActionKind, ActionSettings, AttributesSettings, ConditionGroup, ConvertTo, FilterSettings,
    Library, MatchRule, MatchSettings, ProbabilisticSettings, ProcessorKind, ProcessorSettings,
    SamplerMode, ValueSource, fingerprint,
};
