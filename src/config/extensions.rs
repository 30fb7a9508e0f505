//! Extensions: `health_check` is mapped to the admin port, the others that we know change nothing.

use super::component::ComponentId;
use super::endpoint;
use super::item::Item;

/// The Collector's default.
const HEALTH_ENDPOINT: &str = "localhost:13133";

/// What an extension asks for.
#[derive(Debug, Clone)]
pub(crate) enum Extension {
    /// An address that answers whether the process is well.
    Health(String),
    /// Nothing here, and why.
    NoEffect(&'static str),
}

/// Decodes one extension.
pub(crate) fn decode(id: &ComponentId, item: &Item<'_>) -> Option<Extension> {
    let why = match id.kind.as_str() {
        "health_check" => return health(item).map(Extension::Health),
        "pprof" => "Go's profiler is not in this process",
        "zpages" => "the state is at `/metrics` of the admin port",
        _ => "what waits for an exporter is in the log already",
    };
    // Its keys mean nothing here, whatever they are.
    Some(Extension::NoEffect(why))
        .filter(|_| super::component::is_mapping_or_null(item) || item.fields().is_some())
}

fn health(item: &Item<'_>) -> Option<String> {
    let mut fields = item.fields()?;
    let endpoint = match fields.get("endpoint") {
        Some(item) => endpoint::listen(&item),
        None => Some(HEALTH_ENDPOINT.to_owned()),
    };
    fields.not_yet("tls", "leave it out: health is served in clear text");
    fields.not_yet(
        "response_body",
        "leave it out: the status code is the answer",
    );
    fields.no_effect("path", "`/`, `/healthz` and `/readyz` are answered");
    fields.no_effect(
        "check_collector_pipeline",
        "`/readyz` says whether spans are taken",
    );
    for key in ["response_headers", "auth", "middlewares", "cors"] {
        fields.not_yet(key, "leave it out");
    }
    fields.accept(&[
        "transport",
        "include_metadata",
        "max_request_body_size",
        "compression_algorithms",
        "read_timeout",
        "read_header_timeout",
        "write_timeout",
        "idle_timeout",
        "keep_alives_enabled",
        "use_v2",
        "http",
        "grpc",
        "component_health",
    ]);
    endpoint
}
