//! Policies, their compiler and conditions. Pure: a skeleton goes in, a verdict comes out; no clock, no I/O, no
//! randomness, so that rules can be tested by table and replayed.

mod atoms;
mod facts;
mod fold;
mod go_literals;
mod go_regex;
mod keyword;
pub mod ottl;
mod percentiles;
mod probabilistic;
mod program;
mod sketch;
mod spec;
#[cfg(test)]
mod tests;
mod values;
mod verdict;

pub use atoms::{Atoms, AtomsBuilder, TextKeys};
pub use facts::{Facts, Observer, ObserverScratch};
pub use fold::Fold;
pub use percentiles::{Percentiles, SketchSnapshot};
pub use program::{CompileError, Compiler, PercentileRule, Program, fingerprint};
pub use spec::{PercentileOf, PolicyKind, PolicySpec, StatusCode};
pub use values::ValueIds;
pub use verdict::{State, Thresholds, Verdict, Vote};
