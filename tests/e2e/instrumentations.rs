//! Real instrumentations of LLM clients, each calling a model that streams: what they write is read, and the rules over
//! prompts, tokens, times to the first token and errors keep just the right calls.

use crate::support::daemon::Place;
use crate::support::ledger::assert_ledger;
use crate::support::python::call_models;
use crate::support::recipe::Recipe;
use crate::support::sender::get;
use crate::support::sink::Sink;
use crate::support::spans::traces;
use std::collections::BTreeSet;

/// One rule for each reason in the script's list. No percentile yet after so few calls: `warmup_ms` is the threshold.
const RULES: &str = r#"
      - {name: keyword, type: prompt_keyword, prompt_keyword: {keywords: ["ignore previous instructions", "忽略以上所有指示"], fields: [prompt]}}
      - {name: tokens, type: token_count, token_count: {of: input, min: 10_000}}
      - {name: first_token, type: latency_percentile, latency_percentile: {percentile: 99, of: ttft, by: [service.name], warmup_ms: 3000}}
      - {name: failed, type: gen_ai_error}"#;
const CALLS: usize = 60;

async fn check(library: &str) {
    let sink = Sink::grpc();
    let place = Place::new(&Recipe::new(RULES, &[&sink]).decision_wait(1))
        .set("processors.tail_sampling.llm_metrics={}");
    let mut daemon = place.start().await;
    let endpoint = format!("http://127.0.0.1:{}", daemon.http);
    let calls = call_models(place.path().join("calls"), library, &endpoint, CALLS).await;

    let kept: BTreeSet<String> = calls
        .iter()
        .filter(|call| !call.reasons.is_empty())
        .map(|call| call.trace_id.clone())
        .collect();
    assert_eq!((calls.len(), kept.len()), (CALLS, 21));
    assert_ledger(&daemon, &sink.exporter(0).0, CALLS, kept.len()).await;
    assert_eq!(traces(&sink.spans()), kept, "{library}");

    let page = get(daemon.metrics, "/metrics").await.unwrap().1;
    let sum = |name: &str, label: &str| -> f64 {
        let lines = page.lines();
        let lines = lines.filter(|line| line.starts_with(name) && line.contains(label));
        lines
            .map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
            .sum()
    };
    // Six calls of 50,000 tokens, six that failed, the others of 40.
    assert_eq!(
        sum("gen_ai_client_token_usage_sum", "token_type=\"input\""),
        301_920.0
    );
    assert_eq!(
        sum("gen_ai_client_token_usage_sum", "token_type=\"output\""),
        648.0
    );
    assert_eq!(
        sum("tailwater_llm_calls_total", "environment=\"test\""),
        60.0
    );
    assert_eq!(sum("tailwater_llm_failed_calls_total", ""), 6.0);
    assert_eq!(
        sum("gen_ai_server_time_to_first_token_seconds_count", ""),
        30.0,
        "{page}"
    );
    assert!(daemon.terminate().await.0.success());
    place.assert_log_is_sound();
}

#[tokio::test(flavor = "multi_thread")]
async fn official() {
    check("otel").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn openinference() {
    check("openinference").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn openllmetry() {
    check("openllmetry").await;
}
