//! What services are charged is what the parts hold, whoever sends, at every second and through a restart.

use super::front::of_service;
use super::*;
use crate::log::{Account, ServiceId};

/// A request with spans of five services, in traces of their own and in common ones, some of the round before.
fn send(rig: &Rig, round: u64) {
    let spans = |service: u64| {
        let traces = (0..40_u64).map(|n| Span {
            trace_id: u128::from(round * 150 + n * service + 1)
                .to_be_bytes()
                .to_vec(),
            ..span(0, n, n == 3)
        });
        of_service(&format!("service-{service}"), traces.collect())
    };
    rig.send_all((0..5).map(spans).collect());
}

fn sum(rig: &Rig, part: impl Fn(&Account) -> u64) -> u64 {
    rig.services.all().iter().map(|account| part(account)).sum()
}

/// At rest: the worker has seen everything and its last tick is over.
fn check(rig: &Rig) {
    let stats = &rig.sampler.stats;
    let agrees = || {
        let (log, get) = (rig.log.stats(), stats::get);
        let found = [
            sum(rig, |a| get(&a.skeletons)),
            sum(rig, |a| get(&a.decisions)),
            sum(rig, |a| get(&a.cache)),
            sum(rig, |a| get(&a.intake)),
        ];
        let skeletons = get(&stats.skeleton_bytes);
        (
            found == [skeletons, get(&stats.memory_bytes), log.cache_bytes, 0],
            found,
        )
    };
    for _ in 0..500 {
        if agrees().0 {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(2));
    }
    panic!("{:?} {:?}", agrees().1, rig.sampler.stats);
}

#[test]
fn accounts_add_up_to_what_the_parts_hold() {
    let place = tempfile::tempdir().unwrap();
    let mut rig = Rig::start(place.path(), 1_000 * SECOND, 32 << 20);
    rig.settle();
    for round in 0..12 {
        send(&rig, round);
        rig.second();
        check(&rig);
    }
    let own = |rig: &Rig, id| {
        let account = rig.services.account(ServiceId(id));
        [&account.skeletons, &account.decisions, &account.cache].map(stats::get)
    };
    let held = (1..=5).map(|id| own(&rig, id));
    let all = held.filter(|parts| parts.iter().all(|bytes| *bytes > 0));
    assert!(all.count() >= 3, "a trace is charged to who opens it");
    rig.stop();
    rig = Rig::start(place.path(), 1_013 * SECOND, 32 << 20);
    rig.settle();
    rig.second();
    check(&rig);
    (0..WAIT + 30).for_each(|_| rig.second());
    check(&rig);
    assert_eq!(sum(&rig, |a| stats::get(&a.skeletons)), 0);
    assert_eq!(sum(&rig, |a| stats::get(&a.decisions)), 0);
    rig.stop();
}

/// Whatever names a sender makes up, through the whole intake.
#[test]
fn a_hundred_thousand_names_have_a_thousand_accounts() {
    let place = tempfile::tempdir().unwrap();
    let rig = Rig::start(place.path(), 1_000 * SECOND, 32 << 20);
    rig.settle();
    for request in 0..100_u64 {
        let resource = |n: u64| {
            let number = request * 1000 + n;
            let span = Span {
                trace_id: u128::from(number + 1).to_be_bytes().to_vec(),
                ..span(0, number, false)
            };
            of_service(&format!("made-up-{number}"), vec![span])
        };
        rig.send_all((0..1000).map(resource).collect());
    }
    rig.second();
    check(&rig);
    assert_eq!(rig.services.all().len(), 1001);
    let other = rig.services.account(ServiceId(0));
    assert!(
        stats::get(&other.skeletons) > 90 * stats::get(&rig.sampler.stats.skeleton_bytes) / 100
    );
    rig.stop();
}

/// Two services of the same cap: only the traces of the one that says so are decided at it.
#[test]
fn on_full_is_a_services_own() {
    let place = tempfile::tempdir().unwrap();
    let cap = |name: &str| (name.to_owned(), 64 << 10);
    let memory = MemorySettings {
        per_service: vec![cap("early"), cap("spill")],
        on_full_of: vec![("early".to_owned(), OnFull::DecideEarly)],
        ..memory_settings()
    };
    let (settings, all) = (log_settings(place.path()), (Arc::default(), &[][..]));
    let rig = Rig::open_all(all, &memory, &settings, 1_000 * SECOND, policies(), |_| {});
    rig.settle();
    for round in 0..40_u64 {
        let spans = |service: u64| {
            let traces = (0..10_u64).map(|n| Span {
                trace_id: u128::from(service << 32 | (round * 10 + n + 1))
                    .to_be_bytes()
                    .to_vec(),
                name: "x".repeat(500),
                ..span(0, n, false)
            });
            of_service(["early", "spill"][service as usize], traces.collect())
        };
        rig.send_all(vec![spans(0), spans(1)]);
        rig.settle();
    }
    rig.clock.advance(1);
    rig.settle();
    std::thread::park_timeout(Duration::from_millis(200));
    let held = |name: &str| rig.services.account(rig.services.intern(name)).held();
    assert!(
        held("early") < 64 << 10 && held("spill") > 64 << 10,
        "{} {}",
        held("early"),
        held("spill")
    );
    let (entries, report) = rig.finish();
    assert_eq!(report.problems, Vec::<String>::new());
    let decided = entries.iter().filter_map(Entry::decision);
    let pressed = decided.filter(|(decision, ..)| decision.evidence == Evidence::Pressure);
    let traces: Vec<u128> = pressed.map(|(decision, ..)| decision.trace.0).collect();
    assert!(traces.len() > 200, "{}", traces.len());
    assert!(
        traces.iter().all(|trace| trace >> 32 == 0),
        "only of `early`"
    );
}
