//! `filter`: OTTL conditions in either of the Collector's styles, and the older `spans`.

use super::super::conditions::{condition, list, mode};
use super::super::fields::Fields;
use super::super::item::Item;
use super::super::node::Value;
use super::matching;
use crate::processors::{ConditionGroup, FilterSettings, MatchRule};
use crate::rules::ottl::{Context, ErrorMode, infer_context};

const CONTEXTS: [(&str, Context); 4] = [
    ("resource", Context::Resource),
    ("scope", Context::Scope),
    ("span", Context::Span),
    ("spanevent", Context::SpanEvent),
];

pub(super) fn decode(item: &Item<'_>) -> Option<FilterSettings> {
    let mut fields = item.fields()?;
    for other in [
        "metrics",
        "logs",
        "profiles",
        "metric_conditions",
        "log_conditions",
        "profile_conditions",
    ] {
        fields.no_effect(other, "only traces are taken here");
    }
    let error_mode = error_mode(&mut fields);
    let traces = fields.get("traces");
    let conditions = fields.get("trace_conditions");
    let spans = fields.get("spans");
    let written = [
        ("traces", &traces),
        ("trace_conditions", &conditions),
        ("spans", &spans),
    ];
    let mut written = written
        .iter()
        .filter_map(|(name, item)| Some((*name, (*item).as_ref()?)));
    let first = written.next();
    if let (Some((first, _)), Some((second, at))) = (first, written.next()) {
        at.error(format!("`{second}` cannot stand beside `{first}`"));
        return None;
    }
    let propagate = error_mode.flatten() == Some(ErrorMode::Propagate);
    let groups = match (&traces, &conditions) {
        (Some(traces), _) => by_context(traces, propagate).map(|group| vec![group]),
        (None, Some(conditions)) => inferred(conditions, propagate),
        (None, None) => Some(Vec::new()),
    };
    let spans = match &spans {
        Some(spans) => matching::rule(&mut spans.fields()?),
        None => Some(MatchRule::default()),
    };
    if first.is_none() {
        item.warning("filters nothing: there are no conditions for traces");
    }
    error_mode?;
    Some(FilterSettings {
        groups: groups?,
        spans: spans?,
    })
}

/// `None` inside when it is not set: the Collector's default is `ignore`.
fn error_mode(fields: &mut Fields<'_>) -> Option<Option<ErrorMode>> {
    let Some(item) = fields.get("error_mode") else {
        return Some(None);
    };
    let mode = mode(&item)?;
    if mode == ErrorMode::Propagate {
        item.warning(
            "an error in a condition loses the spans that came with the one it met, though they were acknowledged",
        );
    }
    Some(Some(mode))
}

/// `traces: {resource, span, spanevent}`
fn by_context(item: &Item<'_>, propagate: bool) -> Option<ConditionGroup> {
    let mut fields = item.fields()?;
    let resource = list(&mut fields, "resource", Context::Resource);
    let span = list(&mut fields, "span", Context::Span);
    let spanevent = list(&mut fields, "spanevent", Context::SpanEvent);
    Some(ConditionGroup {
        propagate,
        resource: resource?,
        scope: Vec::new(),
        span: span?,
        spanevent: spanevent?,
    })
}

/// `trace_conditions`: texts that are one group, or groups.
fn inferred(item: &Item<'_>, propagate: bool) -> Option<Vec<ConditionGroup>> {
    let items = item.list();
    let is_group = |item: &&Item<'_>| matches!(item.node.value, Value::Map(_));
    let groups = items.iter().filter(is_group).count();
    if groups > 0 && groups < items.len() {
        item.error_help(
            "expected conditions or groups of conditions, found both",
            "write each condition as `{conditions: [...]}`, or none of them",
        );
        return None;
    }
    if groups == 0 {
        return Some(vec![group_of(&items, None, propagate)?]);
    }
    let decoded: Vec<_> = items
        .iter()
        .filter_map(|item| group(item, propagate))
        .collect();
    (decoded.len() == items.len()).then_some(decoded)
}

fn group(item: &Item<'_>, propagate: bool) -> Option<ConditionGroup> {
    let mut fields = item.fields()?;
    let context = match fields.get("context") {
        Some(item) => context(&item).map(Some),
        None => Some(None),
    };
    let error_mode = error_mode(&mut fields);
    let conditions = fields.get("conditions").map(|item| item.list());
    let conditions = conditions.unwrap_or_default();
    let propagate = error_mode?.map_or(propagate, |mode| mode == ErrorMode::Propagate);
    group_of(&conditions, context?, propagate)
}

/// Letter case does not count, as in the Collector.
fn context(item: &Item<'_>) -> Option<Context> {
    let text = item.string()?.to_ascii_lowercase();
    let known = CONTEXTS.iter().find(|(name, _)| *name == text);
    if known.is_none() {
        item.error(format!(
            "expected one of `resource`, `scope`, `span`, `spanevent`{}",
            item.shown()
        ));
    }
    known.map(|(_, context)| *context)
}

/// Without `context` each condition says by its paths what it is for.
fn group_of(
    items: &[Item<'_>],
    context: Option<Context>,
    propagate: bool,
) -> Option<ConditionGroup> {
    let mut group = ConditionGroup {
        propagate,
        ..ConditionGroup::default()
    };
    let mut whole = true;
    for item in items {
        let placed = placed(item, context);
        whole &= placed.is_some();
        let Some((context, text)) = placed else {
            continue;
        };
        match context {
            Context::Resource => group.resource.push(text),
            Context::Scope => group.scope.push(text),
            Context::Span => group.span.push(text),
            Context::SpanEvent => group.spanevent.push(text),
        }
    }
    whole.then_some(group)
}

fn placed(item: &Item<'_>, context: Option<Context>) -> Option<(Context, String)> {
    let context = match context {
        Some(context) => context,
        None => match infer_context(&item.string()?) {
            Ok(context) => context,
            // What came from the environment is not shown.
            Err(_) if item.node.secret => {
                item.error("not a valid condition");
                return None;
            }
            Err(error) => {
                item.error(format!("not a valid condition: {error}"));
                return None;
            }
        },
    };
    Some((context, condition(item, context)?))
}
