//! Conditions against the Collector's own answers, against a naive evaluator, and against texts that are none.

mod recorded;
mod request;
