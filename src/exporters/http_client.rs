//! A pool of connections to one HTTP server: HTTP/1.1, or HTTP/2 where TLS agrees on it.

use super::error::Problem;
use super::grpc_channel::http_connector;
use super::settings::OtlpHttpSettings;
use super::tls;
use bytes::Bytes;
use http::{Request, Uri};
use http_body_util::Full;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Builder, Client, ResponseFuture};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::time::Duration;

/// A try to connect gets this long, as in Go's default transport.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// An HTTP/2 connection that stays silent so long under an open request is asked, and left when it does not answer
/// within as long again; one that a firewall forgot would otherwise swallow requests for a quarter of an hour.
const PING_AFTER: Duration = Duration::from_secs(10);

/// Plain or secure, by the scheme.
#[derive(Debug, Clone)]
pub(crate) enum HttpClient {
    Plain(Client<HttpConnector, Full<Bytes>>),
    Tls(Client<HttpsConnector<HttpConnector>, Full<Bytes>>),
}

impl HttpClient {
    /// A client for `url`; connects when it is first used.
    pub(crate) fn new(settings: &OtlpHttpSettings, url: &Uri) -> Result<Self, Problem> {
        let pool = pool(settings);
        if url.scheme() != Some(&http::uri::Scheme::HTTPS) {
            return Ok(Self::Plain(pool.build(http_connector(CONNECT_TIMEOUT))));
        }
        let config = tls::client_config(&settings.tls)?;
        let mut builder = HttpsConnectorBuilder::new()
            .with_tls_config(config)
            .https_only();
        if let Some(name) = tls::server_name(&settings.tls)? {
            builder = builder.with_server_name_resolver(FixedServerNameResolver::new(name));
        }
        let connector = builder
            .enable_all_versions()
            .wrap_connector(http_connector(CONNECT_TIMEOUT));
        Ok(Self::Tls(pool.build(connector)))
    }

    pub(crate) fn request(&self, request: Request<Full<Bytes>>) -> ResponseFuture {
        match self {
            Self::Plain(client) => client.request(request),
            Self::Tls(client) => client.request(request),
        }
    }
}

fn pool(settings: &OtlpHttpSettings) -> Builder {
    let idle = Some(settings.idle_conn_timeout).filter(|idle| !idle.is_zero());
    let mut pool = Client::builder(TokioExecutor::new());
    pool.timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(idle)
        .pool_max_idle_per_host(settings.max_idle_conns_per_host)
        .http2_keep_alive_interval(PING_AFTER)
        .http2_keep_alive_timeout(PING_AFTER);
    pool
}
