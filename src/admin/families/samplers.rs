//! Traces, decisions and late spans, by pipeline.

use super::seconds_between;
use crate::admin::inventory::{
    DAMAGED, DECIDE_LAG, DECISION_BYTES, DECISION_IDS, DECISION_LOG_BYTES, DECISION_LOG_MAX,
    DECISIONS, ENTRY_ERRORS, FORGOTTEN, LATE_SPANS, NOT_RESTORED, PASSED_SPANS, RESTORED_SPANS,
    SKELETON_BYTES, TEXTS_CUT, TRACES, UNDECIDED_SPANS, UNDECIDED_TRACES, WORKER_LAG,
    WORKER_UNREAD,
};
use crate::admin::page::Page;
use crate::admin::sources::SamplerSource;
use crate::log::LogStats;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) fn fill(page: &Page, samplers: &[SamplerSource], log: &LogStats) {
    for sampler in samplers {
        let (pipeline, stats) = (sampler.pipeline.as_str(), &*sampler.stats);
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = [
            (&TRACES, &stats.new_traces),
            (&FORGOTTEN, &stats.forgotten),
            (&TEXTS_CUT, &stats.texts_cut),
            (&DAMAGED, &stats.damaged),
            (&ENTRY_ERRORS, &stats.entry_errors),
            (&RESTORED_SPANS, &stats.restored),
            (&NOT_RESTORED, &stats.not_restored),
        ];
        counters
            .into_iter()
            .for_each(|(metric, counter)| page.count(metric, &[pipeline], get(counter)));
        let gauges = [
            (&UNDECIDED_TRACES, &stats.undecided_traces),
            (&UNDECIDED_SPANS, &stats.undecided),
            (&SKELETON_BYTES, &stats.skeleton_bytes),
            (&DECISION_IDS, &stats.memory_ids),
            (&DECISION_BYTES, &stats.memory_bytes),
        ];
        gauges
            .into_iter()
            .for_each(|(metric, gauge)| page.amount(metric, &[pipeline], get(gauge)));
        page.count(&PASSED_SPANS, &[pipeline, "head"], get(&stats.passed_head));
        page.count(&PASSED_SPANS, &[pipeline, "off"], get(&stats.passed_off));
        page.count(&LATE_SPANS, &[pipeline, "keep"], get(&stats.late_kept));
        page.count(&LATE_SPANS, &[pipeline, "drop"], get(&stats.late_dropped));
        let decisions = || sampler.decisions.iter();
        let bytes = decisions().map(|log| log.bytes()).sum();
        page.amount(&DECISION_LOG_BYTES, &[pipeline], bytes);
        page.amount(
            &DECISION_LOG_MAX,
            &[pipeline],
            decisions().fold(0, |sum, log| sum.saturating_add(log.max_bytes())),
        );
        // 0: the worker has not seen its first tick, and nothing waits for it.
        let time = Some(get(&stats.log_time)).filter(|time| *time > 0);
        page.gauge(
            &WORKER_LAG,
            &[pipeline],
            time.map_or(0.0, |time| seconds_between(time, log.now)),
        );
        page.amount(
            &WORKER_UNREAD,
            &[pipeline],
            match log.shared {
                Some(_) => log.window_bytes,
                None => log.end.saturating_sub(get(&stats.read)),
            },
        );
        page.amount(
            &DECIDE_LAG,
            &[pipeline],
            log.end.saturating_sub(get(&stats.decide)),
        );
        for (policy, keep, evidence, traces) in stats.decisions() {
            let outcome = if keep { "keep" } else { "drop" };
            page.count(
                &DECISIONS,
                &[pipeline, policy, outcome, evidence.label()],
                traces,
            );
        }
    }
}
