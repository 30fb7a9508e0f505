//! The Collector's own metrics of `tail_sampling`. All instances add up in one series, as theirs do; policies of a named
//! instance carry its name (`edge.errors`).

use crate::admin::histograms::Counted;
use crate::admin::inventory::{
    BYTES_SAMPLED, DROPPED_TOO_EARLY, EARLY_RELEASES, GLOBAL_TRACES, LATE_AGE, MALFORMED_STATES,
    Metric, NEW_TRACES, POLICY_ERRORS, POLICY_EXECUTIONS, POLICY_TRACES, REMOVAL_AGE,
    SPANS_SAMPLED, TICK_TIME, TOO_LARGE, TRACES_ON_MEMORY,
};
use crate::admin::page::Page;
use crate::admin::sources::SamplerSource;
use crate::rules::Vote;
use crate::sampler::{Evidence, SamplerStats};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) fn fill(page: &Page, samplers: &[SamplerSource]) {
    let sum = |counter: fn(&SamplerStats) -> &AtomicU64| -> u64 {
        samplers
            .iter()
            .map(|sampler| counter(&sampler.stats).load(Ordering::Relaxed))
            .sum()
    };
    page.count_events(&NEW_TRACES, &[], sum(|stats| &stats.new_traces));
    page.count_events(&EARLY_RELEASES, &["true"], sum(|stats| &stats.cached_kept));
    page.count_events(
        &EARLY_RELEASES,
        &["false"],
        sum(|stats| &stats.cached_dropped),
    );
    page.amount(&TRACES_ON_MEMORY, &[], sum(|stats| &stats.held_traces));
    page.count_events(&TOO_LARGE, &[], sum(|stats| &stats.too_large));
    let malformed = sum(|stats| &stats.malformed_trace_states);
    page.count_events(&MALFORMED_STATES, &[], malformed);
    let gone = sum(|stats| &stats.dropped_too_early);
    page.count(&DROPPED_TOO_EARLY, &[], gone);
    times(page, samplers);
    policies(page, samplers);
    decided(page, samplers);
}

fn times(page: &Page, samplers: &[SamplerSource]) {
    let (mut ticks, mut late, mut removed) = <(Counted, Counted, Counted)>::default();
    for sampler in samplers {
        ticks.add(sampler.stats.tick_ms.read());
        late.add(sampler.stats.late_age.read());
        removed.add(sampler.stats.removal_age.read());
    }
    // The first tick makes it appear.
    if ticks.number > 0 {
        page.histogram(&TICK_TIME, &ticks);
    }
    for (metric, counted) in [(&LATE_AGE, late), (&REMOVAL_AGE, removed)] {
        if counted.number > 0 {
            page.histogram(metric, &counted);
        }
    }
}

/// Spans or bytes of the traces that policies voted on.
fn volume<'a>(
    page: &Page,
    metric: &'static Metric,
    counted: impl Iterator<Item = (&'a SamplerSource, &'a str, Vote, u64)>,
) {
    let mut sums = BTreeMap::<(String, &str), (Vote, u64)>::new();
    for (sampler, policy, vote, amount) in counted.filter(|(.., vote, _)| *vote != Vote::Failed) {
        let policy = full_name(&sampler.processor, policy);
        sums.entry((policy, decision(vote))).or_insert((vote, 0)).1 += amount;
    }
    for ((policy, decision), (vote, amount)) in &sums {
        page.count_events(metric, &[policy, sampled(*vote), decision], *amount);
    }
}

fn policies(page: &Page, samplers: &[SamplerSource]) {
    let mut asked = BTreeMap::<String, u64>::new();
    let mut failed = 0;
    let mut votes = BTreeMap::<(String, &str), (Vote, u64)>::new();
    for sampler in samplers {
        for (policy, vote, traces) in sampler.stats.votes() {
            let policy = full_name(&sampler.processor, policy);
            *asked.entry(policy.clone()).or_default() += traces;
            if vote == Vote::Failed {
                failed += traces;
                continue;
            }
            votes.entry((policy, decision(vote))).or_insert((vote, 0)).1 += traces;
        }
    }
    page.count(&POLICY_ERRORS, &[], failed);
    let spans = samplers.iter().filter(|sampler| sampler.counts_spans);
    let spans = spans.flat_map(|sampler| {
        let votes = sampler.stats.vote_spans();
        votes.map(move |(policy, vote, spans)| (sampler, policy, vote, spans))
    });
    volume(page, &SPANS_SAMPLED, spans);
    let bytes = samplers.iter().filter(|sampler| sampler.counts_bytes);
    let bytes = bytes.flat_map(|sampler| {
        let votes = sampler.stats.vote_bytes();
        votes.map(move |(policy, vote, bytes)| (sampler, policy, vote, bytes))
    });
    volume(page, &BYTES_SAMPLED, bytes);
    for (policy, traces) in &asked {
        page.count(&POLICY_EXECUTIONS, &[policy], *traces);
    }
    for ((policy, decision), (vote, traces)) in &votes {
        page.count_events(&POLICY_TRACES, &[policy, sampled(*vote), decision], *traces);
    }
}

/// Traces over the size limits are not counted: the Collector decides them otherwise.
fn decided(page: &Page, samplers: &[SamplerSource]) {
    let (mut kept, mut dropped, mut unwanted) = (0, 0, 0);
    for (policy, keep, evidence, traces) in samplers
        .iter()
        .flat_map(|sampler| sampler.stats.decisions())
    {
        let sum = match (evidence, keep) {
            (
                Evidence::Oversize
                | Evidence::TooLarge
                | Evidence::Evicted
                | Evidence::Discarded
                | Evidence::Late
                | Evidence::Amendment,
                _,
            ) => continue,
            (_, true) => &mut kept,
            (_, false) if policy.is_empty() => &mut unwanted,
            // Only a `drop` policy decides against a trace.
            (_, false) => &mut dropped,
        };
        *sum += traces;
    }
    for (vote, traces) in [
        (Vote::Sampled, kept),
        (Vote::Dropped, dropped),
        (Vote::NotSampled, unwanted),
    ] {
        page.count_events(&GLOBAL_TRACES, &[sampled(vote), decision(vote)], traces);
    }
}

fn full_name(processor: &str, policy: &str) -> String {
    match processor.split_once('/') {
        Some((_, instance)) => format!("{instance}.{policy}"),
        None => policy.to_owned(),
    }
}

fn sampled(vote: Vote) -> &'static str {
    if vote == Vote::Sampled {
        "true"
    } else {
        "false"
    }
}

fn decision(vote: Vote) -> &'static str {
    match vote {
        Vote::Sampled => "sampled",
        Vote::NotSampled | Vote::Failed => "not_sampled",
        Vote::Dropped => "dropped",
    }
}
