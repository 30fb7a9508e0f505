//! `attributes`: actions on the attributes of the spans that are meant.

use super::actions::Actions;
use super::matching::Matching;
use super::settings::AttributesSettings;
use super::step::{Outcome, Stop};
use crate::rules::ottl::SpanView;

pub(super) struct SpanAttributes {
    actions: Actions,
    spans: Matching,
}

impl SpanAttributes {
    /// `None` when an expression is none.
    pub(super) fn new(settings: &AttributesSettings) -> Option<Self> {
        Some(Self {
            actions: Actions::new(&settings.actions)?,
            spans: Matching::new(&settings.spans)?,
        })
    }

    pub(super) fn span(&self, view: &SpanView<'_>) -> Result<Outcome, Stop> {
        if !self.spans.means(view)? {
            return Ok(Outcome::Same);
        }
        Ok(self.actions.apply(view.span, 9)?.into())
    }
}
