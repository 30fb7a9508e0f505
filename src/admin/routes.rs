//! The pages: `/metrics`, `/healthz`, `/readyz`, and the `health_check` extension's.

use super::board::Board;
use super::health_check;
use super::openmetrics::Format;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::sync::Arc;

const PLAIN: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// On the metrics address.
pub(crate) fn metrics_routes(board: Arc<Board>) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .merge(probes())
        .with_state(board)
}

/// On the extension's address. Every other path is its page: the Collector's `path` may be any.
pub(crate) fn health_routes(board: Arc<Board>) -> Router {
    probes().fallback(get(collector_health)).with_state(board)
}

fn probes() -> Router<Arc<Board>> {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
}

async fn metrics(State(board): State<Arc<Board>>, headers: HeaderMap) -> Response {
    let Some(metrics) = board.metrics() else {
        return page(
            StatusCode::SERVICE_UNAVAILABLE,
            PLAIN,
            "starting or stopping\n".to_owned(),
        );
    };
    let accept = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok());
    let format = Format::accepted(accept.unwrap_or_default());
    // It may wait for a write to the log.
    match tokio::task::spawn_blocking(move || metrics.render(format)).await {
        Ok(text) => page(StatusCode::OK, format.content_type(), text),
        Err(_) => page(
            StatusCode::INTERNAL_SERVER_ERROR,
            PLAIN,
            "the page could not be made\n".to_owned(),
        ),
    }
}

/// The process lives: whoever answers has proved it.
async fn healthz() -> Response {
    page(StatusCode::OK, PLAIN, "ok\n".to_owned())
}

async fn readyz(State(board): State<Arc<Board>>) -> Response {
    match board.ready() {
        Ok(()) => page(StatusCode::OK, PLAIN, "ready\n".to_owned()),
        Err(reason) => page(
            StatusCode::SERVICE_UNAVAILABLE,
            PLAIN,
            format!("{reason}\n"),
        ),
    }
}

async fn collector_health(State(board): State<Arc<Board>>) -> Response {
    match board.ready() {
        Ok(()) => page(StatusCode::OK, JSON, health_check::body(Some(board.up()))),
        Err(_) => page(
            StatusCode::SERVICE_UNAVAILABLE,
            JSON,
            health_check::body(None),
        ),
    }
}

fn page(status: StatusCode, kind: &'static str, body: String) -> Response {
    (status, [(header::CONTENT_TYPE, kind)], body).into_response()
}
