//! What processors do not change: bytes, unknown fields, messages in unusual forms.

use super::chains::{decoded, only};
use crate::otlp::put_field_header;
use bytes::Bytes;
use serde_json::json;

fn field(number: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_field_header(&mut out, number, body.len());
    out.extend_from_slice(body);
    out
}

fn attribute(key: &str, value: &str) -> Vec<u8> {
    [
        field(1, key.as_bytes()),
        field(2, &field(1, value.as_bytes())),
    ]
    .concat()
}

/// An unknown field of number 100.
fn unknown() -> Vec<u8> {
    vec![0xa2, 0x06, 1, b'?']
}

/// A span with an attribute, unknown fields at every level, and its resource behind it.
fn piece() -> Bytes {
    let ids = [field(1, &[1; 16]), field(2, &[2; 8])].concat();
    let pair = [unknown(), attribute("k", "v")].concat();
    let span = [ids, field(9, &pair), unknown(), field(5, b"name")].concat();
    let scope = [field(1, b"lib"), unknown()].concat();
    let scope_spans = [field(2, &span), unknown(), field(1, &scope)].concat();
    let resource = [field(1, &attribute("service.name", "a")), unknown()].concat();
    let resource_spans = [field(2, &scope_spans), unknown(), field(1, &resource)].concat();
    [field(1, &resource_spans), unknown()].concat().into()
}

fn occurrences(bytes: &[u8]) -> usize {
    let mark = unknown();
    bytes
        .windows(mark.len())
        .filter(|part| *part == mark)
        .count()
}

#[test]
fn what_is_not_changed_is_not_copied() {
    let piece = piece();
    for (id, block) in [
        (
            "filter",
            json!({"traces": {"span": ["name == \"other\""], "spanevent": ["true"]}}),
        ),
        (
            "attributes",
            json!({"actions": [{"key": "k", "action": "upsert", "value": "v"}]}),
        ),
        (
            "attributes",
            json!({"actions": [{"key": "x", "action": "delete"}]}),
        ),
        (
            "resource",
            json!({"attributes": [{"key": "x", "action": "hash"}]}),
        ),
        (
            "probabilistic_sampler",
            json!({"sampling_percentage": 100, "mode": "equalizing", "fail_closed": false}),
        ),
    ] {
        let applied = only(id, block).apply(&piece).unwrap();
        if id == "probabilistic_sampler" {
            assert_eq!(
                decoded(&applied.bytes).resource_spans[0].scope_spans[0].spans[0].trace_state,
                "ot=th:0"
            );
            continue;
        }
        assert_eq!(applied.bytes.as_ptr(), piece.as_ptr(), "{id}");
        assert_eq!((applied.spans_left, applied.spans_filtered), (1, 0));
    }
}

#[test]
fn unknown_fields_travel() {
    let piece = piece();
    assert_eq!(occurrences(&piece), 7);
    let check = |id: &str, block, expected: usize| {
        let applied = only(id, block).apply(&piece).unwrap();
        assert_ne!(applied.bytes, piece, "{id}");
        assert_eq!(occurrences(&applied.bytes), expected, "{id}");
    };
    let set = |key: &str| json!([{"key": key, "action": "upsert", "value": "new"}]);
    check("attributes", json!({"actions": set("k")}), 7);
    check("attributes", json!({"actions": set("fresh")}), 7);
    check("resource", json!({"attributes": set("service.name")}), 7);
    check("resource", json!({"attributes": set("fresh")}), 7);
    check(
        "probabilistic_sampler",
        json!({"sampling_percentage": 100}),
        7,
    );
    // The attribute takes its own with it.
    check(
        "attributes",
        json!({"actions": [{"key": "k", "action": "delete"}]}),
        6,
    );
}

#[test]
fn a_resource_in_parts_is_one() {
    let resource = |key: &str| field(1, &field(1, &attribute(key, "a")));
    let span = [field(1, &[1; 16]), field(2, &[2; 8])].concat();
    let resource_spans = [resource("one"), field(2, &field(2, &span)), resource("two")].concat();
    let piece = Bytes::from(field(1, &resource_spans));
    let copy = json!([{"key": "three", "action": "insert", "from_attribute": "two"}]);
    let applied = only("resource", json!({"attributes": copy}))
        .apply(&piece)
        .unwrap();
    let resource = decoded(&applied.bytes).resource_spans[0]
        .resource
        .clone()
        .unwrap();
    let keys: Vec<&str> = resource.attributes.iter().map(|pair| &*pair.key).collect();
    assert_eq!(keys, ["one", "two", "three"]);
    let filter = json!({"traces": {"span": ["resource.attributes[\"one\"] == resource.attributes[\"two\"]"]}});
    assert_eq!(only("filter", filter).apply(&piece).unwrap().spans_left, 0);
}

#[test]
fn a_damaged_piece_is_an_error() {
    let whole = piece();
    let chain = only("filter", json!({"traces": {"span": ["false"]}}));
    assert!(chain.apply(&whole.slice(..whole.len() - 20)).is_err());
}
