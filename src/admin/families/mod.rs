//! One file for each group of metrics: reads the counters of a part, sets the rows of the inventory.

mod collector;
mod exporters;
mod ledger;
mod log;
mod memory;
mod process;
mod receivers;
mod samplers;

use super::page::Page;
use super::sources::Sources;

/// Sets every metric.
pub(super) fn fill(page: &Page, sources: &Sources) {
    let log = sources.log.stats();
    let samplers = sources.samplers.now();
    receivers::fill(page, sources);
    log::fill(page, &log);
    memory::fill(page, sources, &samplers, &log);
    samplers::fill(page, &samplers, &log);
    exporters::fill(page, sources, &samplers, log.now);
    ledger::fill(page, &samplers, &sources.gone);
    collector::fill(page, &samplers);
    process::fill(page, sources);
}

/// From one log time to a later one.
fn seconds_between(from: u64, to: u64) -> f64 {
    std::time::Duration::from_nanos(to.saturating_sub(from)).as_secs_f64()
}
