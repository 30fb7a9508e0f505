//! Budgets over a minute of log time, on one hot partition, and over a restart in the middle.

use super::super::stats::get;
use super::*;
use crate::otlp::partition_of;
use std::fs;

/// Of the policy, in spans (or bytes) a second.
const RATE: i64 = 100;
const SECONDS: u64 = 60;

fn limited(kind: PolicyKind) -> Vec<PolicySpec> {
    vec![PolicySpec {
        name: "limit".into(),
        kind,
    }]
}

/// Ids of one partition, the n-th from the beginning.
fn hot_ids() -> impl Iterator<Item = u128> {
    (1_u128..).filter(|id| partition_of(TraceId(*id), PARTITIONS) == 1)
}

fn spans_of(id: u128, count: u64) -> Vec<Span> {
    let numbered = (0..count).map(|number| Span {
        trace_id: id.to_be_bytes().to_vec(),
        ..span(0, number, false)
    });
    numbered.collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Sends ten times what the budget grants, each second for a minute, and goes on from a copy of the files in the middle,
/// as after a `kill -9`. The kept traces, by the log's own account.
fn minute(kind: &PolicyKind, spans_each: u64) -> u64 {
    let place = tempfile::tempdir().unwrap();
    let mut now = 1_000 * SECOND;
    let open =
        |place: &Path, now| Rig::open(&log_settings(place), now, limited(kind.clone()), |_| {});
    let mut rig = open(&place.path().join("first"), now);
    let mut ids = hot_ids();
    for second in 0..SECONDS {
        if second == SECONDS / 2 {
            rig.settle();
            let again = place.path().join("again");
            copy(&place.path().join("first"), &again);
            rig.stop();
            rig = open(&again, now);
        }
        // In four requests a second, so that a trace is not always decided with the same others.
        for _ in 0..4 {
            let traces = ids.by_ref().take(50);
            rig.send(traces.flat_map(|id| spans_of(id, spans_each)).collect());
        }
        rig.second();
        now += SECOND;
    }
    rig.seconds(WAIT + 2);
    let kept = get(&rig.sampler.stats.kept);
    let (entries, report) = rig.finish();
    assert_eq!(report.problem_count, 0, "{:?}", report.problems);
    let keeps = entries.iter().filter_map(|entry| match entry {
        Entry::Keep(_, _, places) => Some(
            places
                .iter()
                .map(|place| u64::from(place.spans()))
                .sum::<u64>(),
        ),
        _ => None,
    });
    assert_eq!(keeps.sum::<u64>(), kept, "the counter is the log's");
    assert_eq!(
        report.proven, report.decisions,
        "every grant is in its entry"
    );
    kept
}

fn within_a_percent(kept: u64, expected: u64) {
    assert!(
        kept.abs_diff(expected) * 100 <= expected,
        "{kept} of {expected}"
    );
}

#[test]
fn spans_a_second_hold_over_a_minute_and_a_restart() {
    let kept = minute(
        &PolicyKind::RateLimiting {
            spans_per_second: RATE,
            burst_capacity: 0,
        },
        5,
    );
    let rate = RATE.cast_unsigned();
    within_a_percent(kept, 2 * rate + rate * (SECONDS - 1));
}

#[test]
fn bytes_a_second_hold_over_a_minute_and_a_restart() {
    // What the Collector needs for one such span: its ids 30, times 18, status 2, scope and resource 2 each, and 2 for
    // each of the three messages around it.
    let each = 60;
    let rate = each * RATE;
    let kept = minute(
        &PolicyKind::BytesLimiting {
            bytes_per_second: rate,
            burst_capacity: rate,
        },
        1,
    );
    within_a_percent(kept, RATE.cast_unsigned() * SECONDS);
}

#[test]
fn shares_of_a_composite_hold_over_a_minute_and_a_restart() {
    let all = PolicySpec {
        name: "all".into(),
        kind: PolicyKind::AlwaysSample,
    };
    let kept = minute(
        &PolicyKind::Composite {
            max_total_spans_per_second: RATE,
            children: vec![(all, Some(80))],
        },
        5,
    );
    within_a_percent(kept, RATE.cast_unsigned() * 80 / 100 * SECONDS);
}
