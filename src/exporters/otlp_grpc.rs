//! The `otlp` exporter: OTLP over gRPC, the request passed through as bytes.
//!
//! A channel lives as long as the exporter and reconnects by itself. A connection that swallows calls without an
//! answer (a firewall that forgot it) would not be noticed for a quarter of an hour, so that it is left after
//! [`TIMEOUTS_BEFORE_NEW_CONNECTION`] tries.

use super::connection;
use super::error::Problem;
use super::grpc_channel::GrpcDialer;
use super::grpc_guard::Guarded;
use super::grpc_status;
use super::raw_codec::RawCodec;
use super::response;
use super::settings::{Compression, Headers, OtlpGrpcSettings};
use super::transport::{Outgoing, SendError, Sending, Sent, Transport};
use crate::otlp::Telemetry;
use bytes::Bytes;
use http::uri::PathAndQuery;
use parking_lot::RwLock;
use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tonic::client::Grpc;
use tonic::codec::CompressionEncoding;
use tonic::metadata::{
    AsciiMetadataKey, AsciiMetadataValue, BinaryMetadataKey, BinaryMetadataValue, MetadataMap,
};
use tonic::{ConnectError, Request, Status, TimeoutExpired};

const EXPORT_TRACES: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
const EXPORT_METRICS: &str = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export";
const EXPORT_LOGS: &str = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";

/// Two slow answers may be chance.
const TIMEOUTS_BEFORE_NEW_CONNECTION: u32 = 3;
/// `wait_for_ready`: pause between tries to connect.
const CONNECT_PAUSE: Duration = Duration::from_millis(100);

/// OTLP/gRPC to one endpoint.
pub(crate) struct OtlpGrpc {
    dialer: GrpcDialer,
    channel: RwLock<Guarded>,
    timeouts: AtomicU32,
    metadata: MetadataMap,
    compression: Option<CompressionEncoding>,
    timeout: Duration,
    wait_for_ready: bool,
}

impl OtlpGrpc {
    /// Checks the settings; connects with the first batch. Must be called within a tokio runtime.
    pub(crate) fn new(settings: &OtlpGrpcSettings, timeout: Duration) -> Result<Self, Problem> {
        let dialer = GrpcDialer::new(settings, timeout)?;
        Ok(Self {
            channel: RwLock::new(Guarded(dialer.channel())),
            dialer,
            timeouts: AtomicU32::new(0),
            metadata: metadata(&settings.headers)?,
            compression: match settings.compression {
                Compression::None => None,
                Compression::Gzip => Some(CompressionEncoding::Gzip),
                Compression::Zstd => Some(CompressionEncoding::Zstd),
            },
            timeout,
            wait_for_ready: settings.wait_for_ready,
        })
    }

    async fn within_timeout(&self, out: Outgoing) -> Result<Sent, SendError> {
        if self.timeout.is_zero() {
            return self.until_connected(&out).await;
        }
        // tonic keeps the limit of one call as well; whichever comes first.
        match tokio::time::timeout(self.timeout, self.until_connected(&out)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(self.no_answer()),
        }
    }

    async fn until_connected(&self, out: &Outgoing) -> Result<Sent, SendError> {
        loop {
            match self.call(out).await {
                Ok(answer) => {
                    self.timeouts.store(0, Ordering::Relaxed);
                    return Ok(response::from_proto(&answer));
                }
                Err(status) if has::<TimeoutExpired>(&status) => return Err(self.no_answer()),
                Err(status) if self.wait_for_ready && has::<ConnectError>(&status) => {
                    tokio::time::sleep(CONNECT_PAUSE).await;
                }
                Err(status) => {
                    self.timeouts.store(0, Ordering::Relaxed);
                    return Err(grpc_status::classify(&status));
                }
            }
        }
    }

    async fn call(&self, out: &Outgoing) -> Result<Bytes, Status> {
        let channel = self.channel.read().clone();
        let mut client = Grpc::new(channel)
            .accept_compressed(CompressionEncoding::Gzip)
            .accept_compressed(CompressionEncoding::Zstd);
        if let Some(encoding) = self.compression {
            client = client.send_compressed(encoding);
        }
        client
            .ready()
            .await
            .map_err(|error| Status::from_error(error.into()))?;
        let mut request = Request::new(out.request.clone());
        *request.metadata_mut() = self.metadata.clone();
        if !self.timeout.is_zero() {
            request.set_timeout(self.timeout);
        }
        let method = PathAndQuery::from_static(match out.telemetry {
            Telemetry::Traces => EXPORT_TRACES,
            Telemetry::Logs => EXPORT_LOGS,
            Telemetry::Metrics => EXPORT_METRICS,
        });
        let answer = client.unary(request, method, RawCodec).await?;
        Ok(answer.into_inner())
    }

    fn no_answer(&self) -> SendError {
        if self.timeouts.fetch_add(1, Ordering::Relaxed) + 1 >= TIMEOUTS_BEFORE_NEW_CONNECTION {
            self.timeouts.store(0, Ordering::Relaxed);
            *self.channel.write() = Guarded(self.dialer.channel());
        }
        SendError::retry("gRPC: no answer in time")
    }
}

impl Transport for OtlpGrpc {
    fn send(&self, out: Outgoing) -> Sending<'_> {
        Box::pin(self.within_timeout(out))
    }
}

/// Not the metadata: it holds credentials.
impl fmt::Debug for OtlpGrpc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtlpGrpc")
            .field("compression", &self.compression)
            .finish_non_exhaustive()
    }
}

/// Whether our own client failed for this reason.
fn has<E: Error + 'static>(status: &Status) -> bool {
    status
        .source()
        .is_some_and(|source| connection::links(source).any(|link| link.is::<E>()))
}

/// Header names are lower-cased, as gRPC wants them; the value of a `-bin` name is sent as base64, as grpc-go does.
fn metadata(headers: &Headers) -> Result<MetadataMap, Problem> {
    let mut map = MetadataMap::with_capacity(headers.len());
    for (name, value) in headers {
        let lower = name.to_ascii_lowercase();
        let bad_name = || {
            Problem::new(
                "headers",
                format!("`{name}` is not a name that gRPC can send"),
            )
        };
        if lower.starts_with("grpc-") {
            return Err(Problem::new(
                "headers",
                format!("`{name}`: names in grpc- belong to gRPC itself"),
            ));
        }
        if lower.ends_with("-bin") {
            let key: BinaryMetadataKey = lower.parse().map_err(|_| bad_name())?;
            let mut value = BinaryMetadataValue::from_bytes(value.reveal().as_bytes());
            value.set_sensitive(true);
            map.append_bin(key, value);
        } else {
            let key: AsciiMetadataKey = lower.parse().map_err(|_| bad_name())?;
            let mut value = AsciiMetadataValue::try_from(value.reveal()).map_err(|_| {
                Problem::new(
                    "headers",
                    format!("the value of `{name}` has a character that gRPC cannot send"),
                )
            })?;
            value.set_sensitive(true);
            map.append(key, value);
        }
    }
    Ok(map)
}
