//! A whole run at the loudest log level: no text of a prompt, no keyword, no key in any line, metric or page.

use crate::support::daemon::Place;
use crate::support::recipe::Recipe;
use crate::support::sender::{get, grpc, send_grpc, send_json};
use crate::support::sink::{Manner, Sink};
use crate::support::traffic::request;
use crate::support::wait::until;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;

const CANARY: &str = "canary-7f3a";
const POLICIES: &str = "[{name: risky, type: prompt_keyword, prompt_keyword: {keywords: [canary-7f3a]}}, {name: odd, type: ottl_condition, ottl_condition: {error_mode: ignore, span: ['attributes[\"gen_ai.input.messages\"] == \"canary-7f3a\"', 'Int(attributes[\"gen_ai.input.messages\"]) > 5']}}]";

/// Prompts, a status and an event with the canary in them.
fn with_canaries(part: u64) -> ExportTraceServiceRequest {
    let mut request = request(0..10, part);
    let spans = request
        .resource_spans
        .iter_mut()
        .flat_map(|resource| &mut resource.scope_spans)
        .flat_map(|scope| &mut scope.spans);
    for span in spans {
        span.attributes[0].value.as_mut().unwrap().value =
            Some(Value::StringValue(format!("say {CANARY} please")));
        span.trace_state = format!("{CANARY}=");
        if let Some(status) = &mut span.status {
            status.message = format!("no: {CANARY}");
        }
    }
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_run_at_trace_level_shows_no_prompt() {
    let (taking, refusing) = (Sink::grpc(), Sink::http());
    refusing.behave(Manner::Refuse);
    let recipe = Recipe::new(POLICIES, &[&taking, &refusing])
        .front("filter", "{error_mode: ignore, traces: {span: ['Int(attributes[\"gen_ai.input.messages\"]) == 1']}}")
        .back("attributes", "{actions: [{key: gen_ai.input.messages, action: convert, converted_type: int}]}");
    let place = Place::new(&recipe)
        .environment("RUST_LOG", "trace")
        .environment("KEY", format!("{CANARY}-0123456789"))
        .set("exporters.otlp/0.redact={error: {truncate: 5}, prompt: hash, hash_key: '${env:KEY}'}")
        .set("exporters.otlphttp/1.headers={authorization: Bearer canary-7f3a}")
        .set("processors.tail_sampling.thinning=[{spans: chat 2, keep_percentage: 0}]");
    let mut daemon = place.start().await;
    for part in 0..3 {
        send_grpc(daemon.grpc, with_canaries(part)).await;
    }
    let json = serde_json::to_vec(&with_canaries(4)).unwrap();
    send_json(daemon.http, json).await;
    // What is refused must not be quoted either.
    let mut bad = with_canaries(5);
    bad.resource_spans[0].scope_spans[0].spans[0].span_id = CANARY.as_bytes().to_vec();
    let _ = grpc(daemon.grpc).export(bad).await;
    until(
        "what is kept is at the sink, and the other refuses it",
        || taking.count() >= 30 && refusing.refused() > 0,
    )
    .await;
    let pages = [
        "/metrics",
        "/",
        "/healthz",
        "/readyz",
        "/status",
        "/no-such-page",
    ];
    for path in pages {
        if let Some((_, page)) = get(daemon.metrics, path).await {
            assert!(!page.contains(CANARY), "{path}");
        }
    }
    assert!(daemon.terminate().await.0.success());
    let log = daemon.log();
    assert!(log.contains("TRACE"), "the log is not at its loudest");
    let line = log.lines().find(|line| line.contains(CANARY));
    assert_eq!(line, None, "a log line shows a prompt");
}
