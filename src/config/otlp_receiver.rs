//! The `otlp` receiver: `protocols.grpc` and `protocols.http`.

use std::time::Duration;

use super::component::ComponentId;
use super::endpoint;
use super::fields::Fields;
use super::item::Item;
use super::node::{Entry, Place};
use super::redact;
use super::settings::ReceiverSettings;
use super::tls;
use crate::receivers::{
    ContentEncoding, CorsSettings, GrpcKeepalive, OtlpGrpcSettings, OtlpHttpSettings,
};
use crate::secret::Secret;

const AUTH: &str = "use `tls` with `client_ca_file`, or authenticate in a proxy in front";
const METADATA: &str = "request metadata is not passed on";
const BUFFERS: &str = "buffers are sized by the server";

/// Decodes one receiver.
pub(crate) fn decode(id: &ComponentId, item: &Item<'_>) -> Option<ReceiverSettings> {
    let mut fields = item.fields()?;
    let protocols = fields.require("protocols", "a mapping with `grpc`, `http` or both")?;
    let mut protocols = protocols.fields()?;
    let grpc = protocols.get_or_null("grpc");
    let http = protocols.get_or_null("http");
    protocols.not_yet("arrow", "use `grpc`");
    if grpc.is_none() && http.is_none() {
        protocols
            .item()
            .error("no protocol: expected `grpc`, `http` or both (a key without a value means its defaults)");
    }
    let redact = redact::decode(&mut fields);
    let wanted = (grpc.is_some(), http.is_some());
    let grpc = grpc.and_then(|item| decode_grpc(&item));
    let http = http.and_then(|item| decode_http(&item));
    if wanted != (grpc.is_some(), http.is_some()) {
        return None;
    }
    Some(ReceiverSettings {
        id: id.text.clone(),
        grpc,
        http,
        redact,
        kafka: None,
    })
}

fn address(fields: &mut Fields<'_>, default: &str) -> Option<String> {
    match fields.get("endpoint") {
        Some(item) => endpoint::listen(&item),
        None => Some(default.to_owned()),
    }
}

/// `transport` is `tcp` unless set; sockets in the file system are not listened on.
fn transport(fields: &mut Fields<'_>) {
    if let Some(item) = fields.get("transport") {
        item.one_of(&[("tcp", ()), ("tcp4", ()), ("tcp6", ())]);
    }
}

fn decode_grpc(item: &Item<'_>) -> Option<OtlpGrpcSettings> {
    let defaults = OtlpGrpcSettings::default();
    let mut fields = item.fields()?;
    let endpoint = address(&mut fields, &defaults.endpoint);
    transport(&mut fields);
    let tls_item = fields.get("tls");
    let tls = tls_item.as_ref().and_then(tls::server);
    // 4095 MiB: what the length of a gRPC message can say.
    let mib = fields
        .get("max_recv_msg_size_mib")
        .map_or(Some(0), |item| item.u64_in(0, 4095));
    let streams = fields
        .get("max_concurrent_streams")
        .and_then(|item| item.u64_in(0, u32::MAX.into()));
    let keepalive = fields
        .fields("keepalive")
        .map(keepalive)
        .unwrap_or_default();
    fields.no_effect("read_buffer_size", BUFFERS);
    fields.no_effect("write_buffer_size", BUFFERS);
    fields.no_effect("include_metadata", METADATA);
    fields.not_yet("auth", AUTH);
    fields.not_yet("middlewares", "leave it out");
    fields.no_effect("dialer", "it is for clients");
    if tls_item.is_some() && tls.is_none() {
        return None;
    }
    Some(OtlpGrpcSettings {
        endpoint: endpoint?,
        tls,
        max_recv_msg_size: match mib? {
            0 => defaults.max_recv_msg_size,
            mib => mib << 20,
        },
        max_concurrent_streams: streams
            .and_then(|n| u32::try_from(n).ok())
            .filter(|n| *n > 0)
            .unwrap_or(defaults.max_concurrent_streams),
        keepalive,
        ..defaults
    })
}

fn keepalive(mut fields: Fields<'_>) -> GrpcKeepalive {
    let parameters = fields.fields("server_parameters").map(|mut fields| {
        let mut time = |key| fields.duration(key).filter(|time| !time.is_zero());
        let defaults = GrpcKeepalive::default();
        GrpcKeepalive {
            max_connection_idle: time("max_connection_idle"),
            max_connection_age: time("max_connection_age"),
            max_connection_age_grace: time("max_connection_age_grace"),
            time: time("time").unwrap_or(defaults.time),
            timeout: time("timeout").unwrap_or(defaults.timeout),
        }
    });
    if let Some(mut policy) = fields.fields("enforcement_policy") {
        policy.duration("min_time");
        policy.boolean("permit_without_stream");
        policy
            .item()
            .warning("has no effect: clients may ping as often as they like");
    }
    parameters.unwrap_or_default()
}

fn decode_http(item: &Item<'_>) -> Option<OtlpHttpSettings> {
    let defaults = OtlpHttpSettings::default();
    let mut fields = item.fields()?;
    let endpoint = address(&mut fields, &defaults.endpoint);
    transport(&mut fields);
    let tls_item = fields.get("tls");
    let tls = tls_item.as_ref().and_then(tls::server);
    let path = fields
        .get("traces_url_path")
        .map_or(Some(defaults.traces_url_path.clone()), |item| {
            url_path(&item)
        });
    let logs_path = fields
        .get("logs_url_path")
        .map_or(Some(defaults.logs_url_path.clone()), |item| url_path(&item));
    let metrics_path = fields
        .get("metrics_url_path")
        .map_or(Some(defaults.metrics_url_path.clone()), |item| {
            url_path(&item)
        });
    let or = |time: Option<Duration>, default| time.unwrap_or(default);
    let settings = OtlpHttpSettings {
        endpoint: endpoint.clone().unwrap_or_default(),
        tls,
        max_request_body_size: fields
            .get("max_request_body_size")
            .and_then(|item| item.bytes())
            .filter(|n| *n > 0)
            .unwrap_or(defaults.max_request_body_size),
        cors: fields.fields("cors").map(cors),
        traces_url_path: path.clone().unwrap_or_default(),
        logs_url_path: logs_path.clone().unwrap_or_default(),
        metrics_url_path: metrics_path.clone().unwrap_or_default(),
        compression_algorithms: algorithms(&mut fields),
        response_headers: response_headers(&mut fields),
        read_timeout: fields
            .duration("read_timeout")
            .filter(|time| !time.is_zero()),
        read_header_timeout: or(
            fields.duration("read_header_timeout"),
            defaults.read_header_timeout,
        ),
        write_timeout: or(fields.duration("write_timeout"), defaults.write_timeout),
        idle_timeout: or(fields.duration("idle_timeout"), defaults.idle_timeout),
        keep_alives_enabled: fields.boolean("keep_alives_enabled").unwrap_or(true),
        ..defaults
    };

    fields.no_effect("profiles_url_path", "profiles are not taken");
    fields.no_effect("include_metadata", METADATA);
    fields.not_yet("auth", AUTH);
    fields.not_yet("middlewares", "leave it out");
    if endpoint.is_none()
        || path.is_none()
        || logs_path.is_none()
        || metrics_path.is_none()
        || (tls_item.is_some() && settings.tls.is_none())
    {
        return None;
    }
    Some(settings)
}

fn url_path(item: &Item<'_>) -> Option<String> {
    let text = item.string()?;
    // The Collector puts a missing slash in front.
    let path = if text.starts_with('/') {
        text
    } else {
        format!("/{text}")
    };
    let good = path
        .parse::<http::uri::PathAndQuery>()
        .is_ok_and(|parsed| parsed.query().is_none());
    if !good {
        item.error("expected a URL path such as `/v1/traces`");
    }
    good.then_some(path)
}

fn cors(mut fields: Fields<'_>) -> CorsSettings {
    CorsSettings {
        allowed_origins: fields.strings("allowed_origins"),
        allowed_headers: fields.strings("allowed_headers"),
        exposed_headers: fields.strings("exposed_headers"),
        // Seconds, without a unit (confighttp).
        max_age: fields.u64("max_age").filter(|n| *n > 0),
    }
}

/// The Collector's words; what it has and we do not is refused when it is asked for.
fn algorithms(fields: &mut Fields<'_>) -> Vec<ContentEncoding> {
    use ContentEncoding::{Deflate, Gzip, Identity, Zlib, Zstd};
    let items = fields
        .get("compression_algorithms")
        .map(|item| item.list())
        .unwrap_or_default();
    let ours = [
        ("", Identity),
        ("gzip", Gzip),
        ("zstd", Zstd),
        ("zlib", Zlib),
        ("deflate", Deflate),
    ];
    let wanted: Vec<_> = items.iter().filter_map(|item| item.one_of(&ours)).collect();
    if wanted.is_empty() {
        ContentEncoding::ALL.to_vec()
    } else {
        wanted
    }
}

/// Headers of every answer; a value that no header can have is an error.
fn response_headers(fields: &mut Fields<'_>) -> http::HeaderMap {
    let Some(item) = fields.get("response_headers") else {
        return http::HeaderMap::new();
    };
    let pair = |(name, value): (String, Secret)| {
        let value = http::HeaderValue::from_str(value.reveal());
        if value.is_err() {
            item.error("not a valid header value");
        }
        Some((
            http::HeaderName::from_bytes(name.as_bytes()).ok()?,
            value.ok()?,
        ))
    };
    header_list(&item).into_iter().filter_map(pair).collect()
}

/// A mapping of names to values, or the list of `name`, `value` pairs that the Collector also takes.
pub(crate) fn headers(fields: &mut Fields<'_>, key: &'static str) -> Vec<(String, Secret)> {
    fields
        .get(key)
        .map(|item| header_list(&item))
        .unwrap_or_default()
}

fn header_list(item: &Item<'_>) -> Vec<(String, Secret)> {
    if let super::node::Value::Seq(_) = item.node.value {
        return item
            .list()
            .iter()
            .filter_map(|item| named_header(item))
            .collect();
    }
    let pair = |(entry, item): (&Entry, Item<'_>)| {
        Some((
            header_name(&item, entry.key_place, &entry.key)?,
            Secret::new(item.string()?),
        ))
    };
    item.pairs().into_iter().filter_map(pair).collect()
}

fn named_header(item: &Item<'_>) -> Option<(String, Secret)> {
    let mut fields = item.fields()?;
    let name = fields.require("name", "the name of a header");
    let value = fields.require("value", "the value of the header");
    let (name, value) = (name?.string()?, value?.string()?);
    Some((
        header_name(item, item.node.place, &name)?,
        Secret::new(value),
    ))
}

fn header_name(item: &Item<'_>, place: Place, name: &str) -> Option<String> {
    if http::HeaderName::from_bytes(name.as_bytes()).is_err() {
        item.decoder
            .error(place, &item.path, "not a valid header name");
        return None;
    }
    Some(name.to_owned())
}
