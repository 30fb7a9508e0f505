//! The text of the `debug` exporter, in the Collector's layout at each verbosity.

use super::debug_value::{attributes, typed};
use super::encode;
use super::settings::Verbosity;
use super::transport::Outgoing;
use crate::clock::Nanos;
use crate::otlp::Telemetry;
use bytes::Bytes;
use jiff::Timestamp;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use std::fmt::{Result, Write};

/// The request's outline: enough to count.
#[derive(Clone, PartialEq, Message)]
struct Outline {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    resource_spans: Vec<Bytes>,
}

/// What is printed for `out` at `now` (Unix nanoseconds).
pub(crate) fn of(out: &Outgoing, id: &str, verbosity: Verbosity, now: Nanos) -> String {
    let mut text = summary(out, id, now);
    if out.telemetry == Telemetry::Logs {
        // One line of OTLP JSON: the Collector's own layout is for people, and so is this.
        if verbosity > Verbosity::Basic {
            match encode::to_json(Telemetry::Logs, &out.request) {
                Ok(json) => text.extend([json.as_str(), "\n"]),
                Err(_) => text.push_str("(the request cannot be decoded)\n"),
            }
        }
        return text;
    }
    if verbosity > Verbosity::Basic {
        match ExportTraceServiceRequest::decode(out.request.clone()) {
            // Writing to a string cannot fail.
            Ok(request) if verbosity == Verbosity::Normal => {
                _ = normal(&mut text, &request.resource_spans)
            }
            Ok(request) => _ = detailed(&mut text, &request.resource_spans),
            Err(_) => text.push_str("(the request cannot be decoded)\n"),
        }
    }
    text
}

fn summary(out: &Outgoing, id: &str, now: Nanos) -> String {
    let resources = Outline::decode(out.request.clone())
        .unwrap_or_default()
        .resource_spans
        .len();
    let (stamp, id) = (rfc3339(now), serde_json::Value::from(id));
    if out.telemetry == Telemetry::Logs {
        return format!(
            "{stamp}\tinfo\tLogs\t{{\"otelcol.component.id\": {id}, \"otelcol.component.kind\": \"exporter\", \
             \"otelcol.signal\": \"logs\", \"resource logs\": {resources}, \"log records\": {}}}\n",
            out.spans
        );
    }
    format!(
        "{stamp}\tinfo\tTraces\t{{\"otelcol.component.id\": {id}, \"otelcol.component.kind\": \"exporter\", \
         \"otelcol.signal\": \"traces\", \"resource spans\": {resources}, \"spans\": {}}}\n",
        out.spans
    )
}

fn normal(text: &mut String, resources: &[ResourceSpans]) -> Result {
    for (n, resource) in resources.iter().enumerate() {
        let schema = bracketed(&resource.schema_url);
        let inner = resource
            .resource
            .as_ref()
            .map(|resource| attributes(&resource.attributes))
            .unwrap_or_default();
        writeln!(text, "ResourceTraces #{n}{schema}{inner}")?;
        for (n, scope_spans) in resource.scope_spans.iter().enumerate() {
            let (name, inner) = scope_spans
                .scope
                .as_ref()
                .map(scope_name)
                .unwrap_or_default();
            writeln!(
                text,
                "ScopeTraces #{n}{name}{}{inner}",
                bracketed(&scope_spans.schema_url)
            )?;
            for span in &scope_spans.spans {
                let ids = format!("{} {}", hex(&span.trace_id), hex(&span.span_id));
                writeln!(text, "{} {ids}{}", span.name, attributes(&span.attributes))?;
            }
        }
    }
    Ok(())
}

fn bracketed(schema_url: &str) -> String {
    if schema_url.is_empty() {
        String::new()
    } else {
        format!(" [{schema_url}]")
    }
}

fn scope_name(scope: &InstrumentationScope) -> (String, String) {
    let mut name = String::new();
    if !scope.name.is_empty() || !scope.version.is_empty() {
        name = format!(" {}", scope.name);
    }
    if !scope.version.is_empty() {
        name.push('@');
        name.push_str(&scope.version);
    }
    (name, attributes(&scope.attributes))
}

fn detailed(text: &mut String, resources: &[ResourceSpans]) -> Result {
    for (n, resource) in resources.iter().enumerate() {
        writeln!(
            text,
            "ResourceSpans #{n}\nResource SchemaURL: {}",
            resource.schema_url
        )?;
        let inner = resource
            .resource
            .as_ref()
            .map_or(&[][..], |resource| &resource.attributes);
        list(text, "Resource attributes", "     ", inner)?;
        for (n, scope_spans) in resource.scope_spans.iter().enumerate() {
            writeln!(
                text,
                "ScopeSpans #{n}\nScopeSpans SchemaURL: {}",
                scope_spans.schema_url
            )?;
            detailed_scope(text, scope_spans)?;
        }
    }
    Ok(())
}

fn detailed_scope(text: &mut String, scope_spans: &ScopeSpans) -> Result {
    let scope = scope_spans.scope.clone().unwrap_or_default();
    writeln!(
        text,
        "InstrumentationScope {} {}",
        scope.name, scope.version
    )?;
    list(
        text,
        "InstrumentationScope attributes",
        "     ",
        &scope.attributes,
    )?;
    for (n, span) in scope_spans.spans.iter().enumerate() {
        writeln!(text, "Span #{n}")?;
        detailed_span(text, span)?;
        list(text, "Attributes", "     ", &span.attributes)?;
        events(text, &span.events)?;
        links(text, &span.links)?;
    }
    Ok(())
}

fn detailed_span(text: &mut String, span: &Span) -> Result {
    let kind = match span.kind() {
        SpanKind::Unspecified => "Unspecified",
        SpanKind::Internal => "Internal",
        SpanKind::Server => "Server",
        SpanKind::Client => "Client",
        SpanKind::Producer => "Producer",
        SpanKind::Consumer => "Consumer",
    };
    let status = span.status.clone().unwrap_or_default();
    let code = match status.code() {
        StatusCode::Unset => "Unset",
        StatusCode::Ok => "Ok",
        StatusCode::Error => "Error",
    };
    let mut field = |name: &str, value: &str| writeln!(text, "    {name:<15}: {value}");
    field("Trace ID", &hex(&span.trace_id))?;
    field("Parent ID", &hex(&span.parent_span_id))?;
    field("ID", &hex(&span.span_id))?;
    field("Name", &span.name)?;
    field("Kind", kind)?;
    if !span.trace_state.is_empty() {
        field("TraceState", &span.trace_state)?;
    }
    field("Start time", &time(span.start_time_unix_nano))?;
    field("End time", &time(span.end_time_unix_nano))?;
    field("Status code", code)?;
    field("Status message", &status.message)?;
    field(
        "DroppedAttributesCount",
        &span.dropped_attributes_count.to_string(),
    )?;
    field("DroppedEventsCount", &span.dropped_events_count.to_string())?;
    field("DroppedLinksCount", &span.dropped_links_count.to_string())
}

fn events(text: &mut String, events: &[Event]) -> Result {
    if !events.is_empty() {
        writeln!(text, "Events:")?;
    }
    for (n, event) in events.iter().enumerate() {
        writeln!(text, "SpanEvent #{n}")?;
        writeln!(text, "     -> Name: {}", event.name)?;
        writeln!(text, "     -> Timestamp: {}", time(event.time_unix_nano))?;
        writeln!(
            text,
            "     -> DroppedAttributesCount: {}",
            event.dropped_attributes_count
        )?;
        list(text, "     -> Attributes:", "          ", &event.attributes)?;
    }
    Ok(())
}

fn links(text: &mut String, links: &[Link]) -> Result {
    if !links.is_empty() {
        writeln!(text, "Links:")?;
    }
    for (n, link) in links.iter().enumerate() {
        writeln!(text, "SpanLink #{n}")?;
        writeln!(text, "     -> Trace ID: {}", hex(&link.trace_id))?;
        writeln!(text, "     -> ID: {}", hex(&link.span_id))?;
        writeln!(text, "     -> TraceState: {}", link.trace_state)?;
        writeln!(
            text,
            "     -> DroppedAttributesCount: {}",
            link.dropped_attributes_count
        )?;
        list(text, "     -> Attributes:", "          ", &link.attributes)?;
    }
    Ok(())
}

fn list(text: &mut String, header: &str, indent: &str, attributes: &[KeyValue]) -> Result {
    if !attributes.is_empty() {
        writeln!(text, "{header}:")?;
    }
    for attribute in attributes {
        writeln!(
            text,
            "{indent}-> {}: {}",
            attribute.key,
            typed(attribute.value.as_ref())
        )?;
    }
    Ok(())
}

fn hex(id: &[u8]) -> String {
    let mut text = String::with_capacity(id.len() * 2);
    for byte in id {
        // Writing to a string cannot fail.
        _ = write!(text, "{byte:02x}");
    }
    text
}

/// As Go prints a time: `2020-02-11 20:26:12.000000321 +0000 UTC`.
fn time(unix_nanos: u64) -> String {
    let time = Timestamp::from_nanosecond(i128::from(unix_nanos)).unwrap_or(Timestamp::MAX);
    time.strftime("%Y-%m-%d %H:%M:%S%.f +0000 UTC").to_string()
}

fn rfc3339(unix_nanos: u64) -> String {
    let time = Timestamp::from_nanosecond(i128::from(unix_nanos)).unwrap_or(Timestamp::MAX);
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
