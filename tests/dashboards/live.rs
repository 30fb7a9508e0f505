//! `make dashboards`: a daemon under load, a real Prometheus that scrapes it, and every panel with its query and the data it got.

use super::calls;
use super::load::{Load, Pace, Shape, Sink};
use super::panels::{Panel, directory, table};
use super::prometheus::{Prometheus, promtool};
use super::scrape::now;
use super::support::daemon::Place;
use super::support::sender::send_grpc;
use std::fmt::Write;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

/// So that rates over ten seconds have what they need, and traces have been decided.
const UNDER_LOAD: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Prometheus: make dashboards builds it"]
async fn every_panel_has_data() {
    print!("{}", promtool(&["check", "rules", "alerts.yaml"]));
    print!("{}", promtool(&["test", "rules", "alerts.test.yaml"]));
    let sink = Sink::start().await;
    let place = Place::with_file(&directory().join("load.yaml"), |place| {
        set(place, &sink.address().to_string())
    });
    let daemon = place.start().await;
    let prometheus = Prometheus::start(daemon.metrics).await;
    let pace = Pace {
        rate: 5_000,
        in_flight: 8,
        connections: 2,
    };
    let load = Load::start(
        SocketAddr::from(([127, 0, 0, 1], daemon.grpc)),
        Shape::default(),
        pace,
    );
    let calls = AbortOnDropHandle::new(tokio::spawn(call_models(daemon.grpc)));
    sleep(UNDER_LOAD).await;
    let mut missing = Vec::new();
    for dashboard in table().dashboards {
        println!("\n## {}\n", dashboard.title);
        for panel in dashboard.panels() {
            missing.extend(show(panel, &prometheus).await);
        }
    }
    exemplars(&prometheus, &sink).await;
    drop(calls);
    load.finish().await;
    assert!(missing.is_empty(), "no data: {missing:#?}");
}

/// Twenty traces a second.
async fn call_models(port: u16) {
    for number in 0.. {
        send_grpc(port, calls::trace(number, now())).await;
        sleep(Duration::from_millis(50)).await;
    }
}

/// Each exemplar that Prometheus has leads to a trace that came out.
async fn exemplars(prometheus: &Prometheus, sink: &Sink) {
    // The last ones may be on their way to the sink.
    sleep(Duration::from_secs(2)).await;
    let end = now() / 1_000_000_000 - 2;
    let query = "gen_ai_server_time_to_first_token_seconds_bucket";
    let path = format!(
        "/api/v1/query_exemplars?query={query}&start={}&end={end}",
        end - 60
    );
    let answer = prometheus.ask(&path).await;
    let series = answer.as_array().unwrap();
    let found: Vec<&str> = series
        .iter()
        .flat_map(|one| one["exemplars"].as_array().unwrap())
        .map(|exemplar| exemplar["labels"]["trace_id"].as_str().unwrap())
        .collect();
    assert!(!found.is_empty(), "{answer}");
    println!(
        "\n{} exemplars of {} series, such as {}",
        found.len(),
        series.len(),
        found[0]
    );
    for id in found {
        let bytes = u128::from_str_radix(id, 16).unwrap().to_be_bytes();
        assert!(sink.got(bytes).is_some(), "{id} has not come out");
    }
}

pub(crate) fn set(place: &Place, sink: &str) -> Vec<String> {
    let file = place.path().display();
    vec![
        format!(
            "receivers.otlp.protocols.grpc.endpoint=127.0.0.1:{}",
            place.grpc
        ),
        format!(
            "receivers.otlp.protocols.http.endpoint=127.0.0.1:{}",
            place.http
        ),
        format!("exporters.otlp.endpoint={sink}"),
        format!("processors.tail_sampling.buffer.disk.directory={file}/buffer"),
        format!(
            "service.telemetry.metrics.address=127.0.0.1:{}",
            place.metrics
        ),
    ]
}

/// Prints a panel; which of its queries have no data.
async fn show(panel: &Panel, prometheus: &Prometheus) -> Vec<String> {
    let (mut text, mut missing) = (
        format!("### {} ({})\n", panel.title, panel.unit),
        Vec::new(),
    );
    for query in &panel.queries {
        let rows = prometheus.query(&query.asked()).await;
        let _ = writeln!(text, "    {}", query.expr);
        for row in rows.iter().take(4) {
            let value = row["value"][1].as_str().unwrap_or_default();
            let _ = writeln!(text, "      {} {value}", row["metric"]);
        }
        if rows.len() > 4 {
            let _ = writeln!(text, "      and {} more", rows.len() - 4);
        }
        if rows.iter().all(|row| row["value"][1] == "NaN") {
            missing.push(format!("{}: {}", panel.title, query.expr));
        }
    }
    println!("{text}");
    missing
}
