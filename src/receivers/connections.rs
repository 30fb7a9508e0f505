//! Accepts connections, serves HTTP on them, and drains them when the receiver stops.
//!
//! Invariants: every task runs on one tracker, so that nothing outlives [`Server::run`] but a `submit` that is stuck
//! past the drain time; a connection that stops sending is closed by a deadline of its own (TLS handshake, idle time).
//! hyper directly instead of tonic's or axum's server: those offer neither a lowest TLS version nor an idle time nor a
//! bound on draining, and both are this same hyper underneath.

use super::activity::{Activity, after};
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::rt::{Executor, Read, Write};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Pause after `accept` failed for want of files or memory: long enough for some to be freed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Longest TLS handshake; rustls needs two round trips.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Spawns hyper's HTTP/2 streams where they are waited for.
#[derive(Debug, Clone)]
pub(super) struct Tracked(pub(super) TaskTracker);

impl<F> Executor<F> for Tracked
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    fn execute(&self, future: F) {
        self.0.spawn(future);
    }
}

/// Answers requests.
pub(super) trait Handler: Send + Sync + 'static {
    /// The body of an answer.
    type Answer: Body<Data = Bytes, Error = Infallible> + Send + 'static;
    /// Answers one request; errors are answers too.
    fn handle(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<Self::Answer>> + Send;
}

/// Ages of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ConnectionLimits {
    /// Closed after this long (up to twice) without a request.
    pub(super) idle: Option<Duration>,
    /// Closed at this age, requests in flight are finished.
    pub(super) age: Option<Duration>,
    /// How long those may take.
    pub(super) age_grace: Option<Duration>,
}

/// One listening port.
pub(super) struct Server<H> {
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) http: Builder<Tracked>,
    pub(super) handler: Arc<H>,
    pub(super) limits: ConnectionLimits,
    pub(super) tasks: TaskTracker,
    pub(super) drain: Duration,
}

/// What a connection hears from its server.
#[derive(Debug, Clone)]
struct Signals {
    /// Finish what is in flight.
    stop: CancellationToken,
    /// Close now.
    abort: CancellationToken,
}

impl<H: Handler> Server<H> {
    /// Serves until `shutdown`, then stops accepting, finishes requests in flight and returns, at the latest after the
    /// drain time.
    pub(super) async fn run(self, listener: TcpListener, shutdown: CancellationToken) {
        let this = Arc::new(self);
        let signals = Signals {
            stop: shutdown,
            abort: CancellationToken::new(),
        };
        loop {
            let accepted = tokio::select! {
                biased;
                () = signals.stop.cancelled() => break,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    this.tasks
                        .spawn(this.clone().connection(stream, signals.clone()));
                }
                Err(error) if of_one_connection(&error) => {}
                Err(error) => {
                    tracing::warn!(%error, "cannot accept connections");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        drop(listener);
        this.tasks.close();
        if timeout(this.drain, this.tasks.wait()).await.is_err() {
            tracing::warn!(
                tasks = this.tasks.len(),
                "requests still in flight after the drain time, closing"
            );
            signals.abort.cancel();
            // Connections go at once; only a stuck `submit` is left behind.
            let _ = timeout(ACCEPT_PAUSE, this.tasks.wait()).await;
        }
    }

    async fn connection(self: Arc<Self>, stream: TcpStream, signals: Signals) {
        // Answers are small and latency is the sender's throughput; a failure only costs speed.
        let _ = stream.set_nodelay(true);
        match &self.tls {
            None => self.drive(TokioIo::new(stream), &signals).await,
            Some(acceptor) => {
                let handshake = tokio::select! {
                    () = signals.stop.cancelled() => return,
                    handshake = timeout(HANDSHAKE, acceptor.accept(stream)) => handshake,
                };
                if let Ok(Ok(stream)) = handshake {
                    self.drive(TokioIo::new(stream), &signals).await;
                }
            }
        }
    }

    async fn drive<I: Read + Write + Unpin + Send + 'static>(&self, io: I, signals: &Signals) {
        let activity = Arc::new(Activity::default());
        let service = service_fn(|request| {
            let active = Activity::begin(&activity);
            let answer = self.handler.clone().handle(request);
            async move {
                let answer = answer.await;
                drop(active);
                Ok::<_, Infallible>(answer)
            }
        });
        let mut connection = pin!(self.http.serve_connection(io, service));
        let stopping = tokio::select! {
            biased;
            _ = connection.as_mut() => return,
            () = signals.stop.cancelled() => true,
            () = after(self.limits.age) => false,
            () = activity.idle_for(self.limits.idle) => false,
        };
        connection.as_mut().graceful_shutdown();
        tokio::select! {
            biased;
            _ = connection.as_mut() => {}
            () = signals.abort.cancelled() => {}
            () = after(self.limits.age_grace), if !stopping => {}
        }
    }
}

/// Errors of `accept` that concern the connection, not the listener.
fn of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted
    )
}
