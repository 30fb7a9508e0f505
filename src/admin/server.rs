//! Serves the pages on listeners that are bound already.
//!
//! hyper drives axum's routes: `axum::serve` would spawn connections that nobody waits for and that never time out.
//! Invariant: every task is on one tracker, and every connection has an end.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Connections at once on one address: scrapers and probes are few, and files are for the receivers.
const CONNECTIONS_MAX: usize = 64;
/// A request's headers are here by then; also how long a connection may idle. hyper's own default.
const HEADERS: Duration = Duration::from_secs(30);
/// No connection gets older, so that a reader that stopped reading gives its place back. Scrapers connect anew.
const AGE_MAX: Duration = Duration::from_secs(300);
/// What a request in flight has at stop; a page takes milliseconds.
const GRACE: Duration = Duration::from_secs(1);
/// After `accept` failed for want of files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The admin pages. Ends its tasks when dropped.
#[derive(Debug, Default)]
pub(crate) struct Server {
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Server {
    /// Serves `routes` on `listener` until it is stopped.
    pub(crate) fn serve(&self, listener: TcpListener, routes: Router) {
        let connections = Connections {
            routes,
            tasks: self.tasks.clone(),
            stop: self.stop.clone(),
        };
        self.tasks.spawn(connections.accept(listener));
    }

    /// Stops accepting and finishes the requests in flight; bounded.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

#[derive(Clone)]
struct Connections {
    routes: Router,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Connections {
    async fn accept(self, listener: TcpListener) {
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        loop {
            let accepted = tokio::select! {
                () = self.stop.cancelled() => return,
                accepted = next(&listener, &places) => accepted,
            };
            match accepted {
                Ok((stream, place)) => {
                    drop(self.tasks.spawn(self.clone().connection(stream, place)))
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept connections for metrics and health");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    async fn connection(self, stream: TcpStream, _place: OwnedSemaphorePermit) {
        let service = TowerToHyperService::new(self.routes);
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEADERS);
        let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
        // Errors are the other side's: it went away, or did not speak HTTP.
        tokio::select! {
            _ = connection.as_mut() => return,
            () = self.stop.cancelled() => {}
            () = sleep(AGE_MAX) => {}
        }
        connection.as_mut().graceful_shutdown();
        drop(timeout(GRACE, connection).await);
    }
}

async fn next(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let place = places
        .clone()
        .acquire_owned()
        .await
        .map_err(io::Error::other)?;
    Ok((listener.accept().await?.0, place))
}

#[cfg(test)]
mod tests {
    use super::super::board::Board;
    use super::super::observe::Observe;
    use super::super::routes::{health_routes, metrics_routes};
    use super::*;
    use crate::clock::{ManualClock, SECOND};
    use parking_lot::Mutex;
    use std::net::SocketAddr;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[derive(Clone)]
    struct Fixed(Arc<Mutex<Result<(), String>>>);

    impl Observe for Fixed {
        fn ready(&self) -> Result<(), String> {
            self.0.lock().clone()
        }
    }

    async fn get(address: SocketAddr, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
    }

    async fn start() -> (Server, Fixed, SocketAddr, SocketAddr, Arc<ManualClock>) {
        let state = Fixed(Arc::new(Mutex::new(Err("starting".to_owned()))));
        let clock = Arc::new(ManualClock::at(1_700_000_000 * SECOND));
        let board = Arc::new(Board::new(Box::new(state.clone()), clock.clone()));
        let server = Server::default();
        let (one, two) = (listener().await, listener().await);
        let addresses = (one.local_addr().unwrap(), two.local_addr().unwrap());
        server.serve(one, metrics_routes(board.clone()));
        server.serve(two, health_routes(board));
        (server, state, addresses.0, addresses.1, clock)
    }

    async fn listener() -> TcpListener {
        TcpListener::bind("127.0.0.1:0").await.unwrap()
    }

    #[tokio::test]
    async fn pages_follow_the_state() {
        let (server, state, metrics, health, clock) = start().await;
        let check = async |address, path: &str, status, body: &str| {
            assert_eq!(
                get(address, path).await,
                (status, body.to_owned()),
                "{path}"
            );
        };
        let away =
            r#"{"status":"Server not available","upSince":"0001-01-01T00:00:00Z","uptime":""}"#;
        check(metrics, "/metrics", 503, "starting or stopping\n").await;
        check(metrics, "/readyz", 503, "starting\n").await;
        check(metrics, "/healthz", 200, "ok\n").await;
        check(health, "/", 503, away).await;
        *state.0.lock() = Ok(());
        clock.advance(90 * SECOND);
        let here =
            r#"{"status":"Server available","upSince":"2023-11-14T22:13:20Z","uptime":"1m30s"}"#;
        check(metrics, "/readyz", 200, "ready\n").await;
        check(health, "/readyz", 200, "ready\n").await;
        check(health, "/", 200, here).await;
        check(health, "/any/path", 200, here).await;
        assert_eq!(get(metrics, "/").await.0, 404);
        server.stop().await;
        assert!(
            TcpStream::connect(metrics).await.is_err() && TcpStream::connect(health).await.is_err()
        );
    }

    #[tokio::test]
    async fn a_connection_that_says_nothing_does_not_hold_up_the_stop() {
        let (server, _, address, ..) = start().await;
        let mut silent = TcpStream::connect(address).await.unwrap();
        let mut half = TcpStream::connect(address).await.unwrap();
        half.write_all(b"GET /metrics HTT").await.unwrap();
        get(address, "/healthz").await;
        timeout(GRACE * 30, server.stop()).await.unwrap();
        let mut rest = Vec::new();
        let _ = silent.read_to_end(&mut rest).await;
        assert!(rest.is_empty());
    }
}
