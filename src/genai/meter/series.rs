//! The labels of a series, and the bound on how many there are.

use super::observation::{Observation, ScoreObservation};
use crate::genai::ModelName;
use prometheus_client::encoding::{EncodeLabelSet, LabelSetEncoder};
use std::collections::HashSet;
use std::fmt;
use std::hash::Hash;
use std::ops::Deref;
use std::sync::Arc;

/// What all series beyond the bound say.
const OTHER: &str = "other";

/// Whose calls: shared, since a trace adds to some dozen series that begin with it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Series(Arc<Labels>);

impl Deref for Series {
    type Target = Labels;

    fn deref(&self) -> &Labels {
        &self.0
    }
}

impl EncodeLabelSet for Series {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> fmt::Result {
        self.0.encode(encoder)
    }
}

/// Empty where the trace does not tell.
#[derive(Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Labels {
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) family: String,
    pub(super) version: String,
    pub(super) environment: String,
    pub(super) service: String,
}

impl Series {
    fn of(trace: &Observation<'_>) -> Self {
        let name = ModelName::of(trace.model.as_bytes());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self(Arc::new(Labels {
            provider: trace.provider.to_owned(),
            model: trace.model.to_owned(),
            family: text(name.family),
            version: text(name.version),
            environment: trace.environment.to_owned(),
            service: trace.service.to_owned(),
        }))
    }

    fn other() -> Self {
        let other = || OTHER.to_owned();
        Self(Arc::new(Labels {
            provider: other(),
            model: other(),
            family: other(),
            version: other(),
            environment: other(),
            service: other(),
        }))
    }
}

/// Whose evaluations: a judge's span seldom tells the model.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ScoreSeries {
    pub(super) evaluation: String,
    pub(super) environment: String,
    pub(super) service: String,
}

/// The series that there are: names come from outside, memory is ours.
#[derive(Debug)]
pub(super) struct Bounds {
    known: HashSet<Series>,
    scores: HashSet<ScoreSeries>,
    errors: HashSet<(Series, String)>,
    most: usize,
}

impl Bounds {
    pub(super) fn new(most: usize) -> Self {
        Self {
            known: HashSet::new(),
            scores: HashSet::new(),
            errors: HashSet::new(),
            most,
        }
    }

    /// The trace's series, or that of all others.
    pub(super) fn of(&mut self, trace: &Observation<'_>) -> Series {
        bounded(&mut self.known, self.most, Series::of(trace)).unwrap_or_else(Series::other)
    }

    /// What failed, or the word for all others: there are no more of these than of series.
    pub(super) fn of_error(&mut self, series: &Series, error_type: &str) -> String {
        let error = (series.clone(), error_type.to_owned());
        bounded(&mut self.errors, self.most, error)
            .map_or_else(|| OTHER.to_owned(), |error| error.1)
    }

    /// The evaluation's series, or that of all others.
    pub(super) fn of_score(&mut self, score: &ScoreObservation<'_>) -> ScoreSeries {
        let series = ScoreSeries {
            evaluation: score.evaluation.to_owned(),
            environment: score.environment.to_owned(),
            service: score.service.to_owned(),
        };
        bounded(&mut self.scores, self.most, series).unwrap_or_else(|| ScoreSeries {
            evaluation: OTHER.to_owned(),
            environment: OTHER.to_owned(),
            service: OTHER.to_owned(),
        })
    }
}

/// The series, if it is known or there is room for it beside that of all others.
fn bounded<S: Clone + Eq + Hash>(known: &mut HashSet<S>, most: usize, series: S) -> Option<S> {
    if let Some(same) = known.get(&series) {
        return Some(same.clone());
    }
    if known.len() + 1 >= most {
        return None;
    }
    known.insert(series.clone());
    Some(series)
}
