//! Pipelines that pass requests on: metrics, and logs without `tail_sampling`. They leave as they came, and take nothing
//! from traces when their backend is dead.

use crate::logs::{logs, record, send_logs};
use crate::support::daemon::{Daemon, Place};
use crate::support::ledger::assert_ledger;
use crate::support::recipe::{ALL, Recipe};
use crate::support::sender::{get, post_to, send_grpc};
use crate::support::sink::Sink;
use crate::support::traffic::request;
use crate::support::wait::{until, until_async};
use http::StatusCode;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_client::MetricsServiceClient;
use opentelemetry_proto::tonic::metrics::v1::{
    Gauge, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, metric::Data,
};
use prost::Message;
use std::time::Duration;
use tokio::task::JoinSet;
use tonic::transport::Endpoint;

/// One gauge with as many points.
fn metrics(points: u64) -> ExportMetricsServiceRequest {
    let point = |number| NumberDataPoint {
        time_unix_nano: number,
        ..NumberDataPoint::default()
    };
    let metric = Metric {
        name: "queue.length".to_owned(),
        data: Some(Data::Gauge(Gauge {
            data_points: (0..points).map(point).collect(),
        })),
        ..Metric::default()
    };
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            scope_metrics: vec![ScopeMetrics {
                metrics: vec![metric],
                ..ScopeMetrics::default()
            }],
            ..ResourceMetrics::default()
        }],
    }
}

async fn send_metrics(grpc: u16, request: ExportMetricsServiceRequest) {
    let endpoint = Endpoint::from_shared(format!("http://127.0.0.1:{grpc}"));
    let mut client = MetricsServiceClient::new(endpoint.unwrap().connect_lazy());
    let answer = client.export(request).await.unwrap().into_inner();
    assert_eq!(answer.partial_success, None);
}

/// The sum of a metric over its series.
async fn sum(daemon: &Daemon, name: &str) -> f64 {
    let (_, page) = get(daemon.metrics, "/metrics").await.unwrap();
    let rows = page.lines().filter(|line| line.starts_with(name));
    let value = |line: &str| line.rsplit(' ').next()?.parse::<f64>().ok();
    rows.filter_map(value).sum()
}

fn place(traces: &Sink, others: &Sink) -> Place {
    let (id, settings) = others.exporter(1);
    let recipe = Recipe::new(ALL, &[traces]).exporter(&id, settings);
    let pipeline = |signal: &str| {
        format!("service.pipelines.{signal}={{receivers: [otlp], exporters: [{id}]}}")
    };
    Place::new(&recipe)
        .set(&format!(
            "service.pipelines.traces.exporters=[{}]",
            traces.exporter(0).0
        ))
        .set(&pipeline("metrics"))
        .set(&pipeline("logs"))
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_and_logs_leave_as_they_came() {
    for others in [Sink::grpc(), Sink::http()] {
        let traces = Sink::grpc();
        let mut daemon = place(&traces, &others).start().await;
        send_metrics(daemon.grpc, metrics(3)).await;
        let body = metrics(4).encode_to_vec();
        let kind = "application/x-protobuf";
        let (status, _) = post_to(daemon.http, "/v1/metrics", kind, body).await;
        assert_eq!(status, StatusCode::OK);
        // An answer means that the backend has it.
        assert_eq!(others.metrics(), [metrics(3), metrics(4)]);
        let json = (daemon.http, "/v1/metrics", "application/json");
        let (status, _) = post_to(json.0, json.1, json.2, b"{}".to_vec()).await;
        assert_eq!(status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
        let records = vec![record(1, Some(5)), record(2, None)];
        for way in 0..3 {
            send_logs(&daemon, way, logs(records.clone())).await;
        }
        assert_eq!(others.records().len(), 6);
        for (name, expected) in [
            ("otelcol_receiver_accepted_metric_points", 7.0),
            ("otelcol_exporter_sent_metric_points", 7.0),
            ("otelcol_receiver_accepted_log_records", 6.0),
            ("otelcol_exporter_sent_log_records", 6.0),
            ("tailwater_ledger_log_records", 0.0),
        ] {
            assert!((sum(&daemon, name).await - expected).abs() < 0.5, "{name}");
        }
        send_grpc(daemon.grpc, request(0..1, 0)).await;
        assert_ledger(&daemon, &traces.exporter(0).0, 1, 1).await;
        assert!(daemon.terminate().await.0.success());
        assert_eq!((others.count(), traces.records().len()), (0, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_backend_of_metrics_takes_nothing_from_traces() {
    let (traces, mut others) = (Sink::grpc(), Sink::dead());
    // A 32nd of 256 MiB waits for the backend, and no more.
    let mut daemon = place(&traces, &others).start().await;
    let mut waiting = JoinSet::new();
    waiting.spawn(send_metrics(daemon.grpc, metrics(3)));
    let large = metrics(200_000).encode_to_vec();
    let mut flood = JoinSet::new();
    for _ in 0..8 {
        let (port, body) = (daemon.http, large.clone());
        let kind = "application/x-protobuf";
        flood.spawn(async move { post_to(port, "/v1/metrics", kind, body).await.0 });
    }
    until_async("senders are told to come back", async || {
        let name = "tailwater_receiver_refused_requests_total{receiver=\"otlp\",transport=\"http\",reason=\"full\"}";
        sum(&daemon, name).await > 0.0
    })
    .await;
    send_grpc(daemon.grpc, request(0..1, 0)).await;
    until("the trace is delivered", || traces.count() == 1).await;
    assert!(waiting.try_join_next().is_none());
    others.start();
    waiting.join_next().await.unwrap().unwrap();
    let mut taken = 1;
    for status in flood.join_all().await {
        match status {
            StatusCode::OK => taken += 1,
            status => assert_eq!(status, StatusCode::TOO_MANY_REQUESTS),
        }
    }
    // At least once: a backend that answers late is asked again.
    assert!(others.metrics().len() >= taken);
    let ended = tokio::time::timeout(Duration::from_secs(10), daemon.terminate()).await;
    assert!(ended.unwrap().0.success());
}
