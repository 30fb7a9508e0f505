//! Tests of one span's record: what a model call, a tool or an evaluation says by itself. Each is a bit.

use crate::genai::{Finish, FinishSet, Kind, Score, SpanRecord};

/// A test of what a known library says on a span.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CallTest {
    /// A call that ended in one of these ways.
    Finished(FinishSet),
    /// A call of which a cache had a part...
    CacheHit,
    /// ...or nothing.
    CacheMissed,
    /// An evaluation.
    Judged {
        name: Box<[u8]>,
        above: Option<f64>,
        below: Option<f64>,
        labels: Vec<Box<[u8]>>,
    },
    /// A tool failed; one of these, if any is named.
    ToolFailed(Vec<Box<[u8]>>),
    /// A span failed; with one of these types, if any is named.
    Failed(Vec<Box<[u8]>>),
}

impl CallTest {
    pub(super) fn holds(&self, record: &SpanRecord<&[u8]>) -> bool {
        let call = record.kind == Kind::Inference;
        match self {
            Self::Finished(reasons) => call && record.finish.meets(*reasons),
            Self::CacheHit => call && record.cache_hit == Some(true),
            Self::CacheMissed => call && record.cache_hit == Some(false),
            Self::Judged { name, .. } => record
                .scores
                .iter()
                .any(|score| score.name == Some(name) && self.fits(score)),
            Self::ToolFailed(tools) => {
                record.kind == Kind::Tool && record.error && among(tools, record.tool)
            }
            Self::Failed(types) => record.error && among(types, record.error_type),
        }
    }

    fn fits(&self, score: &Score<&[u8]>) -> bool {
        let Self::Judged {
            above,
            below,
            labels,
            ..
        } = self
        else {
            return false;
        };
        let bounded = above.is_some() || below.is_some();
        if !bounded && labels.is_empty() {
            return true;
        }
        let inside = |value: f64| {
            above.is_none_or(|above| value > above) && below.is_none_or(|below| value < below)
        };
        (bounded && score.value.is_some_and(inside))
            || score.label.is_some_and(|label| holds(labels, label))
    }
}

fn holds(all: &[Box<[u8]>], one: &[u8]) -> bool {
    all.iter().any(|other| **other == *one)
}

/// Any at all when none is named.
fn among(all: &[Box<[u8]>], one: Option<&[u8]>) -> bool {
    all.is_empty() || one.is_some_and(|one| holds(all, one))
}

/// The texts as bytes.
pub(super) fn bytes(texts: &[String]) -> Vec<Box<[u8]>> {
    texts.iter().map(|text| text.as_bytes().into()).collect()
}

/// The reasons as a set.
pub(super) fn set_of(reasons: &[Finish]) -> FinishSet {
    reasons
        .iter()
        .fold(FinishSet::default(), |set, reason| set.with(*reason))
}
