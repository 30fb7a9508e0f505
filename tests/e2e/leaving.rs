//! What happens to a kept trace on its way out: thinned, routed, redacted, the same after a kill, and every span accounted
//! for.

use crate::support::daemon::Place;
use crate::support::files::text_is_in;
use crate::support::ledger::{assert_ledger, at_rest, delivered, states};
use crate::support::recipe::{ERRORS, FOR_EVER, Recipe, wait};
use crate::support::sender::send_grpc;
use crate::support::sink::Sink;
use crate::support::spans::Flat;
use crate::support::texts::{attribute, of_spans};
use crate::support::traffic::{at_once, request};
use crate::support::wait::until;
use std::collections::BTreeSet;

const TRACES: u64 = 200;
/// Traces that fail, and are kept.
const KEPT: u64 = TRACES / 10;
const PROMPT: &str = "gen_ai.input.messages";

const POLICIES: &str = "[{name: errors, type: status_code, status_code: {status_codes: [ERROR]}, export_to: [otlp/1], evaluate_percentage: 50}]";

fn traces(spans: &[Flat]) -> BTreeSet<String> {
    spans.iter().map(|span| span.trace.clone()).collect()
}

fn texts(spans: &[Flat], key: &str) -> Vec<String> {
    let each = spans.iter().flat_map(|span| of_spans(&span.message(), key));
    each.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn kept_traces_are_thinned_routed_and_redacted_also_after_a_kill() {
    let (backend, mut judge) = (Sink::grpc(), Sink::dead());
    let place = Place::new(&Recipe::new(POLICIES, &[&backend, &judge]))
        .set("processors.tail_sampling.thinning=[{spans: chat 3, keep_percentage: 0}]")
        .set("exporters.otlp/0.redact={prompt: drop}");
    let mut daemon = place.start().await;
    // Thinning looks at one entry at a time: the whole trace.
    send_grpc(daemon.grpc, at_once(0..TRACES, 4)).await;
    delivered(&daemon, &backend.exporter(0).0, 3 * KEPT).await;
    // What the judge is to get waits for it in the log.
    daemon.kill();
    let mut daemon = place.start().await;
    judge.start();
    let of_judge = at_rest(&daemon, &judge.exporter(1).0).await;
    let of_backend = at_rest(&daemon, &backend.exporter(0).0).await;
    assert!(daemon.terminate().await.0.success());

    let dropped = 4 * (TRACES - KEPT);
    let expected = [
        ("accepted", 4 * TRACES),
        ("delivered", 3 * KEPT),
        ("thinned", KEPT),
        ("dropped", dropped),
    ];
    assert_eq!(of_backend, states(expected));
    let judged = traces(&judge.spans()).len() as u64;
    assert!(judged > 0 && judged < KEPT, "{judged} of {KEPT}");
    let expected = [
        ("accepted", 4 * TRACES),
        ("delivered", 3 * judged),
        ("thinned", judged),
        ("not_routed", 4 * (KEPT - judged)),
        ("dropped", dropped),
    ];
    assert_eq!(of_judge, states(expected));

    assert_eq!(texts(&backend.spans(), PROMPT), [""; 0]);
    assert_eq!(texts(&judge.spans(), PROMPT).len() as u64, 3 * judged);
    for (sink, traces, marks) in [(&backend, KEPT, 0), (&judge, judged, 3 * judged)] {
        let spans = sink.spans();
        let counts = texts(&spans, "tailwater.thinned.spans");
        assert_eq!(counts, vec!["1"; usize::try_from(traces).unwrap()]);
        let scopes = spans.iter().filter_map(|span| {
            let scope = span.message().scope_spans[0].scope.clone()?;
            attribute(&scope.attributes, "tailwater.evaluate")
        });
        assert_eq!(scopes.count() as u64, marks);
    }
    // Which traces are judged is a matter of their ids: nothing is sent again.
    let mut daemon = place.start().await;
    assert_eq!(at_rest(&daemon, &judge.exporter(1).0).await, of_judge);
    assert!(daemon.terminate().await.0.success());
    assert_eq!(judge.count() as u64, 3 * judged);
    place.assert_log_is_sound();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_receiver_redacts_is_never_stored() {
    let sink = Sink::grpc();
    let place = Place::new(&Recipe::new(ERRORS, &[&sink]).decision_wait(FOR_EVER))
        .set("receivers.otlp.redact={prompt: {truncate: 8}}");
    let mut daemon = place.start().await;
    for part in 0..2 {
        send_grpc(daemon.grpc, request(0..20, part)).await;
    }
    // Decided by the next life, on what is stored.
    daemon.kill();
    let place = place.set(&wait(1));
    let mut daemon = place.start().await;
    until("what is kept is at the sink", || sink.count() >= 4).await;
    assert_ledger(&daemon, &sink.exporter(0).0, 40, 4).await;
    assert!(daemon.terminate().await.0.success());
    let mut prompts = texts(&sink.spans(), PROMPT);
    prompts.sort();
    assert_eq!(prompts, ["问题 0…", "问题 0…", "问题 1…", "问题 1…"]);
    let log = place.path().join("log");
    assert!(text_is_in(&log, "问题 1…") && !text_is_in(&log, "word"));
    place.assert_log_is_sound();
}
