//! Starts that must fail, clearly and without harm: a directory in use, a taken port, a config with errors.

use crate::support::daemon::{Place, run_to_end};
use crate::support::recipe::{ALL, ERRORS, FOR_EVER, Recipe, wait};
use crate::support::sender::send_grpc;
use crate::support::sink::Sink;
use crate::support::traffic::request;
use crate::support::wait::until;
use std::net::TcpListener;
use std::process::Command;

const OTHER_PORTS: [&str; 3] = [
    "receivers.otlp.protocols.grpc.endpoint=127.0.0.1:0",
    "receivers.otlp.protocols.http.endpoint=127.0.0.1:0",
    "service.telemetry.metrics.address=127.0.0.1:0",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_second_daemon_on_the_directory_is_refused() {
    let sink = Sink::grpc();
    let place = Place::new(&Recipe::new(ERRORS, &[&sink]));
    let mut daemon = place.start().await;
    let (code, printed) = run_to_end(&mut place.command("run"));
    assert_eq!(code, Some(1), "{printed}");
    // With ports of its own the directory is what is left to quarrel about.
    let (code, printed) = run_to_end(
        place
            .command("run")
            .args(OTHER_PORTS.iter().flat_map(|pair| ["--set", pair])),
    );
    assert_eq!(code, Some(1), "{printed}");
    assert!(
        printed.contains("is in use by another process (pid"),
        "{printed}"
    );
    // The first goes on as if nothing had been.
    send_grpc(daemon.grpc, request(0..1, 1)).await;
    until("the first still delivers", || sink.count() == 1).await;
    assert!(daemon.terminate().await.0.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_taken_port_is_named() {
    let sink = Sink::grpc();
    let place = Place::new(&Recipe::new(ERRORS, &[&sink]));
    for port in [place.grpc, place.http, place.metrics] {
        let taken = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let (code, printed) = run_to_end(&mut place.command("run"));
        drop(taken);
        assert_eq!(code, Some(1), "{printed}");
        assert!(printed.contains(&format!("127.0.0.1:{port}")), "{printed}");
    }
    // Nothing stays behind that would keep the next start from working.
    let mut daemon = place.start().await;
    assert!(daemon.terminate().await.0.success());
    assert!(
        !daemon.log().contains('\x1b'),
        "a log file has colours: {}",
        daemon.log()
    );
}

/// A trace must not begin in one partition and go on in another.
#[tokio::test(flavor = "multi_thread")]
async fn the_partition_count_changes_when_nothing_is_undecided() {
    let sink = Sink::grpc();
    let place = Place::new(&Recipe::new(ERRORS, &[&sink]).decision_wait(FOR_EVER));
    let seven = ["--set", "processors.tail_sampling.buffer.disk.partitions=7"];
    let mut daemon = place.start().await;
    send_grpc(daemon.grpc, request(0..1, 1)).await;
    assert!(daemon.terminate().await.0.success());
    let (code, printed) = run_to_end(place.command("run").args(seven));
    assert_eq!(code, Some(1), "{printed}");
    assert!(
        printed.contains("the log has 16 partitions and undecided traces"),
        "{printed}"
    );
    let place = place.set(&wait(1));
    let mut daemon = place.start().await;
    until("the trace is decided", || sink.count() == 1).await;
    assert!(daemon.terminate().await.0.success());
    let place = place.set(seven[1]);
    let mut daemon = place.start().await;
    send_grpc(daemon.grpc, request(10..11, 1)).await;
    until("the new partitions decide too", || sink.count() == 2).await;
    assert!(daemon.terminate().await.0.success());
}

#[test]
fn a_config_with_errors_is_not_started() {
    let recipe = Recipe::new("[{name: a, type: allways_sample}]", &[]).exporter("debug", "{}");
    let place = Place::new(&recipe);
    for subcommand in ["run", "validate"] {
        let (code, printed) = run_to_end(&mut place.command(subcommand));
        assert_eq!(code, Some(78), "{printed}");
        assert!(
            printed.contains("did you mean `always_sample`?"),
            "{printed}"
        );
    }
    assert!(!place.path().join("log").exists());
}

/// Scripts around a Collector look for this.
#[test]
fn where_it_stands_in_for_a_collector_it_is_refused_as_one() {
    let recipe = Recipe::new("[{name: a, type: allways_sample}]", &[]).exporter("debug", "{}");
    let place = Place::new(&recipe).environment("TAILWATER_COMPAT", "strict");
    let (code, printed) = run_to_end(&mut place.command("run"));
    assert_eq!(code, Some(1), "{printed}");
    assert!(printed.contains("Error: "), "{printed}");
    let gate = "--feature-gates=-processor.tailsamplingprocessor.recordpolicy,no.such";
    let recipe = Recipe::new(ALL, &[]).exporter("debug", "{}");
    let (code, printed) = run_to_end(Place::new(&recipe).command("run").arg(gate));
    assert_eq!(code, Some(78), "{printed}");
    assert!(
        printed.contains("unknown feature gate `no.such`"),
        "{printed}"
    );
}

#[test]
fn tells_its_version() {
    for flag in ["--version", "-v"] {
        let printed = Command::new(env!("CARGO_BIN_EXE_tailwater"))
            .arg(flag)
            .output()
            .unwrap();
        let expected = format!("tailwater version {}\n", env!("CARGO_PKG_VERSION"));
        assert_eq!(String::from_utf8_lossy(&printed.stdout), expected);
        assert!(printed.status.success());
    }
}
