//! A backend on the local host that writes down which requests come, and at which second of the driven clock.

use axum::Router;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use parking_lot::Mutex;
use serde_json::Value;
use std::sync::Arc;
use tailwater::clock::{Clock, ManualClock, SECOND};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

/// Requests and the second of their arrival.
type Arrivals = Arc<Mutex<Vec<(u64, Value)>>>;

#[derive(Debug)]
pub(crate) struct Sink {
    pub(crate) port: u16,
    arrivals: Arrivals,
    _serving: AbortOnDropHandle<()>,
}

impl Sink {
    /// `zero` is the clock's time at second 0.
    pub(crate) async fn start(clock: Arc<ManualClock>, zero: u64) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let arrivals = Arrivals::default();
        let taken = arrivals.clone();
        let take = async move |body: Bytes| {
            let at = (clock.unix() - zero) / SECOND;
            taken
                .lock()
                .push((at, serde_json::from_slice(&body).unwrap()));
            ([(CONTENT_TYPE, "application/json")], "{}").into_response()
        };
        let routes = Router::new().fallback(take);
        #[allow(clippy::disallowed_methods, reason = "aborted with the sink")]
        let serving = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self {
            port,
            arrivals,
            _serving: AbortOnDropHandle::new(serving),
        }
    }

    pub(crate) fn arrivals(&self) -> Vec<(u64, Value)> {
        self.arrivals.lock().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.arrivals.lock().len()
    }
}
