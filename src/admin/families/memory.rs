//! Memory by part and by service, and the caps.

use crate::admin::inventory::{
    BUFFER_BYTES, BUFFER_CAP, BUFFER_HELD, BUFFER_UNDECIDED, HEAD_LOSERS, MEMORY_BYTES, MEMORY_CAP,
    SERVICE_REFUSED, SPILLED,
};
use crate::admin::page::Page;
use crate::admin::sources::{SamplerSource, Sources};
use crate::log::{Account, LogStats};
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) fn fill(page: &Page, sources: &Sources, samplers: &[SamplerSource], log: &LogStats) {
    parts(page, sources, samplers, log);
    for account in sources.services.all() {
        service(page, &account);
    }
}

fn parts(page: &Page, sources: &Sources, samplers: &[SamplerSource], log: &LogStats) {
    let stats = || samplers.iter().map(|sampler| &sampler.stats);
    let skeletons = stats().map(|stats| get(&stats.skeleton_bytes)).sum();
    let decisions = stats().map(|stats| get(&stats.memory_bytes)).sum();
    let caps = sources.caps;
    let parts = [
        ("intake", sources.intake.used(), caps.intake),
        ("window", log.window_bytes, caps.window),
        ("cache", log.cache_bytes, caps.cache),
        ("skeletons", skeletons, caps.skeletons),
        ("decisions", decisions, caps.decisions),
        ("relays", sources.relays.used(), caps.relays),
    ];
    for (part, bytes, cap) in parts {
        page.amount(&MEMORY_BYTES, &[part], bytes);
        page.amount(&MEMORY_CAP, &[part], cap);
    }
    page.amount(&MEMORY_CAP, &["total"], caps.total);
}

fn service(page: &Page, account: &Account) {
    let name = &*account.name;
    let kinds = [
        ("intake", &account.intake),
        ("cache", &account.cache),
        ("skeletons", &account.skeletons),
        ("decisions", &account.decisions),
    ];
    for (kind, bytes) in kinds {
        page.amount(&BUFFER_BYTES, &[name, kind], get(bytes));
    }
    page.amount(&BUFFER_UNDECIDED, &[name], get(&account.undecided));
    page.amount(&BUFFER_HELD, &[name], account.held());
    page.amount(&BUFFER_CAP, &[name], account.cap);
    page.count(&SPILLED, &[name], get(&account.spilled));
    page.count(&SERVICE_REFUSED, &[name], get(&account.refused));
    page.count(&HEAD_LOSERS, &[name], get(&account.lost_coin));
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
