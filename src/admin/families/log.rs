//! The span log.

use super::seconds_between;
use crate::admin::inventory::{
    LOG_APPENDED, LOG_BYTES, LOG_FRAMES, LOG_HEADROOM_BYTES, LOG_HELD_BYTES, LOG_MAX_BYTES,
    LOG_OLDEST, LOG_REFUSED, LOG_SEGMENTS, LOG_SPANS, LOG_SYNCS, LOG_WRITES, SHARED_DEAD_LETTERS,
    SHARED_HEADROOM, SHARED_LOST, SHARED_NEEDED, SHARED_PARTITIONS, SHARED_PAUSED, SHARED_POISON,
    SHARED_REBALANCES, SHARED_SHORTENED, SHARED_TRANSACTIONS,
};
use crate::admin::page::Page;
use crate::log::{LogStats, SharedLog};

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
    if let Some(shared) = &log.shared {
        self::shared(page, shared, log.now);
    }
    for (reason, requests) in &log.refused {
        page.count(&LOG_REFUSED, &[&reason.replace(' ', "_")], *requests);
    }
}

fn shared(page: &Page, shared: &SharedLog, now: u64) {
    page.amount(&SHARED_PARTITIONS, &[], shared.partitions);
    page.count(&SHARED_REBALANCES, &[], shared.rebalances);
    page.count(&SHARED_LOST, &[], shared.lost);
    page.count(&SHARED_POISON, &[], shared.poison);
    page.count(&SHARED_DEAD_LETTERS, &[], shared.dead_letters);
    page.count(&SHARED_SHORTENED, &[], shared.shortened);
    page.count(&SHARED_TRANSACTIONS, &["committed"], shared.committed);
    page.count(&SHARED_TRANSACTIONS, &["aborted"], shared.aborted);
    page.amount(&SHARED_PAUSED, &[], u64::from(shared.paused));
    let age = shared
        .needed_since
        .map_or(0.0, |since| seconds_between(since, now));
    page.gauge(&SHARED_NEEDED, &[], age);
    if shared.retention > 0 {
        let kept = std::time::Duration::from_secs(shared.retention).as_secs_f64();
        page.gauge(&SHARED_HEADROOM, &[], kept - age);
    }
}
