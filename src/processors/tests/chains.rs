//! Chains from blocks of config, and pieces as prost has them.

use crate::config::{Source, load};
use crate::processors::Chain;
use opentelemetry_proto::tonic::trace::v1::TracesData;
use prost::Message;
use serde_json::{Map, Value, json};

/// The processors of a pipeline in front of its `tail_sampling`.
pub(super) fn chain(blocks: &[(String, Value)]) -> Chain {
    let mut processors: Map<String, Value> = blocks.iter().cloned().collect();
    let policy = json!({"name": "all", "type": "always_sample"});
    processors.insert("tail_sampling".to_owned(), json!({"policies": [policy]}));
    let mut order: Vec<&str> = blocks.iter().map(|(id, _)| id.as_str()).collect();
    order.push("tail_sampling");
    let config = json!({
        "receivers": {"otlp": {"protocols": {"http": {}}}},
        "processors": processors,
        "exporters": {"debug": {}},
        "service": {"pipelines": {"traces": {
            "receivers": ["otlp"], "processors": order, "exporters": ["debug"],
        }}},
    });
    let loaded = load(&[Source::text("test", config.to_string())], &[], &|_| None);
    let config = loaded.unwrap_or_else(|wrong| panic!("{wrong:?}")).config;
    Chain::new(&config.instances[0].front).unwrap()
}

/// One processor.
pub(super) fn only(id: &str, block: Value) -> Chain {
    chain(&[(id.to_owned(), block)])
}

pub(super) fn decoded(piece: &[u8]) -> TracesData {
    TracesData::decode(piece).unwrap()
}
