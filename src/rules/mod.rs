//! Policies, their compiler and conditions. Pure: a skeleton goes in, a verdict comes out; no clock, no I/O, no
//! randomness, so that rules can be tested by table and replayed.

mod around;
mod atoms;
mod call_rule;
#[cfg(test)]
mod call_rule_tests;
mod call_test;
#[cfg(test)]
mod collector_tests;
mod compile_calls;
mod compiler;
mod early_keep;
mod facts;
mod features;
mod fingerprint;
mod fold;
mod go_literals;
pub(crate) mod go_regex;
mod key_index;
mod keyword;
mod late_evidence;
mod limits;
pub mod ottl;
#[cfg(test)]
mod percentile_tests;
mod percentiles;
mod prices;
mod probabilistic;
mod program;
mod release;
mod seen;
mod sketch;
mod spec;
mod state;
#[cfg(test)]
mod tests;
mod text_keys;
mod values;
mod verdict;

pub use atoms::{Atoms, AtomsBuilder};
pub use call_rule::{CallRule, Price, Tokens};
pub use compiler::{CompileError, Compiler};
pub use facts::{Facts, Observer, ObserverScratch};
pub use features::{Features, FeaturesSnapshot};
pub use fingerprint::fingerprint;
pub use fold::Fold;
pub(crate) use limits::{Ask, Granting, Recorded};
pub use limits::{LimitSnapshot, Limits};
pub use percentiles::{Percentiles, SketchSnapshot};
pub(crate) use probabilistic::{Coin, DEFAULT_SALT};
pub use program::{PercentileRule, Program};
pub use release::{Release, Semantics};
pub use seen::Seen;
pub use spec::{PercentileOf, PolicyKind, PolicySpec, StatusCode};
pub use state::{KeySnapshot, StateSnapshot, layout};
pub use text_keys::{TextFields, TextKeys};
pub use values::ValueIds;
pub use verdict::{State, Thresholds, Verdict, Vote};
