//! Policies, their compiler and conditions. Pure: a skeleton goes in, a verdict comes out.

mod spec;

pub use spec::{PercentileOf, PolicyKind, PolicySpec, StatusCode};
