//! `make dashboards`: a daemon under load, a real Prometheus that scrapes it, and every panel with its query and the data it got.

use super::load::{Load, Pace, Shape, Sink};
use super::panels::{Panel, asked, directory, table};
use super::prometheus::{Prometheus, promtool};
use super::support::daemon::Place;
use std::fmt::Write;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::time::sleep;

/// So that rates over ten seconds have what they need, and traces have been decided.
const UNDER_LOAD: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Prometheus: make dashboards builds it"]
async fn every_panel_has_data() {
    print!("{}", promtool(&["check", "rules", "alerts.yaml"]));
    print!("{}", promtool(&["test", "rules", "alerts.test.yaml"]));
    let sink = Sink::start().await;
    let place = Place::with_file(&directory().join("load.yaml"), |place| {
        set(place, sink.address())
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
    sleep(UNDER_LOAD).await;
    let mut missing = Vec::new();
    for dashboard in table().dashboards {
        println!("\n## {}\n", dashboard.title);
        for panel in dashboard.panels() {
            missing.extend(show(panel, &prometheus).await);
        }
    }
    load.finish().await;
    assert!(missing.is_empty(), "panels without data: {missing:?}");
}

fn set(place: &Place, sink: SocketAddr) -> Vec<String> {
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

/// Prints a panel; its title when it has no data and should.
async fn show(panel: &Panel, prometheus: &Prometheus) -> Option<String> {
    let (mut text, mut empty) = (format!("### {} ({})\n", panel.title, panel.unit), true);
    for query in &panel.queries {
        let rows = prometheus.query(&asked(&query.expr)).await;
        let _ = writeln!(text, "    {}", query.expr);
        for row in rows.iter().take(4) {
            let value = row["value"][1].as_str().unwrap_or_default();
            empty &= value == "NaN";
            let _ = writeln!(text, "      {} {value}", row["metric"]);
        }
        if rows.len() > 4 {
            let _ = writeln!(text, "      and {} more", rows.len() - 4);
        }
    }
    println!("{text}");
    (empty && !panel.may_be_empty).then(|| panel.title.clone())
}
