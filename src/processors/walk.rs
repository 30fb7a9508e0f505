//! Leads a piece through all steps in one walk: every step sees a span as the steps before it have left it, under the
//! resource as they have left that.

use super::step::{Outcome, Step, Stop};
use crate::otlp::{Splice, WireError, raw_fields};
use crate::rules::ottl::SpanView;
use std::borrow::Cow;

pub(super) struct Walk<'s> {
    steps: &'s [Step],
    left: u64,
}

/// A resource as the steps see it.
struct Seen<'a> {
    schema_url: &'a [u8],
    versions: Vec<Cow<'a, [u8]>>,
    /// Which version each step sees.
    at: Vec<usize>,
}

impl Seen<'_> {
    fn view(&self, step: usize) -> SpanView<'_> {
        let version = self.at.get(step).and_then(|at| self.versions.get(*at));
        SpanView {
            resource: version.map_or(&[], |version| version),
            resource_schema_url: self.schema_url,
            ..SpanView::default()
        }
    }
}

impl<'s> Walk<'s> {
    pub(super) fn new(steps: &'s [Step]) -> Self {
        Self { steps, left: 0 }
    }

    /// Spans that are left.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// A `TracesData` message; `None`: as it was.
    pub(super) fn traces(&mut self, piece: &[u8]) -> Result<Option<Vec<u8>>, Stop> {
        let mut splice = Splice::new(piece);
        for field in raw_fields(piece) {
            let field = field?;
            if let Some(resource_spans) = field.message(1) {
                match self.resource_spans(resource_spans)? {
                    Outcome::Same => {}
                    Outcome::Gone => splice.cut(&field.range),
                    Outcome::New(body) => splice.replace(&field.range, 1, &body),
                }
            }
        }
        Ok(splice.finish())
    }

    fn resource_spans(&mut self, message: &[u8]) -> Result<Outcome, Stop> {
        let Some(seen) = self.resource(message)? else {
            return Ok(Outcome::Gone);
        };
        let before = self.left;
        let mut splice = Splice::new(message);
        // Of its resource: written where it stood first, or at the end.
        let mut new = seen.versions.last().filter(|_| seen.versions.len() > 1);
        let changed = new.is_some();
        let mut spans_gone = false;
        for field in raw_fields(message) {
            let field = field?;
            if changed && field.message(1).is_some() {
                splice.cut(&field.range);
                if let Some(resource) = new.take() {
                    splice.put(1, resource);
                }
            } else if let Some(scope_spans) = field.message(2) {
                match self.scope_spans(scope_spans, &seen)? {
                    Outcome::Same => {}
                    Outcome::Gone => {
                        spans_gone = true;
                        splice.cut(&field.range);
                    }
                    Outcome::New(body) => splice.replace(&field.range, 2, &body),
                }
            }
        }
        if spans_gone && self.left == before {
            return Ok(Outcome::Gone);
        }
        if let Some(resource) = new {
            splice.go_to_end();
            splice.put(1, resource);
        }
        Ok(splice.finish().into())
    }

    /// Asks all steps about the resource; `None`: it is left out.
    fn resource<'a>(&self, message: &'a [u8]) -> Result<Option<Seen<'a>>, Stop> {
        let (resource, schema_url) = envelope(message)?;
        let mut seen = Seen {
            schema_url,
            versions: vec![resource],
            at: Vec::with_capacity(self.steps.len()),
        };
        for (number, step) in self.steps.iter().enumerate() {
            seen.at.push(seen.versions.len() - 1);
            match step.resource(&seen.view(number))? {
                Outcome::Same => {}
                Outcome::Gone => return Ok(None),
                Outcome::New(version) => seen.versions.push(version.into()),
            }
        }
        Ok(Some(seen))
    }

    fn scope_spans(&mut self, message: &[u8], seen: &Seen<'_>) -> Result<Outcome, Stop> {
        let (scope, scope_schema_url) = envelope(message)?;
        let view = |step: usize| SpanView {
            scope: &scope,
            scope_schema_url,
            ..seen.view(step)
        };
        for (number, step) in self.steps.iter().enumerate() {
            if matches!(step.scope(&view(number))?, Outcome::Gone) {
                return Ok(Outcome::Gone);
            }
        }
        let before = self.left;
        let mut splice = Splice::new(message);
        let mut spans_gone = false;
        for field in raw_fields(message) {
            let field = field?;
            let Some(span) = field.message(2) else {
                continue;
            };
            match self.span(span, view)? {
                Outcome::Gone => {
                    spans_gone = true;
                    splice.cut(&field.range);
                    continue;
                }
                Outcome::Same => {}
                Outcome::New(body) => splice.replace(&field.range, 2, &body),
            }
            self.left += 1;
        }
        if spans_gone && self.left == before {
            return Ok(Outcome::Gone);
        }
        Ok(splice.finish().into())
    }

    fn span<'v>(&self, span: &[u8], view: impl Fn(usize) -> SpanView<'v>) -> Result<Outcome, Stop> {
        let mut new: Option<Vec<u8>> = None;
        for (number, step) in self.steps.iter().enumerate() {
            let around = view(number);
            let outcome = step.span(&SpanView {
                span: new.as_deref().unwrap_or(span),
                ..around
            })?;
            match outcome {
                Outcome::Same => {}
                Outcome::Gone => return Ok(Outcome::Gone),
                Outcome::New(body) => new = Some(body),
            }
        }
        Ok(new.into())
    }
}

/// The resource or scope of a message, and its schema URL. One that came in parts is put together.
fn envelope(message: &[u8]) -> Result<(Cow<'_, [u8]>, &[u8]), WireError> {
    let (mut child, mut url) = (Cow::Borrowed(&[][..]), &[][..]);
    for field in raw_fields(message) {
        let field = field?;
        if let Some(part) = field.message(1) {
            if child.is_empty() {
                child = Cow::Borrowed(part);
            } else {
                child.to_mut().extend_from_slice(part);
            }
        }
        url = field.message(3).unwrap_or(url);
    }
    Ok((child, url))
}
