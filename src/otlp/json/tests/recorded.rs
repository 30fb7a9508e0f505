//! Requests as real exporters sent them.

use crate::otlp::json::{from_json, to_json};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;

fn decode(bytes: &[u8]) -> ExportTraceServiceRequest {
    ExportTraceServiceRequest::decode(bytes).unwrap()
}

#[test]
fn json_with_enum_names_is_the_protobuf_it_was_made_from() {
    let check = |json: &[u8], protobuf: &[u8]| {
        assert_eq!(decode(&from_json(json).unwrap()), decode(protobuf))
    };
    check(
        include_bytes!("../../../../tests/fixtures/otlp/litellm-proxy.json"),
        include_bytes!("../../../../tests/fixtures/otlp/litellm-proxy.pb"),
    );
    check(
        include_bytes!("../../../../tests/fixtures/otlp/openinference-error.json"),
        include_bytes!("../../../../tests/fixtures/otlp/openinference-error.pb"),
    );
}

#[test]
fn the_javascript_exporter_is_read_as_opentelemetry_proto_reads_it() {
    for json in [
        &include_bytes!("../../../../tests/fixtures/otlp/js-exporter-tool.json")[..],
        include_bytes!("../../../../tests/fixtures/otlp/js-exporter-embeddings.json"),
    ] {
        let expected: ExportTraceServiceRequest = serde_json::from_slice(json).unwrap();
        let request = from_json(json).unwrap();
        assert_eq!(decode(&request), expected);
        assert_eq!(
            decode(&from_json(to_json(&request).unwrap().as_bytes()).unwrap()),
            expected
        );
    }
}
