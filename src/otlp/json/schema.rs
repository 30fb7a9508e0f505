//! The messages of OTLP traces and logs as a table.
//!
//! Source: opentelemetry-proto v1.10, `collector/trace/v1`, `collector/logs/v1`, `trace/v1`, `logs/v1`, `common/v1`, `resource/v1`. Fields stand in the
//! order of the .proto files, which is the order in which the Collector prints them.

use crate::otlp::Signal;

/// A message type.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) fields: &'static [Field],
    /// All fields are members of one `oneof`.
    pub(super) oneof: bool,
}

/// A field of it.
#[derive(Debug)]
pub(super) struct Field {
    /// lowerCamelCase; what is printed.
    pub(super) camel: &'static str,
    /// As in the .proto file; read as well.
    pub(super) snake: &'static str,
    pub(super) number: u32,
    pub(super) kind: Kind,
    pub(super) count: Count,
}

/// How often a field stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Count {
    /// Left out when it has its default.
    Optional,
    /// A message that the Collector prints even when it is absent, as `{}`.
    Always,
    Repeated,
}

/// What a field holds, in JSON and on the wire.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// Bytes as hex, against protobuf's own JSON rules.
    Id,
    Text,
    /// Bytes as base64.
    Base64,
    Bool,
    Double,
    /// int64 as a string of digits.
    Int64,
    Uint32,
    Fixed32,
    /// fixed64 as a string of digits.
    Fixed64,
    /// A number, or one of the names on reading.
    Enum(&'static [(&'static str, u64)]),
    Message(&'static Message),
}

const fn field(camel: &'static str, snake: &'static str, number: u32, kind: Kind) -> Field {
    Field {
        camel,
        snake,
        number,
        kind,
        count: Count::Optional,
    }
}

const fn always(
    camel: &'static str,
    snake: &'static str,
    number: u32,
    message: &'static Message,
) -> Field {
    Field {
        camel,
        snake,
        number,
        kind: Kind::Message(message),
        count: Count::Always,
    }
}

const fn many(
    camel: &'static str,
    snake: &'static str,
    number: u32,
    message: &'static Message,
) -> Field {
    Field {
        camel,
        snake,
        number,
        kind: Kind::Message(message),
        count: Count::Repeated,
    }
}

const fn texts(camel: &'static str, snake: &'static str, number: u32) -> Field {
    Field {
        camel,
        snake,
        number,
        kind: Kind::Text,
        count: Count::Repeated,
    }
}

const fn dropped(camel: &'static str, snake: &'static str, number: u32) -> Field {
    field(camel, snake, number, Kind::Uint32)
}

const fn message(fields: &'static [Field]) -> Message {
    Message {
        fields,
        oneof: false,
    }
}

/// The request of a signal.
pub(super) fn request_of(signal: Signal) -> &'static Message {
    match signal {
        Signal::Traces => &TRACES,
        Signal::Logs => &LOGS,
    }
}

/// `ExportTraceServiceRequest`.
static TRACES: Message = message(&[many("resourceSpans", "resource_spans", 1, &RESOURCE_SPANS)]);

/// `ExportLogsServiceRequest`.
static LOGS: Message = message(&[many("resourceLogs", "resource_logs", 1, &RESOURCE_LOGS)]);

static RESOURCE_LOGS: Message = message(&[
    always("resource", "resource", 1, &RESOURCE),
    many("scopeLogs", "scope_logs", 2, &SCOPE_LOGS),
    field("schemaUrl", "schema_url", 3, Kind::Text),
]);

static SCOPE_LOGS: Message = message(&[
    always("scope", "scope", 1, &SCOPE),
    many("logRecords", "log_records", 2, &LOG_RECORD),
    field("schemaUrl", "schema_url", 3, Kind::Text),
]);

static LOG_RECORD: Message = message(&[
    field("timeUnixNano", "time_unix_nano", 1, Kind::Fixed64),
    field(
        "observedTimeUnixNano",
        "observed_time_unix_nano",
        11,
        Kind::Fixed64,
    ),
    field(
        "severityNumber",
        "severity_number",
        2,
        Kind::Enum(SEVERITIES),
    ),
    field("severityText", "severity_text", 3, Kind::Text),
    always("body", "body", 5, &ANY_VALUE),
    many("attributes", "attributes", 6, &KEY_VALUE),
    dropped("droppedAttributesCount", "dropped_attributes_count", 7),
    field("flags", "flags", 8, Kind::Fixed32),
    field("traceId", "trace_id", 9, Kind::Id),
    field("spanId", "span_id", 10, Kind::Id),
    field("eventName", "event_name", 12, Kind::Text),
]);

static RESOURCE_SPANS: Message = message(&[
    always("resource", "resource", 1, &RESOURCE),
    many("scopeSpans", "scope_spans", 2, &SCOPE_SPANS),
    field("schemaUrl", "schema_url", 3, Kind::Text),
]);

static RESOURCE: Message = message(&[
    many("attributes", "attributes", 1, &KEY_VALUE),
    dropped("droppedAttributesCount", "dropped_attributes_count", 2),
    many("entityRefs", "entity_refs", 3, &ENTITY_REF),
]);

static ENTITY_REF: Message = message(&[
    field("schemaUrl", "schema_url", 1, Kind::Text),
    field("type", "type", 2, Kind::Text),
    texts("idKeys", "id_keys", 3),
    texts("descriptionKeys", "description_keys", 4),
]);

static SCOPE_SPANS: Message = message(&[
    always("scope", "scope", 1, &SCOPE),
    many("spans", "spans", 2, &SPAN),
    field("schemaUrl", "schema_url", 3, Kind::Text),
]);

static SCOPE: Message = message(&[
    field("name", "name", 1, Kind::Text),
    field("version", "version", 2, Kind::Text),
    many("attributes", "attributes", 3, &KEY_VALUE),
    dropped("droppedAttributesCount", "dropped_attributes_count", 4),
]);

static SPAN: Message = message(&[
    field("traceId", "trace_id", 1, Kind::Id),
    field("spanId", "span_id", 2, Kind::Id),
    field("traceState", "trace_state", 3, Kind::Text),
    field("parentSpanId", "parent_span_id", 4, Kind::Id),
    field("flags", "flags", 16, Kind::Fixed32),
    field("name", "name", 5, Kind::Text),
    field("kind", "kind", 6, Kind::Enum(SPAN_KINDS)),
    field(
        "startTimeUnixNano",
        "start_time_unix_nano",
        7,
        Kind::Fixed64,
    ),
    field("endTimeUnixNano", "end_time_unix_nano", 8, Kind::Fixed64),
    many("attributes", "attributes", 9, &KEY_VALUE),
    dropped("droppedAttributesCount", "dropped_attributes_count", 10),
    many("events", "events", 11, &EVENT),
    dropped("droppedEventsCount", "dropped_events_count", 12),
    many("links", "links", 13, &LINK),
    dropped("droppedLinksCount", "dropped_links_count", 14),
    always("status", "status", 15, &STATUS),
]);

static EVENT: Message = message(&[
    field("timeUnixNano", "time_unix_nano", 1, Kind::Fixed64),
    field("name", "name", 2, Kind::Text),
    many("attributes", "attributes", 3, &KEY_VALUE),
    dropped("droppedAttributesCount", "dropped_attributes_count", 4),
]);

static LINK: Message = message(&[
    field("traceId", "trace_id", 1, Kind::Id),
    field("spanId", "span_id", 2, Kind::Id),
    field("traceState", "trace_state", 3, Kind::Text),
    many("attributes", "attributes", 4, &KEY_VALUE),
    dropped("droppedAttributesCount", "dropped_attributes_count", 5),
    field("flags", "flags", 6, Kind::Fixed32),
]);

static STATUS: Message = message(&[
    field("message", "message", 2, Kind::Text),
    field("code", "code", 3, Kind::Enum(STATUS_CODES)),
]);

static KEY_VALUE: Message = message(&[
    field("key", "key", 1, Kind::Text),
    always("value", "value", 2, &ANY_VALUE),
]);

static ANY_VALUE: Message = Message {
    oneof: true,
    fields: &[
        field("stringValue", "string_value", 1, Kind::Text),
        field("boolValue", "bool_value", 2, Kind::Bool),
        field("intValue", "int_value", 3, Kind::Int64),
        field("doubleValue", "double_value", 4, Kind::Double),
        field("arrayValue", "array_value", 5, Kind::Message(&ARRAY_VALUE)),
        field(
            "kvlistValue",
            "kvlist_value",
            6,
            Kind::Message(&KEY_VALUE_LIST),
        ),
        field("bytesValue", "bytes_value", 7, Kind::Base64),
    ],
};

static ARRAY_VALUE: Message = message(&[many("values", "values", 1, &ANY_VALUE)]);

static KEY_VALUE_LIST: Message = message(&[many("values", "values", 1, &KEY_VALUE)]);

static SPAN_KINDS: &[(&str, u64)] = &[
    ("SPAN_KIND_UNSPECIFIED", 0),
    ("SPAN_KIND_INTERNAL", 1),
    ("SPAN_KIND_SERVER", 2),
    ("SPAN_KIND_CLIENT", 3),
    ("SPAN_KIND_PRODUCER", 4),
    ("SPAN_KIND_CONSUMER", 5),
];

static SEVERITIES: &[(&str, u64)] = &[
    ("SEVERITY_NUMBER_UNSPECIFIED", 0),
    ("SEVERITY_NUMBER_TRACE", 1),
    ("SEVERITY_NUMBER_TRACE2", 2),
    ("SEVERITY_NUMBER_TRACE3", 3),
    ("SEVERITY_NUMBER_TRACE4", 4),
    ("SEVERITY_NUMBER_DEBUG", 5),
    ("SEVERITY_NUMBER_DEBUG2", 6),
    ("SEVERITY_NUMBER_DEBUG3", 7),
    ("SEVERITY_NUMBER_DEBUG4", 8),
    ("SEVERITY_NUMBER_INFO", 9),
    ("SEVERITY_NUMBER_INFO2", 10),
    ("SEVERITY_NUMBER_INFO3", 11),
    ("SEVERITY_NUMBER_INFO4", 12),
    ("SEVERITY_NUMBER_WARN", 13),
    ("SEVERITY_NUMBER_WARN2", 14),
    ("SEVERITY_NUMBER_WARN3", 15),
    ("SEVERITY_NUMBER_WARN4", 16),
    ("SEVERITY_NUMBER_ERROR", 17),
    ("SEVERITY_NUMBER_ERROR2", 18),
    ("SEVERITY_NUMBER_ERROR3", 19),
    ("SEVERITY_NUMBER_ERROR4", 20),
    ("SEVERITY_NUMBER_FATAL", 21),
    ("SEVERITY_NUMBER_FATAL2", 22),
    ("SEVERITY_NUMBER_FATAL3", 23),
    ("SEVERITY_NUMBER_FATAL4", 24),
];

static STATUS_CODES: &[(&str, u64)] = &[
    ("STATUS_CODE_UNSET", 0),
    ("STATUS_CODE_OK", 1),
    ("STATUS_CODE_ERROR", 2),
];
