//! Which paths a context has, and what stands behind each.

use super::ast::{Path, Segment};
use super::error::OttlError;

/// What a condition is asked of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// A resource.
    Resource,
    /// A scope.
    Scope,
    /// A span.
    Span,
    /// An event of a span.
    SpanEvent,
}

/// What a path reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Attributes(Context),
    Dropped(Context),
    SchemaUrl(Context),
    ScopeName,
    ScopeVersion,
    TraceId,
    TraceIdText,
    SpanId,
    SpanIdText,
    Parent,
    ParentText,
    TraceState,
    Name,
    Kind,
    KindText,
    KindConstant,
    Start,
    StartNano,
    End,
    EndNano,
    Events,
    DroppedEvents,
    Links,
    DroppedLinks,
    Status,
    StatusCode,
    StatusMessage,
    Flags,
    EventName,
    EventTime,
    EventTimeNano,
    EventIndex,
    /// A scratch map that only statements fill: empty in a condition.
    Cache,
}

type Row = (&'static str, Field);

const RESOURCE: &[Row] = &[
    ("attributes", Field::Attributes(Context::Resource)),
    (
        "dropped_attributes_count",
        Field::Dropped(Context::Resource),
    ),
    ("schema_url", Field::SchemaUrl(Context::Resource)),
];
const SCOPE: &[Row] = &[
    ("name", Field::ScopeName),
    ("version", Field::ScopeVersion),
    ("attributes", Field::Attributes(Context::Scope)),
    ("dropped_attributes_count", Field::Dropped(Context::Scope)),
    ("schema_url", Field::SchemaUrl(Context::Scope)),
];
const SPAN: &[Row] = &[
    ("attributes", Field::Attributes(Context::Span)),
    ("dropped_attributes_count", Field::Dropped(Context::Span)),
    ("trace_id", Field::TraceId),
    ("trace_id.string", Field::TraceIdText),
    ("span_id", Field::SpanId),
    ("span_id.string", Field::SpanIdText),
    ("parent_span_id", Field::Parent),
    ("parent_span_id.string", Field::ParentText),
    ("trace_state", Field::TraceState),
    ("name", Field::Name),
    ("kind", Field::Kind),
    ("kind.string", Field::KindText),
    ("kind.deprecated_string", Field::KindConstant),
    ("start_time", Field::Start),
    ("start_time_unix_nano", Field::StartNano),
    ("end_time", Field::End),
    ("end_time_unix_nano", Field::EndNano),
    ("events", Field::Events),
    ("dropped_events_count", Field::DroppedEvents),
    ("links", Field::Links),
    ("dropped_links_count", Field::DroppedLinks),
    ("status", Field::Status),
    ("status.code", Field::StatusCode),
    ("status.message", Field::StatusMessage),
    ("flags", Field::Flags),
];
const SPAN_EVENT: &[Row] = &[
    ("name", Field::EventName),
    ("time", Field::EventTime),
    ("time_unix_nano", Field::EventTimeNano),
    ("attributes", Field::Attributes(Context::SpanEvent)),
    (
        "dropped_attributes_count",
        Field::Dropped(Context::SpanEvent),
    ),
    ("event_index", Field::EventIndex),
];

impl Context {
    fn rows(self) -> &'static [Row] {
        match self {
            Self::Resource => RESOURCE,
            Self::Scope => SCOPE,
            Self::Span => SPAN,
            Self::SpanEvent => SPAN_EVENT,
        }
    }

    /// The contexts that a path may name here.
    fn names(self) -> &'static [(&'static str, Self)] {
        const ALL: &[(&str, Context)] = &[
            ("resource", Context::Resource),
            ("scope", Context::Scope),
            ("instrumentation_scope", Context::Scope),
            ("span", Context::Span),
            ("spanevent", Context::SpanEvent),
        ];
        let count = match self {
            Self::Resource => 1,
            Self::Scope => 3,
            Self::Span => 4,
            Self::SpanEvent => 5,
        };
        ALL.get(..count).unwrap_or(ALL)
    }

    /// The context that a path's first part names here.
    pub(super) fn named(self, name: &str) -> Option<Self> {
        let mut names = self.names().iter();
        names
            .find(|(known, _)| *known == name)
            .map(|(_, context)| *context)
    }

    /// A condition here can ask for what is in `other`.
    pub(super) fn sees(self, other: Self) -> bool {
        self != other && self.names().iter().any(|(_, context)| *context == other)
    }

    fn label(self) -> &'static str {
        match self {
            Self::Resource => "resource",
            Self::Scope => "scope",
            Self::Span => "span",
            Self::SpanEvent => "spanevent",
        }
    }
}

impl Field {
    /// `["key"]` may follow.
    fn is_keyed(self) -> bool {
        matches!(self, Self::Attributes(_) | Self::TraceState | Self::Cache)
    }
}

/// Finds what a path means in a context; its keys are those of the last segment.
pub(super) fn resolve(text: &str, context: Context, path: &Path) -> Result<Field, OttlError> {
    let refuse = |message: String| OttlError::at(text, path.at, message);
    let (home, segments) = home_of(context, &path.segments);
    if path
        .segments
        .first()
        .is_some_and(|first| first.name == "otelcol")
    {
        return Err(refuse(
            "`otelcol` paths ask for the request that brought a span; a decision knows the trace only".into(),
        ));
    }
    let names: Vec<&str> = segments.iter().map(|segment| &*segment.name).collect();
    let written = names.join(".");
    let field = match home.rows().iter().find(|(name, _)| *name == written) {
        Some((_, field)) => *field,
        None if written == "cache" && home == context => Field::Cache,
        None => return Err(unknown(text, home, path, &written)),
    };
    let keyed = segments
        .iter()
        .rposition(|segment| !segment.keys.is_empty());
    match keyed {
        Some(at) if at + 1 < segments.len() || !field.is_keyed() => {
            Err(refuse(format!("`{written}` cannot be indexed there")))
        }
        _ => Ok(field),
    }
}

fn home_of(context: Context, segments: &[Segment]) -> (Context, &[Segment]) {
    if let [first, rest @ ..] = segments
        && first.keys.is_empty()
        && !rest.is_empty()
        && let Some((_, home)) = context.names().iter().find(|(name, _)| *name == first.name)
    {
        return (*home, rest);
    }
    (context, segments)
}

fn unknown(text: &str, home: Context, path: &Path, written: &str) -> OttlError {
    let longest = home
        .rows()
        .iter()
        .filter(|(name, _)| {
            written.starts_with(name) && written.get(name.len()..=name.len()) == Some(".")
        })
        .max_by_key(|(name, _)| name.len());
    let message = match longest {
        Some((name, _)) => format!(
            "`{name}` has no part `{}`",
            written.get(name.len() + 1..).unwrap_or_default()
        ),
        None => format!("`{written}` is not a path of the {} context", home.label()),
    };
    OttlError::at(text, path.at, message)
        .with_known(written, home.rows().iter().map(|(name, _)| *name).collect())
}
