//! A hyper server (HTTP/1.1 and HTTP/2) that answers by a script, with a runtime of its own so that it can be killed.

use super::grpc_server::run;
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, Version};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

type Body = BoxBody<Bytes, Infallible>;

/// What a server does with its next request; 200 without a body when the script is over.
pub(super) enum Reply {
    With {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: Vec<u8>,
    },
    Trailers(Vec<(&'static str, &'static str)>),
    Hang,
}

impl Reply {
    pub(super) fn status(status: u16) -> Self {
        Self::With {
            status,
            headers: Vec::new(),
            body: super::spans::CANARY.into(),
        }
    }
}

/// A request as it came.
#[derive(Clone)]
pub(super) struct Received {
    pub(super) path: String,
    pub(super) version: Version,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// Which connection it came on, counted from 1.
    pub(super) connection: usize,
}

#[derive(Clone, Default)]
pub(super) struct Script {
    replies: Arc<Mutex<VecDeque<Reply>>>,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Script {
    pub(super) fn then(&self, reply: Reply) {
        self.replies.lock().push_back(reply);
    }

    pub(super) fn received(&self) -> Vec<Received> {
        self.received.lock().clone()
    }

    async fn answer(
        self,
        request: Request<Incoming>,
        connection: usize,
    ) -> Result<Response<Body>, Infallible> {
        let (head, body) = request.into_parts();
        let Ok(body) = body.collect().await else {
            return Ok(Response::new(empty()));
        };
        self.received.lock().push(Received {
            path: head.uri.path().to_owned(),
            version: head.version,
            headers: head.headers,
            body: body.to_bytes(),
            connection,
        });
        let reply = self.replies.lock().pop_front();
        Ok(match reply {
            None => Response::new(empty()),
            Some(Reply::Hang) => std::future::pending().await,
            Some(Reply::With {
                status,
                headers,
                body,
            }) => {
                let mut response = Response::new(Full::new(Bytes::from(body)).boxed());
                *response.status_mut() = StatusCode::from_u16(status).unwrap();
                for (name, value) in headers {
                    response.headers_mut().append(name, value.parse().unwrap());
                }
                response
            }
            Some(Reply::Trailers(pairs)) => {
                let trailers = pairs
                    .into_iter()
                    .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
                let frame = Ok(Frame::trailers(trailers.collect()));
                let mut response =
                    Response::new(StreamBody::new(tokio_stream::once(frame)).boxed());
                response
                    .headers_mut()
                    .insert("content-type", "application/grpc".parse().unwrap());
                response
            }
        })
    }
}

fn empty() -> Body {
    Full::new(Bytes::new()).boxed()
}

/// A running server.
pub(super) struct HttpServer {
    pub(super) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl HttpServer {
    pub(super) fn start(script: &Script) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), script, None)
    }

    pub(super) fn start_at(
        address: SocketAddr,
        script: &Script,
        tls: Option<rustls::ServerConfig>,
    ) -> Self {
        let listener = std::net::TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        let acceptor = tls.map(|config| tokio_rustls::TlsAcceptor::from(Arc::new(config)));
        let (stop, thread) = run(serve(listener, script.clone(), acceptor));
        Self {
            address,
            stop: Some(stop),
            thread: Some(thread),
        }
    }
}

impl Drop for HttpServer {
    /// Kills it: its runtime goes, and every connection with it.
    fn drop(&mut self) {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

async fn serve(
    listener: std::net::TcpListener,
    script: Script,
    tls: Option<tokio_rustls::TlsAcceptor>,
) {
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    let mut connections = JoinSet::new();
    for number in 1.. {
        let (stream, _) = listener.accept().await.unwrap();
        let (script, tls) = (script.clone(), tls.clone());
        connections.spawn(async move {
            let service =
                hyper::service::service_fn(move |request| script.clone().answer(request, number));
            let builder = auto::Builder::new(TokioExecutor::new());
            // A client that goes away, or whom TLS refuses, is what some tests want.
            let _ = match tls {
                None => {
                    builder
                        .serve_connection(TokioIo::new(stream), service)
                        .await
                }
                Some(tls) => match tls.accept(stream).await {
                    Ok(stream) => {
                        builder
                            .serve_connection(TokioIo::new(stream), service)
                            .await
                    }
                    Err(_) => Ok(()),
                },
            };
        });
    }
}
