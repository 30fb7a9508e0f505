//! Percentile keys and thresholds.

use super::*;

fn p99(by: &[&str]) -> PolicyKind {
    PolicyKind::LatencyPercentile {
        percentile: 99.0,
        by: by.iter().map(|key| (*key).to_owned()).collect(),
        floor_ms: 10,
        warmup_ms: 5000,
        min_count: 100,
        of: PercentileOf::Trace,
        by_tokens: None,
    }
}

#[test]
fn the_root_span_names_the_percentile_key() {
    let compiled = compile(&[policy(p99(&["service.name", "model"]))]);
    let mut root = span(50, 60, vec![text("model", "of-root")]);
    root.parent_span_id = vec![];
    let early = span(1, 2, vec![text("model", "early")]);
    let late = span(9, 12, vec![text("model", "late")]);
    let cases = [
        (vec![late.clone(), early.clone()], "early"),
        (vec![early.clone(), root.clone(), late.clone()], "of-root"),
        (vec![root.clone(), early.clone()], "of-root"),
    ];
    for (spans, expected) in cases {
        let (_, words) = compiled.fold(&[data(spans)]);
        let texts: Vec<_> = compiled
            .program
            .key_values(&words)
            .map(|id| compiled.atoms.values.text(id))
            .collect();
        assert_eq!(
            texts.iter().map(|text| &**text).collect::<Vec<_>>(),
            ["svc", expected]
        );
    }
}

#[test]
fn percentile_keeps_one_in_a_hundred_of_stationary_traffic() {
    // Log-normal by Box-Muller from a fixed sequence.
    let mut state = 1_u64;
    let mut uniform = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    };
    for sigma in [0.1, 0.3, 1.0] {
        let compiled = compile(&[policy(p99(&["service.name"]))]);
        let mut percentiles = Percentiles::new(compiled.program.percentiles(), 0);
        let (mut kept, mut seen, mut thresholds) = (0_u32, 0_u32, Vec::new());
        for second in 0..220_u64 {
            percentiles.refresh(second * 1_000_000_000);
            for _ in 0..1000 {
                let normal =
                    (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
                let duration = (800.0e6 * (sigma * normal).exp()) as u64;
                percentiles.thresholds(&Seen::of(&[2], 0), &mut thresholds);
                if second >= 20 {
                    seen += 1;
                    kept += u32::from(duration > thresholds[0]);
                }
                percentiles.observe(&Seen::of(&[2], duration), second * 1_000_000_000);
            }
        }
        let share = f64::from(kept) / f64::from(seen) * 100.0;
        assert!(
            (share - 1.0).abs() <= 0.1,
            "sigma {sigma}: {share} % of {seen}"
        );
    }
}

#[test]
fn a_key_without_a_history_uses_its_parents() {
    let compiled = compile(&[policy(p99(&["service.name", "model"]))]);
    let mut percentiles = Percentiles::new(compiled.program.percentiles(), 0);
    let threshold = |percentiles: &Percentiles, values: &[u32]| {
        let mut out = Vec::new();
        percentiles.thresholds(&Seen::of(values, 0), &mut out);
        out[0]
    };
    assert_eq!(threshold(&percentiles, &[2, 3]), 5_000 * MS);
    (0..200).for_each(|_| percentiles.observe(&Seen::of(&[2, 3], 100 * MS), 0));
    assert_eq!(
        threshold(&percentiles, &[2, 3]),
        5_000 * MS,
        "only a tick changes thresholds"
    );
    percentiles.refresh(1);
    let known = threshold(&percentiles, &[2, 3]);
    assert!(known.abs_diff(100 * MS) < MS, "{known}");
    assert_eq!(
        threshold(&percentiles, &[2, 9]),
        known,
        "parent: the service"
    );
    assert_eq!(
        threshold(&percentiles, &[8, 9]),
        known,
        "parent: everything"
    );
    (0..200).for_each(|_| percentiles.observe(&Seen::of(&[4, 4], MS), 0));
    percentiles.refresh(2);
    assert_eq!(threshold(&percentiles, &[4, 4]), 10 * MS, "the floor");
    let ids = ValueIds::default();
    for name in ["a", "b", "c"] {
        ids.id(name.as_bytes());
    }
    let saved = percentiles.snapshot(2, &ids);
    let mut again = Percentiles::new(compiled.program.percentiles(), 2);
    again.restore(&saved, 2, &ids);
    again.refresh(3);
    assert_eq!(threshold(&again, &[2, 3]), known);
}
