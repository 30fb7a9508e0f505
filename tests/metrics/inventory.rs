//! The table against a scrape.

use crate::harness::{Running, attribute, spans};
use crate::scrape::Scrape;
use std::collections::BTreeSet;
use tailwater::admin::{Appears, INVENTORY, Kind};

fn names(of: impl Fn(Appears) -> bool) -> BTreeSet<&'static str> {
    INVENTORY
        .iter()
        .filter(|metric| of(metric.appears))
        .map(|metric| metric.name)
        .collect()
}

fn found(scrape: &Scrape) -> BTreeSet<&str> {
    scrape.0.keys().map(String::as_str).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_metric_of_the_table_is_there_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let running = Running::start(directory.path(), 0).await;
    assert_eq!(
        found(&running.scrape()),
        names(|appears| appears == Appears::Always)
    );

    assert!(
        running
            .pipeline
            .submit(b"\x0a\xff".as_slice().into())
            .await
            .is_err()
    );
    running
        .submit([spans(1, 1, 2, true), spans(2, 1, 1, false)].concat())
        .await;
    let mut probe = spans(3, 1, 1, true);
    probe[0].attributes.push(attribute("kind", "probe"));
    running.submit(probe).await;
    let value =
        |scrape: &Scrape, name: &str, labels: &str| scrape.value(name, labels).unwrap_or_default();
    running
        .until("decided", |now| {
            value(now, "tailwater_decision_memory_traces", "pipeline=traces") == 3.0
        })
        .await;
    running
        .submit([spans(1, 7, 1, false), spans(2, 7, 1, false)].concat())
        .await;
    let sent = |now: &Scrape| value(now, "otelcol_exporter_sent_spans", "exporter=file") == 3.0;
    let scrape = running.until("sent", sent).await;

    // What only `compat: strict` or a gate brings is compared with the Collector's in `tests/compat`.
    let everywhere = |appears| appears != Appears::WhenAsked;
    assert_eq!(found(&scrape), names(everywhere));
    for metric in INVENTORY.iter().filter(|metric| everywhere(metric.appears)) {
        let family = &scrape.0[metric.name];
        assert_eq!(
            family.kind,
            match metric.kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
                Kind::Histogram => "histogram",
            },
            "{}",
            metric.name
        );
        assert_eq!(family.help, metric.help, "{}", metric.name);
        let labels: Vec<String> = metric
            .labels
            .iter()
            .map(|label| (*label).to_owned())
            .collect();
        assert_eq!(
            family.labels.iter().collect::<Vec<_>>(),
            [&labels],
            "{}",
            metric.name
        );
    }
    figures(&scrape);
    running.stop().await;
}

/// What the traffic above must have brought.
#[allow(clippy::too_many_lines, reason = "one story, told in order")]
fn figures(scrape: &Scrape) {
    let check = |name: &str, labels: &str, expected: f64| {
        assert_eq!(scrape.value(name, labels), Some(expected), "{name}")
    };
    let sampling = |rest: &str| format!("otelcol_processor_tail_sampling_{rest}");
    check(
        "otelcol_receiver_accepted_spans",
        "receiver=otlp,transport=in_process",
        6.0,
    );
    check(
        "otelcol_receiver_accepted_spans",
        "receiver=otlp/edge,transport=http",
        0.0,
    );
    check(
        "tailwater_receiver_refused_requests_total",
        "reason=malformed,receiver=otlp,transport=in_process",
        1.0,
    );
    check("tailwater_log_spans_total", "", 6.0);
    let decision = "evidence=complete,outcome=keep,pipeline=traces,policy=errors";
    check("tailwater_decisions_total", decision, 1.0);
    check(
        "tailwater_decisions_total",
        "evidence=complete,outcome=drop,pipeline=traces,policy=",
        1.0,
    );
    check(
        "tailwater_decisions_total",
        "evidence=complete,outcome=drop,pipeline=traces,policy=probes",
        1.0,
    );
    check(
        "tailwater_late_spans_total",
        "outcome=keep,pipeline=traces",
        1.0,
    );
    check(
        "tailwater_late_spans_total",
        "outcome=drop,pipeline=traces",
        1.0,
    );
    check(
        "tailwater_buffer_cap_bytes",
        "service=gate\"way\\",
        f64::from(64 << 20),
    );
    check(
        "tailwater_buffer_bytes",
        "kind=decisions,service=gate\"way\\",
        480.0,
    );
    check("tailwater_memory_bytes", "part=decisions", 480.0);
    check("tailwater_worker_unread_bytes", "pipeline=traces", 0.0);
    check("tailwater_decide_lag_bytes", "pipeline=traces", 0.0);
    check(
        "tailwater_exporter_last_error",
        "exporter=file,kind=none",
        1.0,
    );
    check("tailwater_traces_total", "pipeline=traces", 3.0);
    check(&sampling("new_trace_id_received"), "", 3.0);
    check(
        &sampling("global_count_traces_sampled"),
        "decision=sampled,sampled=true",
        1.0,
    );
    check(
        &sampling("global_count_traces_sampled"),
        "decision=not_sampled,sampled=false",
        1.0,
    );
    check(
        &sampling("global_count_traces_sampled"),
        "decision=dropped,sampled=false",
        1.0,
    );
    check(
        &sampling("count_traces_sampled"),
        "decision=dropped,policy=probes,sampled=false",
        1.0,
    );
    check(
        &sampling("early_releases_from_cache_decision"),
        "sampled=true",
        1.0,
    );
    check(
        &sampling("sampling_policy_execution_count"),
        "policy=edge.all",
        0.0,
    );
    check(&sampling("sampling_traces_on_memory"), "", 0.0);
    let above_zero =
        |name: &str, labels: &str| assert!(scrape.value(name, labels) > Some(0.0), "{name}");
    above_zero("tailwater_log_bytes", "");
    above_zero("tailwater_log_headroom_bytes", "");
    above_zero("tailwater_log_oldest_seconds", "");
    above_zero("tailwater_memory_cap_bytes", "part=total");
    above_zero("tailwater_decision_memory_bytes", "pipeline=traces");
    above_zero("otelcol_process_uptime", "");
    above_zero("otelcol_process_cpu_seconds", "");
    above_zero("otelcol_process_memory_rss", "");
}
