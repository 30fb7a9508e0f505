//! `ExportTraceServiceResponse`, read for its partial success and nothing else.
//!
//! Source: OTLP specification, "Partial success". An answer that cannot be read is still a success: the server has said
//! so in its status. `rejected_spans` of zero with a message is a warning, not a loss. The message is never repeated.

use super::transport::Sent;

const REASON: &str = "the server says that it did not take these spans";

#[derive(Clone, PartialEq, prost::Message)]
struct ExportResponse {
    #[prost(message, optional, tag = "1")]
    partial_success: Option<PartialSuccess>,
}

/// Its second field, the server's message, is skipped unread.
#[derive(Clone, PartialEq, prost::Message)]
struct PartialSuccess {
    #[prost(int64, tag = "1")]
    rejected_spans: i64,
}

/// Reads a protobuf answer.
pub(crate) fn from_proto(body: &[u8]) -> Sent {
    let response = <ExportResponse as prost::Message>::decode(body).unwrap_or_default();
    sent(
        response
            .partial_success
            .map_or(0, |partial| partial.rejected_spans),
    )
}

/// Reads a JSON answer; `rejectedSpans` is a string, as proto3 JSON writes 64-bit numbers, or a number.
pub(crate) fn from_json(body: &[u8]) -> Sent {
    let response: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let partial = &response["partialSuccess"];
    let names = ["rejectedSpans", "rejectedLogRecords", "rejectedDataPoints"];
    let rejected = names.iter().find_map(|name| partial.get(name));
    let rejected = match rejected.unwrap_or(&serde_json::Value::Null) {
        serde_json::Value::String(text) => text.parse().unwrap_or(0),
        number => number.as_i64().unwrap_or(0),
    };
    sent(rejected)
}

fn sent(rejected: i64) -> Sent {
    match u64::try_from(rejected) {
        Ok(rejected) if rejected > 0 => Sent::Partial {
            rejected,
            reason: REASON.to_owned(),
        },
        _ => Sent::All,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry_proto::tonic::collector::trace::v1::{
        ExportTracePartialSuccess, ExportTraceServiceResponse,
    };
    use prost::Message;

    fn partial(rejected: u64) -> Sent {
        Sent::Partial {
            rejected,
            reason: REASON.to_owned(),
        }
    }

    #[test]
    fn reads_protobuf() {
        let check = |rejected_spans: i64, error_message: &str, expected: Sent| {
            let partial = ExportTracePartialSuccess {
                rejected_spans,
                error_message: error_message.to_owned(),
            };
            let body = ExportTraceServiceResponse {
                partial_success: Some(partial),
            }
            .encode_to_vec();
            assert_eq!(from_proto(&body), expected);
        };
        check(0, "", Sent::All);
        check(0, "a warning", Sent::All);
        check(7, "no room", partial(7));
        check(-7, "nonsense", Sent::All);
        assert_eq!(from_proto(b""), Sent::All);
        assert_eq!(from_proto(b"\xff\xff\xff"), Sent::All);
    }

    proptest::proptest! {
        #[test]
        fn anything_is_read_without_a_panic(body: Vec<u8>) {
            let _ = (from_proto(&body), from_json(&body));
        }
    }

    #[test]
    fn reads_json() {
        let check =
            |body: &str, expected: Sent| assert_eq!(from_json(body.as_bytes()), expected, "{body}");
        check(r#"{"partialSuccess":{}}"#, Sent::All);
        check(
            r#"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"x"}}"#,
            partial(3),
        );
        check(r#"{"partialSuccess":{"rejectedSpans":3}}"#, partial(3));
        check(r#"{"partialSuccess":{"rejectedSpans":"-3"}}"#, Sent::All);
        check(r#"{"partialSuccess":{"rejectedSpans":{}}}"#, Sent::All);
        check("<html>", Sent::All);
        check("", Sent::All);
        check("[]", Sent::All);
    }
}
