//! The ledger (design: "What must always hold"): one equation in spans, and one in log records, for each pipeline and exporter.
//!
//! Each number is exact; read one after the other while spans move, they may differ for a moment.

use crate::admin::inventory::{
    LEDGER_DIFFERENCE, LEDGER_RECORDS, LEDGER_RECORDS_DIFFERENCE, LEDGER_SPANS, Metric,
};
use crate::admin::page::Page;
use crate::admin::sources::SamplerSource;
use crate::sampler::{Delivery, GoneExporter, RecordStats, SamplerStats};
use std::sync::atomic::{AtomicU64, Ordering};

const STATES: usize = 13;

/// What one exporter of one pipeline owes for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ledger {
    accepted: u64,
    rest: [(&'static str, u64); STATES],
}

impl Ledger {
    fn of(stats: &SamplerStats, delivery: &Delivery) -> Self {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (state, awaiting) = (delivery.state(), delivery.awaiting());
        Self {
            accepted: get(&stats.accepted),
            rest: [
                ("delivered", state.delivered),
                ("awaiting", awaiting),
                ("undecided", get(&stats.undecided)),
                ("dropped", get(&stats.dropped)),
                ("dropped_pressure", get(&stats.dropped_pressure)),
                ("thinned", state.thinned),
                ("filtered", state.filtered + get(&stats.filtered)),
                ("duplicate", state.duplicate),
                ("rejected", state.rejected),
                ("expired", state.expired + get(&stats.expired)),
                ("lost", state.lost),
                ("erased", state.erased),
                ("not_routed", state.not_routed + get(&stats.not_routed)),
            ],
        }
    }

    /// In log records. Nothing leaves them out, and none has a twin.
    fn of_records(stats: &RecordStats, delivery: &Delivery) -> Self {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (state, awaiting) = (delivery.state(), delivery.awaiting_records());
        let state = state.log_records.unwrap_or_default();
        Self {
            accepted: get(&stats.accepted),
            rest: [
                ("delivered", state.delivered),
                ("awaiting", awaiting),
                ("undecided", get(&stats.undecided)),
                ("dropped", get(&stats.dropped)),
                ("dropped_pressure", get(&stats.dropped_pressure)),
                ("thinned", 0),
                ("filtered", 0),
                ("duplicate", 0),
                ("rejected", state.rejected),
                ("expired", state.expired + get(&stats.expired)),
                ("lost", state.lost),
                ("erased", state.erased),
                ("not_routed", state.not_routed + get(&stats.not_routed)),
            ],
        }
    }

    fn difference(&self) -> i128 {
        i128::from(self.accepted)
            - self
                .rest
                .iter()
                .map(|(_, spans)| i128::from(*spans))
                .sum::<i128>()
    }
}

/// Also for what has left the config: its spans are accounted for.
pub(super) fn fill(page: &Page, samplers: &[SamplerSource], gone: &[GoneExporter]) {
    for sampler in samplers {
        for (exporter, delivery) in &sampler.deliveries {
            rows(
                page,
                (&sampler.pipeline, exporter),
                &sampler.stats,
                delivery,
            );
        }
    }
    for gone in gone {
        let labels = (gone.pipeline.as_str(), gone.exporter.as_str());
        rows(page, labels, &gone.stats, &gone.delivery);
    }
}

fn rows(page: &Page, labels: (&str, &str), stats: &SamplerStats, delivery: &Delivery) {
    let spans = Ledger::of(stats, delivery);
    row(page, (&LEDGER_SPANS, &LEDGER_DIFFERENCE), labels, &spans);
    let records = Ledger::of_records(&stats.records, delivery);
    let metrics = (&LEDGER_RECORDS, &LEDGER_RECORDS_DIFFERENCE);
    row(page, metrics, labels, &records);
}

#[allow(
    clippy::cast_precision_loss,
    reason = "a metric; what matters is 0 or not"
)]
fn row(
    page: &Page,
    (amounts, difference): (&'static Metric, &'static Metric),
    (pipeline, exporter): (&str, &str),
    ledger: &Ledger,
) {
    let accepted = [pipeline, exporter, "accepted"];
    page.amount(amounts, &accepted, ledger.accepted);
    for (state, leaves) in ledger.rest {
        page.amount(amounts, &[pipeline, exporter, state], leaves);
    }
    page.gauge(
        difference,
        &[pipeline, exporter],
        ledger.difference() as f64,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_has_a_sign() {
        let mut rest = [("delivered", 0); STATES];
        let check =
            |accepted, rest, expected| assert_eq!(Ledger { accepted, rest }.difference(), expected);
        check(0, rest, 0);
        rest[0].1 = 3;
        rest[4].1 = 4;
        check(7, rest, 0);
        check(9, rest, 2);
        check(5, rest, -2);
    }
}
