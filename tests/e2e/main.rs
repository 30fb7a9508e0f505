//! End to end: the real daemon, real clients, a backend that records. One binary, one module for each topic.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may fail where it stands"
)]

#[path = "../support/mod.rs"]
mod support;

mod canary;
mod embed;
mod erase;
mod exporters;
mod instrumentations;
mod late_evidence;
mod leaving;
mod logs;
mod long_traces;
mod pipelines;
mod processors;
mod receivers;
mod relays;
mod sdk;
mod service_modes;
mod start;
mod stop;
