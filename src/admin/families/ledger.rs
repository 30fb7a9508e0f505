//! The ledger (design: "What must always hold"): one equation in spans for each pipeline and exporter.
//!
//! Each number is exact; read one after the other while spans move, they may differ for a moment.

use crate::admin::inventory::{LEDGER_DIFFERENCE, LEDGER_SPANS};
use crate::admin::page::Page;
use crate::admin::sources::SamplerSource;
use crate::sampler::{Delivery, GoneExporter, SamplerStats};
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
            let ledger = Ledger::of(&sampler.stats, delivery);
            row(page, &sampler.pipeline, exporter, &ledger);
        }
    }
    for gone in gone {
        let ledger = Ledger::of(&gone.stats, &gone.delivery);
        row(page, &gone.pipeline, &gone.exporter, &ledger);
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "a metric; what matters is 0 or not"
)]
fn row(page: &Page, pipeline: &str, exporter: &str, ledger: &Ledger) {
    let accepted = [pipeline, exporter, "accepted"];
    page.amount(&LEDGER_SPANS, &accepted, ledger.accepted);
    for (state, spans) in ledger.rest {
        page.amount(&LEDGER_SPANS, &[pipeline, exporter, state], spans);
    }
    let difference = ledger.difference() as f64;
    page.gauge(&LEDGER_DIFFERENCE, &[pipeline, exporter], difference);
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
