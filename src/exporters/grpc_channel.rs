//! A channel that connects when it is first used, and again when the connection is gone.
//!
//! Invariant: nothing here touches the network; what can be wrong with the settings is found at once. TLS is ours (one
//! rustls config for gRPC and HTTP), so that tonic sees a plain stream.

use super::error::Problem;
use super::grpc_target::{GrpcTarget, Scheme};
use super::settings::OtlpGrpcSettings;
use super::tls;
use super::user_agent::user_agent;
use crate::client_tls::TlsClientSettings;
use http::Uri;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint};
use tower::{Service, service_fn};

/// grpc-go's `MinConnectTimeout`: a try to connect gets this long when calls have no limit, and never longer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// What grpc-go makes of a smaller `keepalive.time`: servers hang up on those who ask more often.
const LEAST_PING_INTERVAL: Duration = Duration::from_secs(10);
/// grpc-go's `keepalive.timeout` where it is zero.
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// All that a channel is made of; channels made of it do not share a connection.
#[derive(Debug, Clone)]
pub(crate) struct GrpcDialer {
    endpoint: Endpoint,
    dial: Dial,
}

#[derive(Debug, Clone)]
enum Dial {
    Tcp {
        connector: HttpConnector,
        target: Uri,
    },
    TcpTls {
        connector: HttpsConnector<HttpConnector>,
        target: Uri,
    },
    Unix {
        path: PathBuf,
    },
    UnixTls {
        path: PathBuf,
        wrap: Arc<rustls::ClientConfig>,
        name: rustls_pki_types::ServerName<'static>,
    },
}

impl GrpcDialer {
    pub(crate) fn new(settings: &OtlpGrpcSettings, timeout: Duration) -> Result<Self, Problem> {
        let target = GrpcTarget::parse(&settings.endpoint)?;
        let tls = wants_tls(&target, &settings.tls)
            .then(|| tls::client_config(&settings.tls))
            .transpose()?;
        let connect_timeout = if timeout.is_zero() {
            CONNECT_TIMEOUT
        } else {
            timeout.min(CONNECT_TIMEOUT)
        };
        let endpoint = endpoint(settings, &target, tls.is_some(), connect_timeout)?;
        Ok(Self {
            endpoint,
            dial: dial(target, &settings.tls, tls, connect_timeout)?,
        })
    }

    /// A channel of its own. Must be called within a tokio runtime.
    pub(crate) fn channel(&self) -> Channel {
        match self.dial.clone() {
            Dial::Tcp {
                mut connector,
                target,
            } => self
                .endpoint
                .connect_with_connector_lazy(service_fn(move |_: Uri| {
                    connector.call(target.clone())
                })),
            Dial::TcpTls {
                mut connector,
                target,
            } => self
                .endpoint
                .connect_with_connector_lazy(service_fn(move |_: Uri| {
                    connector.call(target.clone())
                })),
            Dial::Unix { path } => {
                self.endpoint
                    .connect_with_connector_lazy(service_fn(move |_: Uri| {
                        let path = path.clone();
                        async move { UnixStream::connect(path).await.map(TokioIo::new) }
                    }))
            }
            Dial::UnixTls { path, wrap, name } => {
                let tls = tokio_rustls::TlsConnector::from(wrap);
                self.endpoint
                    .connect_with_connector_lazy(service_fn(move |_: Uri| {
                        let (path, name, tls) = (path.clone(), name.clone(), tls.clone());
                        async move {
                            tls.connect(name, UnixStream::connect(path).await?)
                                .await
                                .map(TokioIo::new)
                        }
                    }))
            }
        }
    }
}

/// As the Collector: on, unless `insecure` stands without a CA; `https://` is always on. `http://` is off, where the
/// Collector would go on to speak TLS.
fn wants_tls(target: &GrpcTarget, tls: &TlsClientSettings) -> bool {
    match target {
        GrpcTarget::Tcp {
            scheme: Some(Scheme::Https),
            ..
        } => true,
        GrpcTarget::Tcp {
            scheme: Some(Scheme::Http),
            ..
        } => false,
        _ => !tls.insecure || tls.ca.is_some(),
    }
}

fn endpoint(
    settings: &OtlpGrpcSettings,
    target: &GrpcTarget,
    tls: bool,
    connect_timeout: Duration,
) -> Result<Endpoint, Problem> {
    let named = settings.tls.server_name_override.clone().filter(|_| tls);
    let authority = match (&settings.authority, named, target) {
        (Some(authority), _, _) => authority.clone(),
        (None, Some(name), _) => name,
        (None, None, GrpcTarget::Tcp { authority, .. }) => authority.clone(),
        (None, None, GrpcTarget::Unix(_)) => "localhost".to_owned(),
    };
    let scheme = if tls { "https" } else { "http" };
    let origin = uri(scheme, &authority, "authority")?;
    // The URI only has to be one: the connector knows where to go, and adds TLS itself.
    let mut endpoint = Endpoint::from(Uri::from_static("http://otlp"))
        .origin(origin)
        .connect_timeout(connect_timeout)
        .tcp_nodelay(true)
        .user_agent(user_agent())
        .map_err(|_| Problem::new("endpoint", "cannot be used"))?;
    if let Some(keepalive) = &settings.keepalive {
        let timeout = if keepalive.timeout.is_zero() {
            PING_TIMEOUT
        } else {
            keepalive.timeout
        };
        endpoint = endpoint
            .http2_keep_alive_interval(keepalive.time.max(LEAST_PING_INTERVAL))
            .keep_alive_timeout(timeout)
            .keep_alive_while_idle(keepalive.permit_without_stream);
    }
    Ok(endpoint)
}

fn dial(
    target: GrpcTarget,
    settings: &TlsClientSettings,
    tls: Option<rustls::ClientConfig>,
    connect_timeout: Duration,
) -> Result<Dial, Problem> {
    let name = tls::server_name(settings)?;
    match (target, tls) {
        (GrpcTarget::Unix(path), None) => Ok(Dial::Unix { path }),
        (GrpcTarget::Unix(path), Some(mut wrap)) => {
            wrap.alpn_protocols = vec![b"h2".to_vec()];
            let localhost =
                || rustls_pki_types::ServerName::from(rustls_pki_types::IpAddr::from(LOCALHOST));
            Ok(Dial::UnixTls {
                path,
                wrap: Arc::new(wrap),
                name: name.unwrap_or_else(localhost),
            })
        }
        (GrpcTarget::Tcp { authority, .. }, None) => Ok(Dial::Tcp {
            connector: http_connector(connect_timeout),
            target: uri("http", &authority, "endpoint")?,
        }),
        (GrpcTarget::Tcp { authority, .. }, Some(config)) => {
            let mut builder = HttpsConnectorBuilder::new()
                .with_tls_config(config)
                .https_only();
            if let Some(name) = name {
                builder = builder.with_server_name_resolver(FixedServerNameResolver::new(name));
            }
            let connector = builder
                .enable_http2()
                .wrap_connector(http_connector(connect_timeout));
            Ok(Dial::TcpTls {
                connector,
                target: uri("https", &authority, "endpoint")?,
            })
        }
    }
}

const LOCALHOST: std::net::IpAddr = std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

/// TCP to any scheme, each address of a name in turn.
pub(crate) fn http_connector(connect_timeout: Duration) -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(connect_timeout));
    connector
}

fn uri(scheme: &str, authority: &str, key: &'static str) -> Result<Uri, Problem> {
    Uri::builder()
        .scheme(scheme)
        .authority(authority)
        .path_and_query("/")
        .build()
        .map_err(|_| Problem::new(key, "is not host:port"))
}
