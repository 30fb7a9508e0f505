//! Properties over generated spans, against the same done to prost's types.

use super::chains::{chain, decoded, only};
use crate::processors::Chain;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, InstrumentationScope, KeyValue, any_value::Value,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, TracesData, span};
use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message;
use serde_json::json;
use std::sync::LazyLock;

fn attributes() -> impl Strategy<Value = Vec<KeyValue>> {
    let value = prop_oneof![
        "[v-x]{0,1}".prop_map(Value::StringValue),
        (0..3_i64).prop_map(Value::IntValue),
        any::<bool>().prop_map(Value::BoolValue),
    ];
    let pair = ("[k-m]", value).prop_map(|(key, value)| KeyValue {
        key,
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    });
    vec(pair, 0..4)
}

fn spans() -> impl Strategy<Value = Span> {
    let event = attributes().prop_map(|attributes| span::Event {
        attributes,
        ..span::Event::default()
    });
    (attributes(), vec(event, 0..3), "[a-c]{1,2}", any::<u64>()).prop_map(
        |(attributes, events, name, id)| Span {
            trace_id: vec![7; 16],
            span_id: id.to_be_bytes().to_vec(),
            name,
            attributes,
            events,
            ..Span::default()
        },
    )
}

fn traces() -> impl Strategy<Value = TracesData> {
    let scope = vec(spans(), 1..4).prop_map(|spans| ScopeSpans {
        scope: Some(InstrumentationScope::default()),
        spans,
        ..ScopeSpans::default()
    });
    let resource =
        (attributes(), vec(scope, 1..3)).prop_map(|(attributes, scope_spans)| ResourceSpans {
            resource: Some(Resource {
                attributes,
                ..Resource::default()
            }),
            scope_spans,
            ..ResourceSpans::default()
        });
    vec(resource, 1..3).prop_map(|resource_spans| TracesData { resource_spans })
}

/// The first attribute of a key is a text.
fn is(attributes: &[KeyValue], key: &str, text: &str) -> bool {
    let value = attributes
        .iter()
        .find(|pair| pair.key == key)
        .and_then(|pair| pair.value.as_ref()?.value.as_ref());
    matches!(value, Some(Value::StringValue(found)) if found == text)
}

/// Takes out by hand what the conditions below mean.
fn filtered(mut data: TracesData) -> TracesData {
    data.resource_spans.retain_mut(|resource_spans| {
        let resource = resource_spans.resource.clone().unwrap();
        if is(&resource.attributes, "l", "x") {
            return false;
        }
        resource_spans.scope_spans.retain_mut(|scope_spans| {
            scope_spans.spans.retain_mut(|span| {
                let events = |event: &span::Event| is(&event.attributes, "k", "w");
                let gone = is(&span.attributes, "k", "v") || span.name == "a";
                span.events.retain(|event| !events(event));
                !gone
            });
            !scope_spans.spans.is_empty()
        });
        !resource_spans.scope_spans.is_empty()
    });
    data
}

fn count(data: &TracesData) -> u64 {
    let scopes = data.resource_spans.iter().flat_map(|r| &r.scope_spans);
    scopes.map(|scope| scope.spans.len() as u64).sum()
}

/// Conditions that [`filtered`] does by hand.
static FILTER: LazyLock<Chain> = LazyLock::new(|| {
    let block = json!({"traces": {
        "resource": ["attributes[\"l\"] == \"x\""],
        "span": ["attributes[\"k\"] == \"v\"", "name == \"a\""],
        "spanevent": ["attributes[\"k\"] == \"w\""],
    }});
    only("filter", block)
});

/// One of each kind.
fn blocks() -> [(String, serde_json::Value); 4] {
    let filter = json!({"traces": {
        "span": ["resource.attributes[\"l\"] == attributes[\"k\"]"],
        "spanevent": ["name == \"\""],
    }});
    let attributes = json!({"actions": [
        {"key": "k", "action": "upsert", "from_attribute": "l"},
        {"key": "m", "action": "delete"},
    ]});
    let resource = json!({"attributes": [
        {"key": "l", "action": "update", "value": "x"},
        {"key": "k", "action": "hash"},
    ]});
    let sampler = json!({"sampling_percentage": 50, "mode": "equalizing"});
    [
        ("filter".to_owned(), filter),
        ("attributes".to_owned(), attributes),
        ("resource".to_owned(), resource),
        ("probabilistic_sampler".to_owned(), sampler),
    ]
}

static ALONE: LazyLock<Vec<Chain>> =
    LazyLock::new(|| blocks().map(|(id, block)| only(&id, block)).into());

proptest! {
    #[test]
    fn filter_takes_out_what_its_conditions_mean(data in traces()) {
        let piece = data.encode_to_vec().into();
        let applied = FILTER.apply(&piece).unwrap();
        let expected = filtered(data.clone());
        prop_assert_eq!(applied.spans_left, count(&expected));
        prop_assert_eq!(applied.spans_filtered, count(&data) - count(&expected));
        prop_assert_eq!(decoded(&applied.bytes), expected);
    }

    /// No input panics.
    #[test]
    fn takes_any_bytes(bytes in vec(any::<u8>(), 0..200)) {
        let bytes = bytes.into();
        for chain in ALONE.iter() {
            let _ = chain.apply(&bytes);
        }
    }
}

proptest! {
    // Each order of processors is a config that is loaded.
    #![proptest_config(crate::cases::cases(24))]

    #[test]
    fn a_chain_is_its_processors_in_turn(
        data in vec(traces(), 8),
        order in Just([0_usize, 1, 2, 3]).prop_shuffle(),
    ) {
        let whole = chain(&order.map(|at| blocks()[at].clone()));
        for data in data {
            let piece: bytes::Bytes = data.encode_to_vec().into();
            let (mut in_turn, mut left) = (piece.clone(), count(&data));
            for at in order {
                let applied = ALONE[at].apply(&in_turn).unwrap();
                (in_turn, left) = (applied.bytes, applied.spans_left);
            }
            let applied = whole.apply(&piece).unwrap();
            prop_assert_eq!(applied.spans_left, left);
            prop_assert_eq!(decoded(&applied.bytes), decoded(&in_turn));
        }
    }
}
