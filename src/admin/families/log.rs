//! The span log.

use super::seconds_between;
use crate::admin::inventory::{
    LOG_APPENDED, LOG_BYTES, LOG_FRAMES, LOG_HEADROOM_BYTES, LOG_HELD_BYTES, LOG_MAX_BYTES,
    LOG_OLDEST, LOG_REFUSED, LOG_SEGMENTS, LOG_SPANS, LOG_SYNCS, LOG_WRITES,
};
use crate::admin::page::Page;
use crate::log::LogStats;

pub(super) fn fill(page: &Page, log: &LogStats) {
    page.amount(&LOG_BYTES, &[], log.bytes);
    page.amount(&LOG_MAX_BYTES, &[], log.max_bytes);
    page.amount(&LOG_HELD_BYTES, &[], log.held_bytes);
    page.amount(
        &LOG_HEADROOM_BYTES,
        &[],
        log.max_bytes.saturating_sub(log.held_bytes),
    );
    page.amount(&LOG_SEGMENTS, &[], log.segments as u64);
    page.gauge(
        &LOG_OLDEST,
        &[],
        log.oldest_stamp
            .map_or(0.0, |oldest| seconds_between(oldest, log.now)),
    );
    page.count(&LOG_FRAMES, &[], log.frames);
    page.count(&LOG_SPANS, &[], log.spans);
    page.count(&LOG_APPENDED, &[], log.appended_bytes);
    page.count(&LOG_WRITES, &[], log.writes);
    page.count(&LOG_SYNCS, &[], log.syncs);
    for (reason, requests) in &log.refused {
        page.count(&LOG_REFUSED, &[&reason.replace(' ', "_")], *requests);
    }
}
