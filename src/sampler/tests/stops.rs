//! Stops, ticks and caps of one sampler.

use super::*;

/// Each stop comes before the replay of what is undecided has begun or ended.
#[test]
fn a_stop_during_a_replay_counts_nothing_again() {
    let steps = [
        Step::Send((0..40).map(|trace| (trace % 6, trace % 7 == 0)).collect()),
        Step::Seconds(1),
    ];
    let restarts = std::iter::repeat_n(Step::Restart, 8);
    run(&steps.into_iter().chain(restarts).collect::<Vec<_>>()).unwrap();
}

#[test]
fn what_is_pending_vanishes_at_stop_when_it_is_told_to() {
    let place = tempfile::tempdir().unwrap();
    let rig = Rig::start_with(place.path(), 1_000 * SECOND, |settings| {
        settings.drop_at_stop = true
    });
    rig.settle();
    rig.send(vec![span(1, 1, true), span(2, 2, false)]);
    let (entries, report) = rig.finish();
    assert_eq!(
        (report.problems, report.undecided, report.keeps),
        (vec![], 0, 0)
    );
    let evidence: Vec<_> = entries
        .iter()
        .filter_map(Entry::decision)
        .map(|(decision, ..)| decision.evidence)
        .collect();
    assert_eq!(evidence, [Evidence::Discarded; 2]);
    let again = Rig::start(place.path(), 1_000 * SECOND, 1 << 20);
    again.settle();
    assert_eq!(stats::get(&again.sampler.stats.undecided), 0);
    again.stop();
}

/// A tick with more entries than a segment of a small decision log holds.
#[test]
fn a_tick_larger_than_a_segment_is_written_in_parts() {
    let place = tempfile::tempdir().unwrap();
    let rig = Rig::start(place.path(), 1_000 * SECOND, 32 << 20);
    rig.settle();
    assert!(rig.sampler.decisions.max_batch() < 1 << 20);
    for round in 0..200_u64 {
        let traces = (0..200).map(|n| Span {
            trace_id: ((u128::from(round) << 64) | (n + 1)).to_be_bytes().to_vec(),
            ..span(0, n as u64, n % 2 == 0)
        });
        rig.send(traces.collect());
    }
    (0..=WAIT + 1).for_each(|_| rig.second());
    let (entries, report) = rig.finish();
    assert_eq!((report.problems, report.undecided), (vec![], 0));
    assert_eq!(
        entries
            .iter()
            .filter(|entry| entry.decision().is_some())
            .count(),
        40_000
    );
}

#[test]
fn at_the_skeleton_cap_the_oldest_are_decided_on_what_they_have() {
    let place = tempfile::tempdir().unwrap();
    let rig = Rig::start(place.path(), 1_000 * SECOND, 4_000);
    rig.settle();
    for trace in 0..60 {
        rig.send(vec![span(trace, u64::from(trace), trace == 0)]);
    }
    rig.settle();
    let (entries, report) = rig.finish();
    assert_eq!(report.problems, Vec::<String>::new());
    let early: Vec<_> = entries.iter().filter_map(Entry::decision).collect();
    assert!(early.len() >= 30, "{} decisions at the cap", early.len());
    assert!(
        early
            .iter()
            .all(|(decision, _, _)| decision.evidence == Evidence::Pressure)
    );
    assert!(
        early
            .iter()
            .any(|(decision, _, keep)| decision.trace == TraceId(1) && *keep),
        "still by its rules"
    );
}
