//! A daemon's page under traffic: OpenMetrics with exemplars of kept traces, and all that the panels ask for.

use super::calls;
use super::known::metrics_of;
use super::live::set;
use super::load::Sink;
use super::panels::{directory, table};
use super::support::daemon::Place;
use super::support::sender::send_grpc;
use super::support::wait::until_async;
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

const OPENMETRICS: &str = "application/openmetrics-text;version=1.0.0";
const TRACES: u64 = 60;

pub(crate) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_nanos() as u64
}

/// Names of the samples on a page.
fn samples(page: &str) -> BTreeSet<&str> {
    page.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(['{', ' ']).next().unwrap())
        .collect()
}

/// Trace ids of the exemplars.
fn exemplars(page: &str) -> BTreeSet<&str> {
    page.lines()
        .filter_map(|line| Some(line.rsplit_once("# {trace_id=\"")?.1.split_once('"')?.0))
        .collect()
}

/// GET with an `Accept` header: status, content type and body.
async fn get_as(port: u16, path: &str, accept: &str) -> Option<(StatusCode, String, String)> {
    let request = Request::get(format!("http://127.0.0.1:{port}{path}")).header("accept", accept);
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let response = client
        .request(request.body(Full::default()).unwrap())
        .await
        .ok()?;
    let (status, kind) = (response.status(), response.headers().get("content-type"));
    let kind = kind
        .map(|kind| kind.to_str().unwrap().to_owned())
        .unwrap_or_default();
    let body = response.into_body().collect().await.ok()?.to_bytes();
    Some((status, kind, String::from_utf8(body.to_vec()).unwrap()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scrape_has_what_panels_ask_for_and_exemplars_of_kept_traces() {
    let sink = Sink::start().await;
    let place = Place::with_file(&directory().join("load.yaml"), |place| {
        set(place, &sink.address().to_string())
    });
    let daemon = place.start().await;
    for number in 0..TRACES {
        send_grpc(daemon.grpc, calls::trace(number, now())).await;
    }
    let page = async |accept| get_as(daemon.metrics, "/metrics", accept).await.unwrap().2;
    let all_are_decided = async || {
        let page = page("").await;
        ["undecided_traces", "worker_unread_bytes"]
            .iter()
            .all(|name| page.contains(&format!("tailwater_{name}{{pipeline=\"traces\"}} 0\n")))
    };
    until_async("all are decided", all_are_decided).await;
    // A late span for the families that count them.
    send_grpc(daemon.grpc, calls::trace(0, now())).await;

    let wanted = table().dashboards;
    let wanted = wanted.iter().flat_map(|dashboard| dashboard.panels());
    let wanted: BTreeSet<String> = wanted
        .flat_map(|panel| &panel.queries)
        .flat_map(|query| metrics_of(&query.asked()))
        .collect();
    let mut text = String::new();
    for name in wanted {
        until_async(&format!("{name} is in the scrape"), async || {
            text = page("").await;
            samples(&text).contains(name.as_str())
        })
        .await;
    }
    assert!(
        exemplars(&text).is_empty() && !text.contains("# EOF"),
        "{text}"
    );

    let (_, kind, text) = get_as(daemon.metrics, "/metrics", OPENMETRICS)
        .await
        .unwrap();
    assert_eq!(
        kind,
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    );
    assert!(text.ends_with("\n# EOF\n") && !text.contains("\n\n"));
    let exemplars: BTreeSet<u128> = exemplars(&text)
        .into_iter()
        .map(|id| u128::from_str_radix(id, 16).unwrap())
        .collect();
    let failed = (0..TRACES).filter(|number| calls::fails(*number));
    let failed: BTreeSet<u128> = failed
        .map(|number| u128::from_be_bytes(calls::id(number)))
        .collect();
    assert!(!exemplars.is_disjoint(&failed), "{text}");
    until_async("all of them have come out", async || {
        exemplars
            .iter()
            .all(|id| sink.got(id.to_be_bytes()).is_some())
    })
    .await;
}
