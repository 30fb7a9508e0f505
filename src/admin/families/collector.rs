//! The Collector's own metrics of `tail_sampling`. All instances add up in one series, as theirs do; policies of a named
//! instance carry its name (`edge.errors`).

use crate::admin::inventory::{
    DROPPED_TOO_EARLY, EARLY_RELEASES, GLOBAL_TRACES, NEW_TRACES, POLICY_ERRORS, POLICY_EXECUTIONS,
    POLICY_TRACES, TRACES_ON_MEMORY,
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
    page.count_events(&EARLY_RELEASES, &["true"], sum(|stats| &stats.late_kept));
    page.count_events(
        &EARLY_RELEASES,
        &["false"],
        sum(|stats| &stats.late_dropped),
    );
    page.amount(&TRACES_ON_MEMORY, &[], sum(|stats| &stats.undecided_traces));
    page.count(&DROPPED_TOO_EARLY, &[], 0);
    policies(page, samplers);
    decided(page, samplers);
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
            (Evidence::Oversize | Evidence::Late, _) => continue,
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
