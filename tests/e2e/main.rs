//! End to end: the real daemon, real clients, a backend that records. One binary, one module for each topic.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may fail where it stands"
)]

#[path = "../support/mod.rs"]
mod support;

mod embed;
mod exporters;
mod late_evidence;
mod long_traces;
mod pipelines;
mod processors;
mod receivers;
mod sdk;
mod start;
mod stop;
