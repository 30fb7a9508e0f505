//! The exporters `otlp` (`otlp_grpc`) and `otlphttp` (`otlp_http`).

use super::component::ComponentId;
use super::delivery;
use super::endpoint;
use super::fields::Fields;
use super::item::Item;
use super::otlp_receiver::headers;
use super::redact;
use super::tls;
use crate::exporters::{
    Compression, ExporterKind, ExporterSettings, HttpEncoding, HttpTarget, KeepaliveSettings,
    OtlpGrpcSettings, OtlpHttpSettings, TlsClientSettings,
};

const AUTH: &str = "put the credentials into `headers`, or use `tls` certificates";
const BUFFERS: &str = "buffers are sized by the client";
const MIDDLEWARES: &str = "leave it out";

/// Decodes `otlp`.
pub(crate) fn decode_grpc(id: &ComponentId, item: &Item<'_>) -> Option<ExporterSettings> {
    let mut fields = item.fields()?;
    let endpoint = fields
        .require("endpoint", "`host:port` of an OTLP gRPC server")
        .and_then(|i| endpoint::grpc_target(&i));
    let mut grpc = OtlpGrpcSettings::new(endpoint.clone().unwrap_or_default());
    let tls = client_tls(&mut fields);
    let tls_is_good = tls.is_some();
    grpc.tls = tls.unwrap_or_default();
    grpc.headers = headers(&mut fields, "headers");
    if let Some(compression) = compression(&mut fields) {
        grpc.compression = compression;
    }
    if let Some(keepalive) = fields.get_or_null("keepalive") {
        grpc.keepalive = keepalive_of(&keepalive);
    }
    grpc.wait_for_ready = fields
        .boolean("wait_for_ready")
        .unwrap_or(grpc.wait_for_ready);
    grpc.authority = fields.string("authority").filter(|text| !text.is_empty());
    if let Some(balancer) = fields.get("balancer_name") {
        balancer.one_of(&[("round_robin", ()), ("pick_first", ()), ("", ())]);
    }
    fields.no_effect("read_buffer_size", BUFFERS);
    fields.no_effect("write_buffer_size", BUFFERS);
    fields.not_yet("auth", AUTH);
    fields.not_yet("middlewares", MIDDLEWARES);
    let settings = finish(id, ExporterKind::OtlpGrpc(grpc), &mut fields);
    endpoint.filter(|_| tls_is_good).map(|_| settings)
}

/// Decodes `otlphttp`.
pub(crate) fn decode_http(id: &ComponentId, item: &Item<'_>) -> Option<ExporterSettings> {
    let mut fields = item.fields()?;
    let target = target(&mut fields);
    let mut http = OtlpHttpSettings::new(target.clone().unwrap_or(HttpTarget::Base(String::new())));
    http.logs_endpoint = fields
        .get("logs_endpoint")
        .and_then(|item| endpoint::http_url(&item));
    http.metrics_endpoint = fields
        .get("metrics_endpoint")
        .and_then(|item| endpoint::http_url(&item));
    let tls = client_tls(&mut fields);
    let tls_is_good = tls.is_some();
    http.tls = tls.unwrap_or_default();
    http.headers = headers(&mut fields, "headers");
    if let Some(encoding) = fields.one_of(
        "encoding",
        &[("proto", HttpEncoding::Proto), ("json", HttpEncoding::Json)],
    ) {
        http.encoding = encoding;
    }
    if let Some(compression) = compression(&mut fields) {
        http.compression = compression;
    }
    if let Some(mut parameters) = fields.fields("compression_params") {
        let level = parameters.get("level").and_then(|item| item.i32());
        http.compression_level = level;
    }
    if let Some(time) = fields.duration("idle_conn_timeout") {
        http.idle_conn_timeout = time;
    }
    if let Some(n) = fields.u64("max_idle_conns_per_host").filter(|n| *n > 0) {
        http.max_idle_conns_per_host = usize::try_from(n).unwrap_or(http.max_idle_conns_per_host);
    }
    if fields.boolean("disable_keep_alives") == Some(true) {
        http.max_idle_conns_per_host = 0;
    }
    fields.no_effect("max_idle_conns", "set `max_idle_conns_per_host`");
    fields.no_effect("max_conns_per_host", "set `sending_queue.num_consumers`");
    fields.no_effect("read_buffer_size", BUFFERS);
    fields.no_effect("write_buffer_size", BUFFERS);
    fields.no_effect(
        "force_attempt_http2",
        "HTTP/2 is used where the server offers it",
    );
    fields.no_effect(
        "http2_read_idle_timeout",
        "the request's `timeout` ends a dead connection",
    );
    fields.no_effect(
        "http2_ping_timeout",
        "the request's `timeout` ends a dead connection",
    );
    fields.not_yet(
        "proxy_url",
        "leave it out and reach the backend without a proxy",
    );
    fields.not_yet("cookies", "leave it out");
    fields.not_yet("auth", AUTH);
    fields.not_yet("middlewares", MIDDLEWARES);
    let settings = finish(id, ExporterKind::OtlpHttp(http), &mut fields);
    target.filter(|_| tls_is_good).map(|_| settings)
}

/// The part that both have; to be called last but for unknown keys.
fn finish(id: &ComponentId, kind: ExporterKind, fields: &mut Fields<'_>) -> ExporterSettings {
    let mut settings = ExporterSettings::new(id.text.clone(), kind);
    settings.retry = delivery::retry(fields);
    settings.queue = delivery::queue(fields);
    settings.redact = redact::decode(fields);
    settings.timeout = delivery::timeout(fields, settings.timeout);
    settings
}

/// `endpoint`, or `traces_endpoint`, which wins.
fn target(fields: &mut Fields<'_>) -> Option<HttpTarget> {
    let base = fields.get("endpoint");
    let traces = fields.get("traces_endpoint");
    fields.no_effect("profiles_endpoint", "profiles are not sent");
    let base_is_set = base.is_some();
    let base = base
        .and_then(|item| endpoint::http_url(&item))
        .map(HttpTarget::Base);
    match traces {
        Some(item) => endpoint::http_url(&item).map(HttpTarget::Traces),
        None if base_is_set => base,
        None => {
            fields.require(
                "endpoint",
                "the URL of an OTLP HTTP server (or `traces_endpoint`)",
            );
            None
        }
    }
}

/// The client's `tls`; its defaults when there is none, `None` when it has errors.
fn client_tls(fields: &mut Fields<'_>) -> Option<TlsClientSettings> {
    fields
        .get("tls")
        .map_or(Some(TlsClientSettings::default()), |item| {
            tls::client(&item)
        })
}

fn compression(fields: &mut Fields<'_>) -> Option<Compression> {
    let item = fields.get("compression")?;
    let foreign = ["snappy", "x-snappy-framed", "zlib", "deflate", "lz4"];
    if let super::node::Value::Str(text) = &item.node.value
        && foreign.contains(&text.as_str())
    {
        item.error_help(
            "this compression is not supported yet: expected `gzip`, `zstd` or `none`",
            "use `zstd`",
        );
        return None;
    }
    let ours = [
        ("gzip", Compression::Gzip),
        ("zstd", Compression::Zstd),
        ("none", Compression::None),
        ("", Compression::None),
    ];
    item.one_of(&ours)
}

/// `keepalive`; an explicit null turns pings off, as in the Collector.
fn keepalive_of(item: &Item<'_>) -> Option<KeepaliveSettings> {
    if item.node.is_null() {
        return None;
    }
    let mut fields = item.fields()?;
    let time = fields.duration("time");
    let timeout = fields.duration("timeout");
    let permit_without_stream = fields.boolean("permit_without_stream").unwrap_or(false);
    // The Collector's (and gRPC's least) 10 s; gRPC's 20 s for the answer.
    let time = time
        .filter(|time| !time.is_zero())
        .unwrap_or(std::time::Duration::from_secs(10));
    let timeout = timeout
        .filter(|time| !time.is_zero())
        .unwrap_or(std::time::Duration::from_secs(10));
    Some(KeepaliveSettings {
        time,
        timeout,
        permit_without_stream,
    })
}
