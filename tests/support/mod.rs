//! What the end-to-end tests are made of: the real daemon in a directory of its own, a sink that records, senders, traces
//! that can be told apart, and readers of the daemon's metrics.

pub(crate) mod daemon;
pub(crate) mod files;
pub(crate) mod fixtures;
pub(crate) mod ledger;
pub(crate) mod ports;
pub(crate) mod python;
pub(crate) mod recipe;
pub(crate) mod sender;
pub(crate) mod sink;
pub(crate) mod spans;
pub(crate) mod texts;
pub(crate) mod traffic;
pub(crate) mod wait;
