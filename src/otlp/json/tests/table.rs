//! What senders write, case by case.

use crate::otlp::json::{PrintError, from_json, to_json};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

/// A request with one span that has these fields.
fn in_span(fields: &str) -> String {
    format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{{fields}}}]}}]}}]}}"#)
}

fn span_of(fields: &str) -> Span {
    let request =
        from_json(in_span(fields).as_bytes()).unwrap_or_else(|error| panic!("{fields}: {error}"));
    let request = ExportTraceServiceRequest::decode(request.as_slice()).unwrap();
    request.resource_spans[0].scope_spans[0].spans[0].clone()
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn one_span_in_many_spellings() {
    let id = || (1..=16).collect::<Vec<u8>>();
    let check = |fields: &str, expected: Span| assert_eq!(span_of(fields), expected, "{fields}");
    check("", Span::default());
    check(
        r#""traceId":"0102030405060708090a0b0c0d0e0f10""#,
        Span {
            trace_id: id(),
            ..Span::default()
        },
    );
    check(
        r#""traceId":"0102030405060708090A0B0C0D0E0F10""#,
        Span {
            trace_id: id(),
            ..Span::default()
        },
    );
    check(
        r#""trace_id":"0102030405060708090a0b0c0d0e0f10""#,
        Span {
            trace_id: id(),
            ..Span::default()
        },
    );
    check(r#""traceId":"""#, Span::default());
    check(
        r#""traceId":null,"status":null,"events":null,"kind":null,"name":null,"flags":null"#,
        Span::default(),
    );
    // A wrong length is the scanner's to reject, for that span alone.
    check(
        r#""traceId":"0102","spanId":"03""#,
        Span {
            trace_id: vec![1, 2],
            span_id: vec![3],
            ..Span::default()
        },
    );
    check(
        r#""kind":3"#,
        Span {
            kind: 3,
            ..Span::default()
        },
    );
    check(
        r#""kind":"SPAN_KIND_CLIENT""#,
        Span {
            kind: 3,
            ..Span::default()
        },
    );
    check(
        r#""kind":"3""#,
        Span {
            kind: 3,
            ..Span::default()
        },
    );
    check(
        r#""kind":77"#,
        Span {
            kind: 77,
            ..Span::default()
        },
    );
    check(
        r#""kind":-1"#,
        Span {
            kind: -1,
            ..Span::default()
        },
    );
    let started = |start_time_unix_nano| Span {
        start_time_unix_nano,
        ..Span::default()
    };
    check(
        r#""startTimeUnixNano":"1795995625695000000""#,
        started(1_795_995_625_695_000_000),
    );
    check(
        r#""startTimeUnixNano":1795995625695000000"#,
        started(1_795_995_625_695_000_000),
    );
    check(
        r#""start_time_unix_nano":1.7e18"#,
        started(1_700_000_000_000_000_000),
    );
    check(
        r#""startTimeUnixNano":"18446744073709551615""#,
        started(u64::MAX),
    );
    check(
        r#""startTimeUnixNano":18446744073709551615"#,
        started(u64::MAX),
    );
    check(
        r#""flags":257"#,
        Span {
            flags: 257,
            ..Span::default()
        },
    );
    check(
        r#""flags":"257""#,
        Span {
            flags: 257,
            ..Span::default()
        },
    );
    check(
        r#""droppedAttributesCount":"7""#,
        Span {
            dropped_attributes_count: 7,
            ..Span::default()
        },
    );
    check(r#""attributes":[],"events":[],"links":[]"#, Span::default());
    let named = |name: &str| Span {
        name: name.to_owned(),
        ..Span::default()
    };
    check(
        r#""name":"\u8bf7 \ud83d\ude80 \"\\\n""#,
        named("请 🚀 \"\\\n"),
    );
    // JavaScript cuts strings between surrogates.
    assert!(
        span_of(r#""name":"cut \ud83d""#)
            .name
            .starts_with("cut \u{fffd}")
    );
    check(
        r#""unknown":{"deep":[1,{"x":"\ud83d"}]},"\ud83d":1,"name":"n""#,
        named("n"),
    );
}

#[test]
fn status_and_empty_messages_are_kept_apart_from_absent_ones() {
    assert_eq!(span_of("").status, None);
    assert_eq!(span_of(r#""status":{}"#).status, Some(Default::default()));
    let status = span_of(r#""status":{"code":"STATUS_CODE_ERROR","message":"m"}"#)
        .status
        .unwrap();
    assert_eq!((status.code, status.message.as_str()), (2, "m"));
}

fn value_of(json: &str) -> Option<Value> {
    let span = span_of(&format!(r#""attributes":[{{"key":"k","value":{json}}}]"#));
    assert_eq!(span.attributes[0].key, "k");
    span.attributes[0]
        .value
        .clone()
        .and_then(|value| value.value)
}

#[test]
fn attribute_values() {
    let check =
        |json: &str, expected: Option<Value>| assert_eq!(value_of(json), expected, "{json}");
    check("{}", None);
    check("null", None);
    check(
        r#"{"stringValue":""}"#,
        Some(Value::StringValue(String::new())),
    );
    check(
        r#"{"string_value":"x"}"#,
        Some(Value::StringValue("x".to_owned())),
    );
    check(r#"{"stringValue":null}"#, None);
    check(r#"{"boolValue":false}"#, Some(Value::BoolValue(false)));
    check(r#"{"boolValue":"true"}"#, Some(Value::BoolValue(true)));
    check(r#"{"intValue":"0"}"#, Some(Value::IntValue(0)));
    check(r#"{"intValue":42}"#, Some(Value::IntValue(42)));
    check(r#"{"intValue":-42.0}"#, Some(Value::IntValue(-42)));
    check(
        r#"{"intValue":"-9223372036854775808"}"#,
        Some(Value::IntValue(i64::MIN)),
    );
    check(
        r#"{"intValue":"9223372036854775807"}"#,
        Some(Value::IntValue(i64::MAX)),
    );
    check(r#"{"doubleValue":0}"#, Some(Value::DoubleValue(0.0)));
    check(r#"{"doubleValue":"0.1"}"#, Some(Value::DoubleValue(0.1)));
    check(
        r#"{"doubleValue":-1e-300}"#,
        Some(Value::DoubleValue(-1e-300)),
    );
    check(
        r#"{"doubleValue":"Infinity"}"#,
        Some(Value::DoubleValue(f64::INFINITY)),
    );
    check(
        r#"{"doubleValue":"-Infinity"}"#,
        Some(Value::DoubleValue(f64::NEG_INFINITY)),
    );
    check(r#"{"doubleValue":null}"#, None);
    assert!(
        matches!(value_of(r#"{"doubleValue":"NaN"}"#), Some(Value::DoubleValue(n)) if n.is_nan())
    );
    for bytes in ["+/+/AA==", "+/+/AA", "-_-_AA==", "-_-_AA"] {
        check(
            &format!(r#"{{"bytesValue":"{bytes}"}}"#),
            Some(Value::BytesValue(vec![251, 255, 191, 0])),
        );
    }
    let Some(Value::ArrayValue(array)) =
        value_of(r#"{"arrayValue":{"values":[null,{},{"intValue":1}]}}"#)
    else {
        panic!("an array");
    };
    assert_eq!(
        array
            .values
            .iter()
            .map(|v| v.value.clone())
            .collect::<Vec<_>>(),
        [None, None, Some(Value::IntValue(1))]
    );
    let Some(Value::KvlistValue(list)) = value_of(
        r#"{"kvlistValue":{"values":[{"key":"a","value":{"kvlistValue":{"values":[]}}}]}}"#,
    ) else {
        panic!("a list");
    };
    assert!(matches!(
        list.values[0].value.as_ref().unwrap().value,
        Some(Value::KvlistValue(_))
    ));
}

#[test]
fn errors_name_the_field_and_the_place_and_quote_nothing() {
    let check = |json: &str, expected: &str| {
        assert_eq!(
            from_json(json.as_bytes()).unwrap_err().to_string(),
            expected,
            "{json}"
        );
    };
    check("", "JSON cut short at line 1 column 0");
    check("null", "not an object at line 1 column 4");
    check("[]", "not an object at line 1 column 2");
    check("secret", "not JSON at line 1 column 1");
    check("{} x", "not JSON at line 1 column 4");
    check(
        r#"{"resourceSpans":[{"#,
        "JSON cut short at line 1 column 19",
    );
    check(
        "{\n\"resourceSpans\":\"secret\"}",
        "the value of resourceSpans is not one it can have at line 2 column 24",
    );
    let of_span = |fields: &str| from_json(in_span(fields).as_bytes()).unwrap_err().reason;
    let ids = "is not one it can have: ids are hex in OTLP/JSON, never base64";
    let check = |fields: &str, expected: String| assert_eq!(of_span(fields), expected, "{fields}");
    check(
        r#""traceId":"AQIDBAUGBwgJCgsMDQ4PEA==""#,
        format!("the value of traceId {ids}"),
    );
    check(
        r#""spanId":"AQIDBAUGBwg=""#,
        format!("the value of spanId {ids}"),
    );
    check(
        r#""parentSpanId":"abc""#,
        format!("the value of parentSpanId {ids}"),
    );
    check(r#""traceId":7"#, format!("the value of traceId {ids}"));
    for (fields, field) in [
        (r#""name":7"#, "name"),
        (r#""name":["secret"]"#, "name"),
        (r#""kind":"secret""#, "kind"),
        (r#""kind":4294967296"#, "kind"),
        (r#""kind":true"#, "kind"),
        (r#""startTimeUnixNano":-1"#, "startTimeUnixNano"),
        (r#""startTimeUnixNano":0.5"#, "startTimeUnixNano"),
        (r#""startTimeUnixNano":"inf""#, "startTimeUnixNano"),
        (
            r#""startTimeUnixNano":18446744073709551616"#,
            "startTimeUnixNano",
        ),
        (r#""flags":4294967296"#, "flags"),
        (r#""attributes":{}"#, "attributes"),
        (r#""attributes":["secret"]"#, "attributes"),
        (r#""status":[]"#, "status"),
        (r#""attributes":[{"value":{"intValue":"1.5"}}]"#, "intValue"),
        (
            r#""attributes":[{"value":{"intValue":9223372036854775808}}]"#,
            "intValue",
        ),
        (r#""attributes":[{"value":{"boolValue":1}}]"#, "boolValue"),
        (
            r#""attributes":[{"value":{"stringValue":1}}]"#,
            "stringValue",
        ),
    ] {
        check(
            fields,
            format!("the value of {field} is not one it can have"),
        );
    }
    let bytes = r#""attributes":[{"value":{"bytesValue":"*"}}]"#;
    check(
        bytes,
        "the value of bytesValue is not one it can have: it takes base64".to_owned(),
    );
}

#[test]
fn depth_is_bounded_in_both_directions() {
    let nested = |levels: usize| {
        let open = r#"{"arrayValue":{"values":["#.repeat(levels);
        in_span(&format!(
            r#""attributes":[{{"value":{open}{}}}]"#,
            "]}}".repeat(levels)
        ))
    };
    let deepest = from_json(nested(35).as_bytes()).unwrap();
    assert!(ExportTraceServiceRequest::decode(deepest.as_slice()).is_ok());
    assert!(to_json(&deepest).is_ok());
    for levels in [50, 100_000] {
        assert_eq!(
            from_json(nested(levels).as_bytes()).unwrap_err().reason,
            "JSON nested too deeply"
        );
    }
    let ignored = format!(r#"{{"x":{}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(from_json(ignored.as_bytes()), Ok(Vec::new()));
    // An array value (5) of a value (1) of an array value, and so on, in a span's attribute.
    let mut bytes = Vec::new();
    let around_the_list = [0x0a, 0x2a].into_iter().cycle().take(200);
    for tag in around_the_list.chain([0x12, 0x4a, 0x12, 0x12, 0x0a]) {
        let mut outer = vec![tag];
        prost::encoding::encode_varint(bytes.len() as u64, &mut outer);
        outer.extend_from_slice(&bytes);
        bytes = outer;
    }
    assert_eq!(to_json(&bytes), Err(PrintError::TooDeep));
}

#[test]
fn printed_as_the_collector_prints() {
    let fields = r#""traceId":"0102030405060708090A0B0C0D0E0F10","spanId":"0102030405060708","kind":"SPAN_KIND_SERVER",
        "name":"n\u0001","flags":257,"startTimeUnixNano":5,"attributes":[{"key":"a","value":{"intValue":7}},
        {"key":"b","value":{"doubleValue":1}},{"key":"c","value":{"bytesValue":"AAE"}},{"key":"d"},
        {"key":"e","value":{"doubleValue":"NaN"}},{"key":"f","value":{"doubleValue":1e21}},
        {"key":"g","value":{"doubleValue":0.0000001}},{"key":"h","value":{"stringValue":""}},
        {"key":"i","value":{"arrayValue":{}}}],"events":[{"timeUnixNano":1}],"status":{"code":2}"#;
    let expected = concat!(
        r#"{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{},"spans":[{"#,
        r#""traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708","flags":257,"name":"n\u0001","#,
        r#""kind":2,"startTimeUnixNano":"5","attributes":[{"key":"a","value":{"intValue":"7"}},"#,
        r#"{"key":"b","value":{"doubleValue":1}},{"key":"c","value":{"bytesValue":"AAE="}},{"key":"d","value":{}},"#,
        r#"{"key":"e","value":{"doubleValue":"NaN"}},{"key":"f","value":{"doubleValue":1e+21}},"#,
        r#"{"key":"g","value":{"doubleValue":1e-7}},{"key":"h","value":{"stringValue":""}},"#,
        r#"{"key":"i","value":{"arrayValue":{}}}],"events":[{"timeUnixNano":"1"}],"status":{"code":2}}]}]}]}"#,
    );
    assert_eq!(
        to_json(&from_json(in_span(fields).as_bytes()).unwrap()).unwrap(),
        expected
    );
}

#[test]
fn printing_follows_protobuf_where_fields_repeat_or_are_odd() {
    let in_scope = |span: &[u8]| {
        let len = span.len() as u8;
        [&[0x0a, len + 4, 0x12, len + 2, 0x12, len], span].concat()
    };
    let check = |span: &[u8], expected: &str| {
        let json = to_json(&in_scope(span)).unwrap();
        let start = json.find(r#""spans":[{"#).unwrap() + 10;
        assert_eq!(&json[start..json.len() - 7], expected, "{span:?}");
    };
    check(&[], r#""status":{}"#);
    // The last name wins; a status in two parts is one; unknown fields are left out; the order is the schema's.
    check(&[0x2a, 1, b'a', 0x2a, 1, b'b'], r#""name":"b","status":{}"#);
    check(
        &[0x7a, 2, 0x18, 2, 0x7a, 3, 0x12, 1, b'm'],
        r#""status":{"message":"m","code":2}"#,
    );
    check(
        &[0xfa, 0x7f, 1, 9, 0x2a, 1, b'a'],
        r#""name":"a","status":{}"#,
    );
    check(
        &[0x2a, 1, b'a', 0x0a, 1, 1],
        r#""traceId":"01","name":"a","status":{}"#,
    );
    // Invalid UTF-8 is replaced; a negative enum and a member that another one replaced.
    check(
        &[0x2a, 2, 0xff, b'"'],
        "\"name\":\"\u{fffd}\\\"\",\"status\":{}",
    );
    check(
        &[0x30, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
        r#""kind":-1,"status":{}"#,
    );
    check(
        &[0x4a, 7, 0x12, 5, 0x0a, 1, b'x', 0x18, 3],
        r#""attributes":[{"value":{"intValue":"3"}}],"status":{}"#,
    );
    for broken in [
        &[0x2a, 9][..],
        &[0x28, 1],
        &[0x0b],
        &[0x4a, 1, 0x80],
        &[0x30, 0x80],
    ] {
        assert!(
            matches!(to_json(&in_scope(broken)), Err(PrintError::Broken(_))),
            "{broken:?}"
        );
    }
}
