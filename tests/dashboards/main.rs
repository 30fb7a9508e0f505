//! The dashboards and alerts in `dashboards/`: printed from one table, every query parsed, every metric known, and (by
//! `make dashboards`) every query answered by a real Prometheus.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test may fail where it stands"
)]

mod calls;
mod fresh;
mod grafana;
mod known;
mod live;
#[path = "../support/load/mod.rs"]
mod load;
mod panels;
mod prometheus;
mod scrape;
#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "each test program uses its part")]
mod support;
