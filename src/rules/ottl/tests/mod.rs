//! Conditions against the Collector's own answers, against a naive evaluator, and against texts that are none.

mod bounds;
mod decisions;
mod naive;
mod property;
mod recorded;
mod refused;
mod request;
