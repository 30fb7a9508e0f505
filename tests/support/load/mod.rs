//! Load for fault tests and benchmarks: LLM-like traces, encoded once and patched, sent over OTLP/gRPC, and a sink that
//! knows what came.
//!
//! Everything is a function of a run number and a trace number: ids, what a trace holds, whether the bench policies
//! (`tests/data/bench_policies.yaml`) keep it. Nothing is random, so both ends can tell what is missing.

#![allow(
    dead_code,
    unused_imports,
    reason = "each test and benchmark uses its part"
)]

#[path = "../backwards.rs"]
#[allow(unreachable_pub, reason = "shared with other tests")]
mod backwards;
mod client;
mod outcome;
#[path = "../ports.rs"]
#[allow(clippy::duplicate_mod, reason = "some programs use no other support")]
pub(crate) mod ports;
mod requests;
mod sender;
mod shape;
mod sink;
mod template;

pub(crate) use client::{Answer, Client, frame};
pub(crate) use outcome::Outcome;
pub(crate) use requests::{Request, Requests};
pub(crate) use sender::{Load, Pace};
pub(crate) use shape::{Evidence, Kind, Shape, mix};
pub(crate) use sink::{Got, Mode, Sink};
