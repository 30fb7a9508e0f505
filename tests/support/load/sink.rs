//! A backend that remembers which spans of which trace came, and how often: scanned, not decoded.

use super::ports;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tailwater::otlp::{AnyValue, SpanBytes, SpanHead, Visitor, scan};
use tokio::net::{TcpListener, TcpSocket};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What the sink does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Take,
    /// UNAVAILABLE.
    Fail,
}

/// What came of one trace.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Got {
    /// A bit for each of the first 128 spans.
    pub(crate) spans: u128,
    /// Spans, copies included.
    pub(crate) total: u64,
    /// Spans that were there already (of the first 128).
    pub(crate) copies: u64,
}

#[derive(Debug, Default)]
struct State {
    traces: Mutex<HashMap<u128, Got>>,
    spans: AtomicU64,
    copies: AtomicU64,
    requests: AtomicU64,
    failing: AtomicU64,
    broken: AtomicU64,
}

/// The sink; its server ends when it is dropped, what it knows stays.
#[derive(Debug)]
pub(crate) struct Sink {
    address: SocketAddr,
    state: Arc<State>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Sink {
    /// On a free port, which stays its own while it is dead.
    pub(crate) async fn start() -> Self {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, ports::free()));
        let listener = TcpListener::bind(address).await.unwrap();
        let mut sink = Self {
            address,
            state: Arc::default(),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        sink.serve(listener);
        sink
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn set(&self, mode: Mode) {
        self.state
            .failing
            .store(u64::from(mode == Mode::Fail), Ordering::Relaxed);
    }

    /// Closes the port and all connections.
    pub(crate) async fn die(&mut self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Opens the port again.
    pub(crate) fn rise(&mut self) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind(self.address).unwrap();
        self.serve(socket.listen(128).unwrap());
    }

    /// Spans that came, copies included.
    pub(crate) fn spans(&self) -> u64 {
        self.state.spans.load(Ordering::Relaxed)
    }

    /// Spans that came before (of the first 128 of a trace).
    pub(crate) fn copies(&self) -> u64 {
        self.state.copies.load(Ordering::Relaxed)
    }

    pub(crate) fn requests(&self) -> u64 {
        self.state.requests.load(Ordering::Relaxed)
    }

    /// Requests that are no OTLP.
    pub(crate) fn broken(&self) -> u64 {
        self.state.broken.load(Ordering::Relaxed)
    }

    pub(crate) fn got(&self, trace: [u8; 16]) -> Option<Got> {
        self.state
            .traces
            .lock()
            .get(&u128::from_be_bytes(trace))
            .copied()
    }

    /// All traces that came.
    pub(crate) fn traces(&self) -> HashMap<u128, Got> {
        self.state.traces.lock().clone()
    }

    fn serve(&mut self, listener: TcpListener) {
        (self.stop, self.tasks) = (CancellationToken::new(), TaskTracker::new());
        let (state, stop, tasks) = (self.state.clone(), self.stop.clone(), self.tasks.clone());
        self.tasks.spawn(async move {
            loop {
                let stream = tokio::select! {
                    accepted = listener.accept() => match accepted { Ok((stream, _)) => stream, Err(_) => continue },
                    () = stop.cancelled() => return,
                };
                let (state, stop) = (state.clone(), stop.clone());
                tasks.spawn(async move {
                    let service = service_fn(move |request| answer(state.clone(), request));
                    let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                        .initial_stream_window_size(4 << 20)
                        .initial_connection_window_size(16 << 20)
                        .max_frame_size(1 << 20)
                        .serve_connection(TokioIo::new(stream), service);
                    tokio::select! {
                        _ = connection => {}
                        () = stop.cancelled() => {}
                    }
                });
            }
        });
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

type Body = StreamBody<tokio_stream::Iter<std::vec::IntoIter<Result<Frame<Bytes>, Infallible>>>>;

async fn answer(
    state: Arc<State>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let body = request
        .into_body()
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes);
    state.requests.fetch_add(1, Ordering::Relaxed);
    let code = match body {
        _ if state.failing.load(Ordering::Relaxed) == 1 => "14",
        Ok(body) if state.take(&body) => "0",
        _ => {
            state.broken.fetch_add(1, Ordering::Relaxed);
            "3"
        }
    };
    let trailers = HeaderMap::from_iter([(
        "grpc-status".parse().unwrap(),
        HeaderValue::from_static(code),
    )]);
    let frames = vec![
        Ok(Frame::data(Bytes::from_static(&[0; 5]))),
        Ok(Frame::trailers(trailers)),
    ];
    let mut response = Response::new(StreamBody::new(tokio_stream::iter(frames)));
    response
        .headers_mut()
        .insert("content-type", HeaderValue::from_static("application/grpc"));
    Ok(response)
}

impl State {
    fn take(&self, body: &[u8]) -> bool {
        let mut seen = Seen::default();
        let sound = body
            .get(5..)
            .is_some_and(|message| scan(message, &mut seen).is_ok_and(|scan| scan.rejected == 0));
        if sound {
            let mut traces = self.traces.lock();
            let mut copies = 0;
            for (trace, span) in &seen.spans {
                let got = traces.entry(*trace).or_default();
                got.total += 1;
                // The span's number within its trace, as `Shape::span_id` puts it.
                let bit = 1_u128
                    .checked_shl((span.wrapping_sub(1) & 0xffff) as u32)
                    .unwrap_or(0);
                let copy = u64::from(got.spans & bit != 0);
                got.copies += copy;
                copies += copy;
                got.spans |= bit;
            }
            self.copies.fetch_add(copies, Ordering::Relaxed);
            self.spans
                .fetch_add(seen.spans.len() as u64, Ordering::Relaxed);
        }
        sound
    }
}

#[derive(Default)]
struct Seen {
    spans: Vec<(u128, u64)>,
}

impl Visitor for Seen {
    fn begin_resource(&mut self) {}
    fn resource_attribute(&mut self, _: &[u8], _: AnyValue<'_>) {}
    fn begin_span(&mut self) {}
    fn span_attribute(&mut self, _: &[u8], _: AnyValue<'_>) {}
    fn event_attribute(&mut self, _: &[u8], _: AnyValue<'_>) {}
    fn end_span(&mut self, head: &SpanHead, _: &SpanBytes<'_>) {
        self.spans.push((head.trace.0, head.span));
    }
}
