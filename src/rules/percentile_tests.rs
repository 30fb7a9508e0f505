//! What percentile rules observe and keep: spans, times to tokens, keys by tokens; over real bytes.

use super::call_rule_tests::{Made, call, made, request};
use super::limits::NoBudgets;
use super::*;
use crate::otlp::{TraceId, scan};
use std::sync::Arc;

const MS: u64 = 1_000_000;

/// A program with one percentile rule, its distributions, and a tick for every trace.
struct Rig {
    program: Program,
    atoms: Atoms,
    percentiles: Percentiles,
    thresholds: Vec<u64>,
}

fn rig(of: PercentileOf, by: &[&str], by_tokens: Option<Tokens>) -> Rig {
    let policies = [PolicySpec {
        name: "slow".into(),
        kind: PolicyKind::LatencyPercentile {
            percentile: 99.0,
            by: by.iter().map(|key| (*key).to_owned()).collect(),
            floor_ms: 0,
            warmup_ms: 5000,
            min_count: 100,
            of,
            by_tokens,
        },
    }];
    let mut builder = AtomsBuilder::default();
    let program = Compiler::new(&mut builder, Semantics::default())
        .compile(&policies)
        .unwrap();
    let atoms = builder
        .build(TextKeys::default(), Arc::new(ValueIds::default()))
        .unwrap();
    let program = program.link(atoms.bits());
    Rig {
        percentiles: Percentiles::new(program.percentiles(), 0),
        program,
        atoms,
        thresholds: Vec::new(),
    }
}

impl Rig {
    /// Whether a trace of these spans is kept; it is observed behind the decision.
    fn keeps(&mut self, spans: &[Made]) -> bool {
        let mut scratch = ObserverScratch::default();
        let mut observer = Observer::new(&self.atoms, &mut scratch);
        scan(&request(spans), &mut observer).unwrap();
        let facts = observer.finish();
        let all = 0..spans.len();
        let (mut fold, mut words) = (Fold::default(), vec![0; self.program.state_words()]);
        self.program
            .fold_piece(&self.atoms, &mut fold, &mut words, &facts, (all.clone(), 0));
        let features = self.program.features_of(&self.atoms, &facts, all.clone());
        let features = features.map(|all| Features::unpack(&all.pack()).unwrap());
        let state = State {
            trace: TraceId(7),
            fold: &fold,
            words: &words,
            features: features.as_ref(),
        };
        let mut seen = Seen::default();
        seen.take(&self.program, state, self.atoms.values());
        self.percentiles.thresholds(&seen, &mut self.thresholds);
        let verdict = self
            .program
            .decide(state, &self.thresholds, &mut NoBudgets, |_, _| {});
        self.percentiles.observe(&seen, 0);
        let percentiles = &mut self.percentiles;
        self.program
            .each_span(&self.atoms, &facts, all, |rule, key, duration| {
                percentiles.observe_span(rule, key, duration, 0);
            });
        verdict.keep
    }

    fn learn(&mut self, spans: &[Made]) {
        (0..200).for_each(|_| _ = self.keeps(spans));
        self.percentiles.refresh(1);
    }
}

fn step(name: &str, ms: u64) -> Made {
    made("step", "").text("step", name).lasting(ms * MS)
}

#[test]
fn each_span_is_an_observation_of_its_own_key() {
    let mut rig = rig(PercentileOf::Span, &["step"], None);
    assert!(rig.keeps(&[step("plan", 6000)]), "warm-up");
    assert!(!rig.keeps(&[step("plan", 4000)]));
    rig.learn(&[step("plan", 100), step("search", 1000), made("bare", "")]);
    for (spans, expected) in [
        (vec![step("plan", 99), step("search", 990)], false),
        (vec![step("plan", 110), step("search", 990)], true),
        (vec![step("search", 990), step("plan", 110)], true),
        (vec![step("search", 1100)], true),
        (vec![step("search", 110)], false),
        (vec![made("bare", "").lasting(9000 * MS)], false),
        (vec![], false),
    ] {
        assert_eq!(rig.keeps(&spans), expected);
    }
    let names: Vec<String> = (0..40).map(|n| format!("s{n}")).collect();
    let many: Vec<Made> = names.iter().map(|name| step(name, 1)).collect();
    rig.keeps(&many);
    assert_eq!(rig.thresholds.len(), 16, "a trace is bounded in keys");
}

#[test]
fn first_tokens_and_queues_are_observed_where_they_are_told() {
    let first =
        |ms: u64| call("m", 10, 10).double("gen_ai.response.time_to_first_chunk", ms as f64 / 1e3);
    let mut by_ttft = rig(PercentileOf::Ttft, &["gen_ai.request.model"], None);
    by_ttft.learn(&[first(300)]);
    assert!(!by_ttft.keeps(&[first(297)]));
    assert!(by_ttft.keeps(&[first(310)]));
    assert!(!by_ttft.keeps(&[call("m", 10, 10).lasting(60_000 * MS)]));
    assert!(!by_ttft.keeps(&[step("plan", 60_000)]));
    let queued = |ms: u64| call("m", 1, 1).double("gen_ai.latency.time_in_queue", ms as f64 / 1e3);
    let mut by_queue = rig(PercentileOf::Queue, &[], None);
    by_queue.learn(&[queued(50)]);
    assert!(by_queue.keeps(&[queued(55)]) && !by_queue.keeps(&[queued(49)]));
    let paced = |ms: u64| {
        call("m", 1, 11)
            .double("gen_ai.response.time_to_first_chunk", 0.1)
            .lasting((100 + 10 * ms) * MS)
    };
    let mut by_pace = rig(PercentileOf::TimePerOutputToken, &[], None);
    by_pace.learn(&[paced(20)]);
    assert!(by_pace.keeps(&[paced(25)]) && !by_pace.keeps(&[paced(19)]));
}

#[test]
fn a_long_answer_is_slow_among_long_ones_only() {
    let answer = |tokens: i64, ms: u64| call("m", 10, tokens).lasting(ms * MS);
    for (by_tokens, long_is_slow) in [(None, true), (Some(Tokens::Output), false)] {
        let mut rig = rig(PercentileOf::Trace, &["gen_ai.request.model"], by_tokens);
        (0..2000).for_each(|_| _ = rig.keeps(&[answer(20, 1000)]));
        (0..15).for_each(|_| _ = rig.keeps(&[answer(2000, 30_000)]));
        rig.learn(&[]);
        (0..if by_tokens.is_some() { 200 } else { 0 })
            .for_each(|_| _ = rig.keeps(&[answer(2000, 30_000)]));
        rig.percentiles.refresh(1);
        assert_eq!(
            rig.keeps(&[answer(2000, 29_000)]),
            long_is_slow,
            "{by_tokens:?}"
        );
        assert!(rig.keeps(&[answer(20, 2000)]), "{by_tokens:?}");
        assert!(rig.keeps(&[answer(2001, 31_000)]), "{by_tokens:?}");
    }
}
