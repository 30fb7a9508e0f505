//! One step of a chain: what it does with a resource, a scope and a span.

use super::actions::Actions;
use super::attributes::SpanAttributes;
use super::chain::BuildError;
use super::filter::{Filter, SpanFilter};
use super::matching::Matching;
use super::sampler::Sampler;
use super::settings::{FilterSettings, MatchRule, ProcessorKind, ProcessorSettings};
use crate::otlp::WireError;
use crate::rules::ottl::SpanView;

pub(super) enum Step {
    Filter(Filter),
    SpanFilter(SpanFilter),
    Attributes(SpanAttributes),
    Resource(Actions),
    Sampler(Sampler),
}

/// What became of a message.
pub(super) enum Outcome {
    Same,
    Gone,
    New(Vec<u8>),
}

/// Why a piece is not walked to its end.
pub(super) enum Stop {
    /// Damaged.
    Wire(WireError),
    /// Nothing of it is left (`error_mode: propagate`).
    Lost,
}

impl From<WireError> for Stop {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}

impl From<Option<Vec<u8>>> for Outcome {
    fn from(new: Option<Vec<u8>>) -> Self {
        new.map_or(Self::Same, Self::New)
    }
}

impl Step {
    /// The steps of one processor.
    pub(super) fn of(settings: &ProcessorSettings) -> Result<Vec<Self>, BuildError> {
        let wrong = || BuildError {
            id: settings.id.clone(),
        };
        Ok(match &settings.kind {
            ProcessorKind::Filter(filter) => Self::of_filter(filter).ok_or_else(wrong)?,
            ProcessorKind::Attributes(attributes) => {
                let attributes = SpanAttributes::new(attributes).ok_or_else(wrong)?;
                vec![Self::Attributes(attributes)]
            }
            ProcessorKind::Resource(actions) => {
                vec![Self::Resource(Actions::new(actions).ok_or_else(wrong)?)]
            }
            ProcessorKind::ProbabilisticSampler(sampler) => {
                vec![Self::Sampler(Sampler::new(sampler))]
            }
        })
    }

    fn of_filter(settings: &FilterSettings) -> Option<Vec<Self>> {
        let groups = settings.groups.iter();
        let mut steps: Vec<Self> = groups
            .map(|group| Filter::new(group).ok().map(Self::Filter))
            .collect::<Option<_>>()?;
        if settings.spans != MatchRule::default() {
            let matching = Matching::new(&settings.spans)?;
            steps.push(Self::SpanFilter(SpanFilter::new(matching)));
        }
        Some(steps)
    }

    /// `view` has no scope and no span.
    pub(super) fn resource(&self, view: &SpanView<'_>) -> Result<Outcome, Stop> {
        match self {
            Self::Filter(filter) => filter.resource(view),
            Self::Resource(actions) => Ok(actions.apply(view.resource, 1)?.into()),
            Self::SpanFilter(_) | Self::Attributes(_) | Self::Sampler(_) => Ok(Outcome::Same),
        }
    }

    /// `view` has no span; a scope is never new.
    pub(super) fn scope(&self, view: &SpanView<'_>) -> Result<Outcome, Stop> {
        match self {
            Self::Filter(filter) => filter.scope(view),
            _ => Ok(Outcome::Same),
        }
    }

    pub(super) fn span(&self, view: &SpanView<'_>) -> Result<Outcome, Stop> {
        match self {
            Self::Filter(filter) => filter.span(view),
            Self::SpanFilter(filter) => filter.span(view),
            Self::Attributes(attributes) => attributes.span(view),
            Self::Resource(_) => Ok(Outcome::Same),
            Self::Sampler(sampler) => sampler.span(view),
        }
    }
}
