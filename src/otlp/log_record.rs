//! One log record: its ids, and its attributes and body shown to a visitor.

use super::TraceId;
use super::span::{SpanBytes, SpanError, Visitor};
use super::value::{any_value, key_value};
use super::wire::Cursor;

/// The ids of a record; zero where it has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordIds {
    pub(super) trace: TraceId,
    pub(super) span: u64,
}

/// Reads a `LogRecord`; fields come in any order, the last of a repeated scalar wins. Ids may be missing.
pub(super) fn scan_record(
    bytes: &SpanBytes<'_>,
    visitor: &mut impl Visitor,
) -> Result<RecordIds, SpanError> {
    visitor.begin_span();
    let mut cursor = Cursor::new(bytes.span);
    let (mut trace, mut span) = (&[][..], &[][..]);
    while let Some((number, field)) = cursor.next()? {
        match number {
            1 | 11 => _ = field.fixed64()?,
            2 | 7 => _ = field.varint()?,
            3 | 12 => _ = field.bytes()?,
            5 => visitor.record_body(any_value(field.bytes()?, 0)?),
            6 => {
                let (key, value) = key_value(field.bytes()?, 0)?;
                visitor.span_attribute(key, value);
            }
            8 => _ = field.fixed32()?,
            9 => trace = field.bytes()?,
            10 => span = field.bytes()?,
            _ => {}
        }
    }
    if !matches!(trace.len(), 0 | 16) {
        return Err(SpanError::TraceIdLength);
    }
    if !matches!(span.len(), 0 | 8) {
        return Err(SpanError::SpanIdLength);
    }
    visitor.end_record(bytes);
    Ok(RecordIds {
        trace: TraceId(trace.first_chunk().map_or(0, |id| u128::from_be_bytes(*id))),
        span: span.first_chunk().map_or(0, |id| u64::from_be_bytes(*id)),
    })
}

#[cfg(test)]
mod tests {
    use crate::otlp::{Blind, Signal, Stitch, TraceId, json, scan_as, split};
    use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
    use opentelemetry_proto::tonic::common::v1::{
        AnyValue, InstrumentationScope, KeyValue, any_value::Value,
    };
    use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
    use opentelemetry_proto::tonic::resource::v1::Resource;
    use proptest::prelude::*;
    use prost::Message;

    fn text(text: &str) -> Option<AnyValue> {
        Some(AnyValue {
            value: Some(Value::StringValue(text.to_owned())),
        })
    }

    fn attribute(key: &str, value: &str) -> KeyValue {
        KeyValue {
            key: key.to_owned(),
            value: text(value),
            ..KeyValue::default()
        }
    }

    fn record() -> impl Strategy<Value = LogRecord> {
        let ids = (0..4_u8, 0..3_u8);
        let fields = (any::<[u64; 2]>(), 0..25_i32, ".{0,9}", any::<[u32; 2]>());
        (ids, fields, ".{0,20}", "[a-z.]{0,9}").prop_map(
            |((trace, span), (times, severity, words, [flags, dropped]), body, event)| LogRecord {
                time_unix_nano: times[0],
                observed_time_unix_nano: times[1],
                severity_number: severity,
                severity_text: words.clone(),
                // The Collector prints a missing body, too.
                body: text(&body),
                attributes: vec![attribute("gen_ai.system", &words)],
                dropped_attributes_count: dropped,
                flags,
                trace_id: if trace == 0 { vec![] } else { vec![trace; 16] },
                span_id: if span == 0 { vec![] } else { vec![span; 8] },
                event_name: event,
            },
        )
    }

    fn request() -> impl Strategy<Value = ExportLogsServiceRequest> {
        let scope = (0..2_u8, proptest::collection::vec(record(), 0..5));
        let scope = scope.prop_map(|(name, log_records)| ScopeLogs {
            scope: Some(InstrumentationScope {
                name: name.to_string(),
                ..InstrumentationScope::default()
            }),
            log_records,
            schema_url: "u".to_owned(),
        });
        let resource = ("[ab]", proptest::collection::vec(scope, 0..3));
        let resource = resource.prop_map(|(service, scope_logs)| ResourceLogs {
            resource: Some(Resource {
                attributes: vec![attribute("service.name", &service)],
                ..Resource::default()
            }),
            scope_logs,
            schema_url: String::new(),
        });
        proptest::collection::vec(resource, 0..3)
            .prop_map(|resource_logs| ExportLogsServiceRequest { resource_logs })
    }

    /// Each record with what is around it, as text.
    fn flat(request: &ExportLogsServiceRequest) -> Vec<String> {
        let mut out = Vec::new();
        for resource in &request.resource_logs {
            for scope in &resource.scope_logs {
                let around = (&resource.resource, &scope.scope, &scope.schema_url);
                let records = scope.log_records.iter();
                out.extend(records.map(|record| format!("{around:?} {record:?}")));
            }
        }
        out.sort();
        out
    }

    proptest! {
        #[test]
        fn pieces_of_one_trace_make_the_request_again(request in request()) {
            let bytes = request.encode_to_vec();
            let scan = scan_as(Signal::Logs, &bytes, &mut Blind).unwrap();
            let services = vec![0; request.resource_logs.len()];
            let split = split(&bytes, &scan, &services, 16, 0);
            prop_assert_eq!(scan.rejected, 0);
            let mut again = Vec::new();
            for piece in &split.pieces {
                let block = &split.blocks[piece.block as usize].bytes;
                let range = piece.bytes.start as usize..piece.bytes.end as usize;
                let bytes = bytes::Bytes::copy_from_slice(&block[range]);
                let mut stitch = Stitch::of(Signal::Logs);
                stitch.begin_entry(false);
                let count = stitch.add(piece.trace, bytes).unwrap();
                prop_assert_eq!(count, u64::from(piece.spans.end - piece.spans.start));
                let made = ExportLogsServiceRequest::decode(stitch.finish()).unwrap();
                for record in made.resource_logs.iter().flat_map(|r| &r.scope_logs).flat_map(|s| &s.log_records) {
                    let trace = TraceId::from_slice(&record.trace_id).unwrap_or(TraceId(0));
                    prop_assert_eq!(trace, piece.trace);
                }
                again.extend(flat(&made));
            }
            again.sort();
            prop_assert_eq!(again, flat(&request));
        }

        #[test]
        fn json_there_and_back(request in request()) {
            let bytes = request.encode_to_vec();
            let printed = json::to_json_as(Signal::Logs, &bytes).unwrap();
            let read: ExportLogsServiceRequest = serde_json::from_str(&printed).unwrap();
            prop_assert_eq!(&flat(&read), &flat(&request));
            let back = json::from_json_as(Signal::Logs, printed.as_bytes()).unwrap();
            prop_assert_eq!(&ExportLogsServiceRequest::decode(&back[..]).unwrap(), &request);
        }

        #[test]
        fn any_bytes_are_taken_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            _ = scan_as(Signal::Logs, &bytes, &mut Blind);
        }
    }

    #[test]
    fn records_with_ids_of_another_length_are_left_out() {
        let record = |trace: usize, span: usize| LogRecord {
            trace_id: vec![1; trace],
            span_id: vec![1; span],
            ..LogRecord::default()
        };
        let check = |trace, span, expected| {
            let scope_logs = vec![ScopeLogs {
                log_records: vec![record(trace, span)],
                ..ScopeLogs::default()
            }];
            let request = ExportLogsServiceRequest {
                resource_logs: vec![ResourceLogs {
                    scope_logs,
                    ..ResourceLogs::default()
                }],
            };
            let scan = scan_as(Signal::Logs, &request.encode_to_vec(), &mut Blind).unwrap();
            assert_eq!(scan.rejected == 0, expected, "{trace} {span}");
        };
        check(0, 0, true);
        check(16, 0, true);
        check(16, 8, true);
        check(0, 8, true);
        check(15, 8, false);
        check(16, 7, false);
    }
}
