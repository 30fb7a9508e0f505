//! `filter`: what a condition holds for is left out, the innermost asked last.

use super::matching::Matching;
use super::settings::ConditionGroup;
use super::step::{Outcome, Stop};
use crate::otlp::{Splice, raw_fields};
use crate::rules::ottl::{Condition, Context, OttlError, SpanView};

/// Conditions that are asked together.
pub(super) struct Filter {
    /// An error loses the piece; else the next condition is asked.
    propagate: bool,
    resource: Vec<Condition>,
    scope: Vec<Condition>,
    span: Vec<Condition>,
    spanevent: Vec<Condition>,
}

impl Filter {
    pub(super) fn new(group: &ConditionGroup) -> Result<Self, OttlError> {
        let parse = |texts: &[String], context| {
            let conditions = texts.iter().map(|text| Condition::parse(text, context));
            conditions.collect::<Result<Vec<_>, _>>()
        };
        Ok(Self {
            propagate: group.propagate,
            resource: parse(&group.resource, Context::Resource)?,
            scope: parse(&group.scope, Context::Scope)?,
            span: parse(&group.span, Context::Span)?,
            spanevent: parse(&group.spanevent, Context::SpanEvent)?,
        })
    }

    pub(super) fn resource(&self, view: &SpanView<'_>) -> Result<Outcome, Stop> {
        self.gone_if(&self.resource, view)
    }

    pub(super) fn scope(&self, view: &SpanView<'_>) -> Result<Outcome, Stop> {
        self.gone_if(&self.scope, view)
    }

    pub(super) fn span(&self, view: &SpanView<'_>) -> Result<Outcome, Stop> {
        if self.any(&self.span, view)? {
            return Ok(Outcome::Gone);
        }
        if self.spanevent.is_empty() {
            return Ok(Outcome::Same);
        }
        let mut splice = Splice::new(view.span);
        for field in raw_fields(view.span) {
            let field = field?;
            if let Some(event) = field.message(11)
                && self.any(&self.spanevent, &SpanView { event, ..*view })?
            {
                splice.cut(&field.range);
            }
        }
        Ok(splice.finish().into())
    }

    fn gone_if(&self, conditions: &[Condition], view: &SpanView<'_>) -> Result<Outcome, Stop> {
        Ok(if self.any(conditions, view)? {
            Outcome::Gone
        } else {
            Outcome::Same
        })
    }

    fn any(&self, conditions: &[Condition], view: &SpanView<'_>) -> Result<bool, Stop> {
        for condition in conditions {
            match condition.eval(view) {
                Ok(true) => return Ok(true),
                Err(_) if self.propagate => return Err(Stop::Lost),
                Ok(false) | Err(_) => {}
            }
        }
        Ok(false)
    }
}

/// `spans.include` and `spans.exclude`.
pub(super) struct SpanFilter(Matching);

impl SpanFilter {
    pub(super) fn new(matching: Matching) -> Self {
        Self(matching)
    }

    pub(super) fn span(&self, view: &SpanView<'_>) -> Result<Outcome, Stop> {
        Ok(if self.0.means(view)? {
            Outcome::Same
        } else {
            Outcome::Gone
        })
    }
}
