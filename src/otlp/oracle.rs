//! Scan, split and stitch against prost: generated requests, both field orders, unknown fields, mutated bytes.

use super::span::Trusting;
use super::value::{AnyValue, key_value};
use super::*;
use backwards::{Kind, backwards};
use bytes::Bytes;
use judge::{Flat, flat};
use opentelemetry_proto::tonic::common::v1 as common;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1 as proto;
use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message;
use std::collections::BTreeMap;

#[allow(unreachable_pub, reason = "shared with the integration tests")]
#[path = "../../tests/support/backwards.rs"]
pub(crate) mod backwards;
#[path = "../../tests/fuzz/judge.rs"]
mod judge;

fn value() -> impl Strategy<Value = common::AnyValue> {
    use common::any_value::Value;
    let leaf = prop_oneof![
        "\\PC{0,40}".prop_map(Value::StringValue),
        any::<bool>().prop_map(Value::BoolValue),
        any::<i64>().prop_map(Value::IntValue),
        (-1e9..1e9).prop_map(Value::DoubleValue),
        vec(any::<u8>(), 0..9).prop_map(Value::BytesValue),
    ];
    leaf.prop_map(|value| common::AnyValue { value: Some(value) })
        .prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(|values| common::AnyValue {
                    value: Some(Value::ArrayValue(common::ArrayValue { values }))
                }),
                vec(("[a-z.]{0,9}", inner), 0..3).prop_map(|pairs| common::AnyValue {
                    value: Some(Value::KvlistValue(common::KeyValueList {
                        values: pairs
                            .into_iter()
                            .map(|(key, value)| pair(key, value))
                            .collect()
                    }))
                }),
            ]
        })
}

fn pair(key: String, value: common::AnyValue) -> common::KeyValue {
    common::KeyValue {
        key,
        value: Some(value),
        ..Default::default()
    }
}

fn attributes() -> impl Strategy<Value = Vec<common::KeyValue>> {
    vec(
        ("[a-z._]{1,20}|service.name|.{130}", value()).prop_map(|(key, value)| pair(key, value)),
        0..5,
    )
}

fn event() -> impl Strategy<Value = proto::span::Event> {
    (any::<u64>(), ".{0,9}", attributes()).prop_map(|(time_unix_nano, name, attributes)| {
        proto::span::Event {
            time_unix_nano,
            name,
            attributes,
            ..Default::default()
        }
    })
}

prop_compose! {
    fn span()(
        trace in 1_u128..6,
        span in 1_u64..,
        parent in prop_oneof![Just(vec![]), Just(vec![0; 8]), Just(vec![1; 8])],
        start in any::<u64>(),
        end in any::<u64>(),
        name in ".{0,30}",
        kind in 0..6_i32,
        flags in any::<u32>(),
        status in proptest::option::of((0..3_i32, ".{0,9}")),
        attributes in attributes(),
        events in vec(event(), 0..2),
    ) -> proto::Span {
        proto::Span {
            trace_id: trace.to_be_bytes().to_vec(),
            span_id: span.to_be_bytes().to_vec(),
            parent_span_id: parent,
            start_time_unix_nano: start,
            end_time_unix_nano: end,
            name,
            kind,
            flags,
            status: status.map(|(code, message)| proto::Status { code, message }),
            attributes,
            events,
            ..Default::default()
        }
    }
}

fn request() -> impl Strategy<Value = proto::TracesData> {
    let scope = (vec(span(), 0..6), "[a-c]?", "[x-z]?").prop_map(|(spans, name, schema_url)| {
        proto::ScopeSpans {
            scope: Some(common::InstrumentationScope {
                name,
                ..Default::default()
            }),
            spans,
            schema_url,
        }
    });
    let resource = (attributes(), vec(scope, 0..3), "[x-z]?").prop_map(
        |(attributes, scope_spans, schema_url)| proto::ResourceSpans {
            resource: Some(Resource {
                attributes,
                ..Default::default()
            }),
            scope_spans,
            schema_url,
        },
    );
    vec(resource, 0..4).prop_map(|resource_spans| proto::TracesData { resource_spans })
}

/// Remembers what it was shown, as text.
#[derive(Default)]
struct Recorder {
    heads: Vec<SpanHead>,
    resource: Vec<String>,
    span: Vec<String>,
    events: Vec<String>,
    shown: Vec<(Vec<String>, Vec<String>, Vec<String>)>,
}

fn show(key: &[u8], value: AnyValue<'_>) -> String {
    let mut texts = Vec::new();
    value.each_text(&mut |text| texts.push(String::from_utf8(text.to_vec()).unwrap()));
    let plain = matches!(
        value,
        AnyValue::Bool(_) | AnyValue::Int(_) | AnyValue::Double(_) | AnyValue::Bytes(_)
    );
    format!(
        "{} {texts:?} {}",
        String::from_utf8_lossy(key),
        if plain {
            format!("{value:?}")
        } else {
            String::new()
        }
    )
}

fn show_proto(attribute: &common::KeyValue) -> String {
    let bytes = attribute.encode_to_vec();
    let (key, value) = key_value(&bytes, 0).unwrap();
    show(key, value)
}

impl Visitor for Recorder {
    fn begin_resource(&mut self) {
        self.resource.clear();
    }
    fn resource_attribute(&mut self, key: &[u8], value: AnyValue<'_>) {
        self.resource.push(show(key, value));
    }
    fn begin_span(&mut self) {
        self.span.clear();
        self.events.clear();
    }
    fn span_attribute(&mut self, key: &[u8], value: AnyValue<'_>) {
        self.span.push(show(key, value));
    }
    fn event_attribute(&mut self, key: &[u8], value: AnyValue<'_>) {
        self.events.push(show(key, value));
    }
    fn end_span(&mut self, head: &SpanHead, _: &SpanBytes<'_>) {
        self.heads.push(*head);
        self.shown.push((
            self.resource.clone(),
            self.span.clone(),
            self.events.clone(),
        ));
    }
}

fn head_of(span: &proto::Span) -> SpanHead {
    SpanHead {
        trace: TraceId::from_slice(&span.trace_id).unwrap(),
        span: u64::from_be_bytes(span.span_id.as_slice().try_into().unwrap()),
        start: span.start_time_unix_nano,
        end: span.end_time_unix_nano,
        status: span
            .status
            .as_ref()
            .map_or(0, |status| status.code.cast_unsigned()),
        kind: span.kind.cast_unsigned(),
        flags: span.flags,
        root: span.parent_span_id.iter().all(|byte| *byte == 0),
    }
}

fn by_trace(spans: Vec<Flat>) -> BTreeMap<Vec<u8>, Vec<Flat>> {
    let mut traces = BTreeMap::<_, Vec<_>>::new();
    for span in spans {
        traces
            .entry(span.4.trace_id.clone())
            .or_default()
            .push(span);
    }
    traces
}

/// Splits a sound request.
fn pieces(bytes: &Bytes, partitions: u16) -> Vec<(Piece, Bytes)> {
    judge::pieces(bytes, &scan(bytes, &mut Blind).unwrap(), partitions)
}

fn both_orders(data: &proto::TracesData) -> [Bytes; 2] {
    let forward = data.encode_to_vec();
    let backward = backwards(Kind::Request, &forward);
    [forward.into(), backward.into()]
}

proptest! {
    #![proptest_config(crate::cases::cases(256))]

    #[test]
    fn scan_sees_what_prost_sees(data in request()) {
        let expected: Vec<_> = flat(&data).iter().map(|(_, _, _, _, span)| head_of(span)).collect();
        for bytes in both_orders(&data) {
            prop_assert_eq!(&proto::TracesData::decode(bytes.clone()).unwrap(), &data);
            let mut recorder = Recorder::default();
            let scanned = scan(&bytes, &mut recorder).unwrap();
            prop_assert_eq!(scanned.rejected, 0);
            prop_assert_eq!(&recorder.heads, &expected);
            let mut shown = recorder.shown.iter();
            for resource in &data.resource_spans {
                let resource_attributes: Vec<_> = resource.resource.iter().flat_map(|r| &r.attributes).map(show_proto).collect();
                for span in resource.scope_spans.iter().flat_map(|scope| &scope.spans) {
                    let (of_resource, of_span, of_events) = shown.next().unwrap();
                    prop_assert_eq!(of_resource, &resource_attributes);
                    prop_assert_eq!(of_span, &span.attributes.iter().map(show_proto).collect::<Vec<_>>());
                    let events: Vec<_> = span.events.iter().flat_map(|e| &e.attributes).map(show_proto).collect();
                    prop_assert_eq!(of_events, &events);
                }
            }
        }
    }

    #[test]
    fn pieces_hold_each_span_of_their_trace_under_its_own_envelope(data in request(), partitions in 1_u16..20) {
        for bytes in both_orders(&data) {
            let mut found = BTreeMap::<_, Vec<_>>::new();
            for (piece, bytes) in pieces(&bytes, partitions) {
                let piece_data = proto::TracesData::decode(bytes).unwrap();
                let spans = flat(&piece_data);
                prop_assert_eq!(spans.len(), piece.spans.len());
                for span in spans {
                    prop_assert_eq!(&span.4.trace_id[..], &piece.trace.to_bytes()[..]);
                    found.entry(span.4.trace_id.clone()).or_default().push(span);
                }
            }
            let mut expected = by_trace(flat(&data));
            for spans in expected.values_mut().chain(found.values_mut()) {
                spans.sort_by_key(|span| format!("{span:?}"));
            }
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn twins_stay_where_they_are_asked_for(data in request()) {
        for bytes in both_orders(&data) {
            let mut stitch = Stitch::default();
            stitch.begin_entry(true);
            let mut sum = 0;
            for (piece, bytes) in pieces(&bytes, 4) {
                sum += stitch.add(piece.trace, bytes).unwrap();
            }
            prop_assert_eq!((stitch.spans(), stitch.duplicates()), (sum, 0));
            let mut found = flat(&proto::TracesData::decode(stitch.finish()).unwrap());
            let mut expected = flat(&data);
            found.sort_by_key(|span| format!("{span:?}"));
            expected.sort_by_key(|span| format!("{span:?}"));
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn stitched_pieces_are_the_request_less_its_twins(data in request()) {
        for bytes in both_orders(&data) {
            let (stitched, spans, duplicates) = judge::stitched(pieces(&bytes, 4));
            let stitched = proto::TracesData::decode(stitched).unwrap();
            let mut found = flat(&stitched);
            let mut expected = flat(&data);
            prop_assert_eq!(spans + duplicates, expected.len() as u64);
            prop_assert_eq!(found.len() as u64, spans);
            found.sort_by_key(|span| format!("{span:?}"));
            expected.sort_by_key(|span| format!("{span:?}"));
            let mut seen = std::collections::HashSet::new();
            expected.retain(|span| seen.insert(span.4.encode_to_vec()));
            found.iter().for_each(|span| assert!(seen.contains(&span.4.encode_to_vec())));
            prop_assert_eq!(found.len(), expected.len());
        }
    }

    #[test]
    fn mutated_bytes_are_judged_as_prost_judges(
        data in request(),
        backward in any::<bool>(),
        edits in vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 0..4),
    ) {
        let mut bytes = both_orders(&data)[usize::from(backward)].to_vec();
        for (at, byte, what) in edits {
            if bytes.is_empty() { break }
            let at = at.index(bytes.len());
            match what {
                0 => bytes[at] = byte,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, byte),
            }
        }
        let bytes = Bytes::from(bytes);
        judge::judge_scan(&bytes, &mut Blind);
        judge::judge_stitch(&bytes, &mut Blind);
    }
}

#[test]
fn unknown_fields_travel_with_their_level() {
    // Field 100 (varint) of the resource message, the resource envelope, the scope envelope and the span.
    let unknown = [0xa0, 0x06, 0x07];
    let mut span = proto::Span {
        trace_id: vec![1; 16],
        span_id: vec![2; 8],
        ..Default::default()
    }
    .encode_to_vec();
    span.extend(unknown);
    let field =
        |number: u8, payload: &[u8]| [&[number << 3 | 2, payload.len() as u8], payload].concat();
    let scope_spans = [field(2, &span), unknown.to_vec(), field(3, b"schema")].concat();
    let resource_spans = [unknown.to_vec(), field(2, &scope_spans), field(1, &unknown)].concat();
    let bytes = Bytes::from(field(1, &resource_spans));
    let [(piece, laid)] = &pieces(&bytes, 1)[..] else {
        panic!("one piece")
    };
    assert_eq!(
        laid.windows(3).filter(|window| *window == unknown).count(),
        4
    );
    let mut stitch = Stitch::default();
    stitch.begin_entry(false);
    assert_eq!(stitch.add(piece.trace, laid.clone()), Ok(1));
    assert_eq!(
        stitch
            .finish()
            .windows(3)
            .filter(|window| *window == unknown)
            .count(),
        4
    );
}

#[test]
fn a_bad_span_is_rejected_alone() {
    let good = proto::Span {
        trace_id: vec![1; 16],
        span_id: vec![2; 8],
        ..Default::default()
    };
    let bad = |change: fn(&mut proto::Span)| {
        let mut span = good.clone();
        change(&mut span);
        span
    };
    let cases = [
        (bad(|span| span.trace_id = vec![]), SpanError::TraceIdLength),
        (
            bad(|span| span.trace_id = vec![1; 15]),
            SpanError::TraceIdLength,
        ),
        (
            bad(|span| span.trace_id = vec![1; 17]),
            SpanError::TraceIdLength,
        ),
        (
            bad(|span| span.trace_id = vec![0; 16]),
            SpanError::TraceIdZero,
        ),
        (bad(|span| span.span_id = vec![]), SpanError::SpanIdLength),
        (
            bad(|span| span.span_id = vec![1; 16]),
            SpanError::SpanIdLength,
        ),
        (bad(|span| span.span_id = vec![0; 8]), SpanError::SpanIdZero),
        (
            bad(|span| span.parent_span_id = vec![1; 7]),
            SpanError::ParentIdLength,
        ),
    ];
    for (bad, expected) in cases {
        let spans = vec![good.clone(), bad.clone(), good.clone()];
        let data = proto::TracesData {
            resource_spans: vec![proto::ResourceSpans {
                scope_spans: vec![proto::ScopeSpans {
                    spans,
                    ..Default::default()
                }],
                ..Default::default()
            }],
        };
        for bytes in both_orders(&data) {
            let scanned = scan(&bytes, &mut Blind).unwrap();
            assert_eq!(
                (scanned.spans(), scanned.rejected, scanned.reason),
                (2, 1, Some(expected))
            );
            // Where the Collector's way is wanted, only a wrong length is wrong.
            let zeros = matches!(expected, SpanError::TraceIdZero | SpanError::SpanIdZero)
                || bad.trace_id.is_empty()
                || bad.span_id.is_empty();
            let scanned = scan(&bytes, &mut Trusting).unwrap();
            let taken = if zeros { (3, 0) } else { (2, 1) };
            assert_eq!((scanned.spans(), scanned.rejected), taken, "{expected:?}");
        }
    }
}

#[test]
fn a_piece_of_another_trace_is_not_exported() {
    let span = proto::Span {
        trace_id: vec![1; 16],
        span_id: vec![2; 8],
        ..Default::default()
    };
    let data = proto::TracesData {
        resource_spans: vec![proto::ResourceSpans {
            scope_spans: vec![proto::ScopeSpans {
                spans: vec![span],
                ..Default::default()
            }],
            ..Default::default()
        }],
    };
    let bytes = Bytes::from(data.encode_to_vec());
    let mut stitch = Stitch::default();
    assert_eq!(
        stitch.add(TraceId(5), bytes.clone()),
        Err(StitchError::OtherTrace)
    );
    assert!(matches!(
        stitch.add(TraceId(5), bytes.slice(1..)),
        Err(StitchError::Damaged(_))
    ));
    assert_eq!(stitch.spans(), 0);
}
