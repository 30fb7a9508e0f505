//! What went out, what waits, and since when.

use super::seconds_between;
use crate::admin::inventory::{
    AWAITING, FAILED_POINTS, FAILED_RECORDS, FAILED_SPANS, FAILURES, IN_FLIGHT, LAG_BYTES,
    LAG_SECONDS, LAST_ERROR, REJECTED_POINTS, REJECTED_RECORDS, REJECTED_SPANS, RETRIES,
    SENT_POINTS, SENT_RECORDS, SENT_SPANS,
};
use crate::admin::page::Page;
use crate::admin::sources::{SamplerSource, Sources};
use crate::clock::SECOND;
use crate::exporters::LastError;

pub(super) fn fill(page: &Page, sources: &Sources, samplers: &[SamplerSource], now: u64) {
    for exporter in &sources.exporters {
        let (id, counts) = (exporter.id.as_str(), exporter.stats.counts());
        page.count(&SENT_SPANS, &[id], counts.sent_spans);
        page.count(&FAILED_SPANS, &[id], counts.failed_spans);
        page.count(&REJECTED_SPANS, &[id], counts.rejected_spans);
        page.count(&SENT_RECORDS, &[id], counts.sent_records);
        page.count(&FAILED_RECORDS, &[id], counts.failed_records);
        page.count(&REJECTED_RECORDS, &[id], counts.rejected_records);
        page.count(&SENT_POINTS, &[id], counts.sent_points);
        page.count(&FAILED_POINTS, &[id], counts.failed_points);
        page.count(&REJECTED_POINTS, &[id], counts.rejected_points);
        page.count(&RETRIES, &[id], counts.retries);
        page.amount(&FAILURES, &[id], counts.consecutive_failures);
        page.amount(&IN_FLIGHT, &[id], counts.in_flight_bytes);
        for kind in LastError::ALL {
            page.amount(
                &LAST_ERROR,
                &[id, kind.label()],
                u64::from(counts.last_error == kind),
            );
        }
    }
    samplers.iter().for_each(|sampler| lag(page, sampler, now));
}

fn lag(page: &Page, sampler: &SamplerSource, now: u64) {
    for (exporter, delivery) in &sampler.deliveries {
        let labels = [sampler.pipeline.as_str(), exporter.as_str()];
        let awaiting = delivery.awaiting();
        page.amount(&AWAITING, &labels, awaiting);
        let since = delivery.waiting_since();
        page.gauge(
            &LAG_SECONDS,
            &labels,
            since.map_or(0.0, |second| {
                seconds_between(u64::from(second) * SECOND, now)
            }),
        );
        // Entries that are no keeps are behind nobody: the position passes them with the next keep.
        let behind = match &sampler.decisions[..] {
            [log] if awaiting > 0 => log.end().saturating_sub(delivery.state().position),
            _ => 0,
        };
        page.amount(&LAG_BYTES, &labels, behind);
    }
}
