//! Leaves some spans of a kept trace out: a share of those that nobody reads one by one, and repetitions.
//!
//! A [`Thinner`] takes the pieces of one entry of the decision log and says what of them leaves. Pure: the same pieces and
//! settings give the same, before and after a restart and for every exporter. What always holds: a span whose child stays
//! stays (no orphans within the entry), the root stays, a failed span stays; what was left out is counted on the trace.
//! Which traces it is asked about, and the ledger, are the exporters'.

mod candidates;
mod fold;
mod pattern;
mod plan;
mod rewrite;
mod settings;
#[cfg(test)]
mod tests;
mod thinner;

pub use pattern::{BadPattern, SpanPattern};
pub use settings::{Thin, ThinningRule};
pub use thinner::{Thinned, Thinner};
