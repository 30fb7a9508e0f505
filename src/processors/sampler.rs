//! `probabilistic_sampler`: a coin for each span that is the same for all spans of a trace, and a note of it in the
//! tracestate of those that are left.

use super::hash::fnv1a_32;
use super::matching::{find, text};
use super::number;
use super::settings::{ProbabilisticSettings, SamplerMode};
use super::step::{Outcome, Stop};
use crate::otlp::{
    ALWAYS, AnyValue, NEVER, SampledState, Splice, TraceId, WireError, randomness_of, raw_fields,
    share_of, threshold_with_precision,
};
use crate::rules::ottl::SpanView;

/// The coin of `hash_seed` has 14 bits.
const BUCKETS: u32 = 1 << 14;
const BUCKET_BITS: u32 = 14;
/// Kept under every threshold but [`NEVER`].
const HIGHEST: u64 = NEVER - 1;

pub(super) struct Sampler {
    kind: Kind,
    fail_closed: bool,
}

enum Kind {
    /// 0 %.
    Never,
    Hash {
        threshold: u64,
        seed: u32,
    },
    Equalizing {
        threshold: u64,
    },
    Proportional {
        share: f64,
        digits: u32,
    },
}

/// What a span has to be decided by.
struct Asked<'a> {
    randomness: u64,
    /// `None`: it is not written again.
    state: Option<SampledState<'a>>,
    /// It can be asked.
    sound: bool,
}

impl Sampler {
    pub(super) fn new(settings: &ProbabilisticSettings) -> Self {
        Self {
            kind: Kind::new(settings),
            fail_closed: settings.fail_closed,
        }
    }

    pub(super) fn span(&self, view: &SpanView<'_>) -> Result<Outcome, Stop> {
        let before = text(view.span, 3)?;
        let trace = TraceId::from_slice(text(view.span, 1)?);
        let mut asked = self.kind.asked(trace, before);
        asked.check();
        let mut threshold = if asked.sound {
            self.kind.threshold(asked.state.as_ref())
        } else if self.fail_closed {
            NEVER
        } else {
            ALWAYS
        };
        match priority(view.span)? {
            Priority::Keep => threshold = ALWAYS,
            Priority::Drop => threshold = NEVER,
            Priority::None => {}
        }
        if threshold > asked.randomness {
            return Ok(Outcome::Gone);
        }
        let Some(mut state) = asked.state else {
            return Ok(Outcome::Same);
        };
        state.raise_threshold(threshold);
        Ok(with_state(view.span, before, &state.write())?.into())
    }
}

impl Kind {
    fn new(settings: &ProbabilisticSettings) -> Self {
        let percentage = settings.percentage.min(100.0);
        let share = (f64::from(percentage) / 100.0).max(share_of(HIGHEST));
        if percentage <= 0.0 {
            return Self::Never;
        }
        match settings.mode {
            SamplerMode::HashSeed => {
                #[allow(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    clippy::cast_precision_loss,
                    reason = "0 to 2^14; in 32 bits, as the Collector computes it"
                )]
                let kept = (percentage * (BUCKETS as f32 / 100.0)) as u32;
                if kept == 0 {
                    return Self::Never;
                }
                Self::Hash {
                    threshold: u64::from(BUCKETS.saturating_sub(kept)) << 42,
                    seed: settings.hash_seed,
                }
            }
            SamplerMode::Equalizing => Self::Equalizing {
                threshold: threshold_with_precision(share, settings.precision).unwrap_or(NEVER),
            },
            SamplerMode::Proportional => Self::Proportional {
                share,
                digits: settings.precision,
            },
        }
    }

    fn asked<'a>(&self, trace: Option<TraceId>, text: &'a [u8]) -> Asked<'a> {
        let (mut state, whole) = SampledState::read(text);
        match self {
            Self::Never => Asked {
                randomness: HIGHEST,
                state: Some(state),
                sound: whole,
            },
            Self::Hash { seed, .. } => {
                let randomness = trace.map(|trace| hashed(trace, *seed));
                // Who samples by the trace's randomness must not be mixed with who does not.
                let free = whole && state.randomness().is_none() && state.threshold().is_none();
                if free {
                    state.set_randomness(randomness.unwrap_or(HIGHEST));
                }
                Asked {
                    randomness: randomness.unwrap_or(HIGHEST),
                    state: free.then_some(state),
                    sound: free && randomness.is_some(),
                }
            }
            Self::Equalizing { .. } | Self::Proportional { .. } => {
                let own = || state.randomness().or_else(|| trace.map(randomness_of));
                let randomness = if whole { own() } else { None };
                Asked {
                    randomness: randomness.unwrap_or(HIGHEST),
                    state: whole.then_some(state),
                    sound: randomness.is_some(),
                }
            }
        }
    }

    fn threshold(&self, state: Option<&SampledState<'_>>) -> u64 {
        let before = state.and_then(SampledState::threshold);
        match self {
            Self::Never => NEVER,
            Self::Hash { threshold, .. } => *threshold,
            Self::Equalizing { threshold } => before.unwrap_or(ALWAYS).max(*threshold),
            Self::Proportional { share, digits } => {
                let share = before.map_or(1.0, share_of) * share;
                threshold_with_precision(share, *digits).unwrap_or(NEVER)
            }
        }
    }
}

impl Asked<'_> {
    /// A span that should not have come through the threshold it names has a false one.
    fn check(&mut self) {
        let Some(state) = self.state.as_mut().filter(|_| self.sound) else {
            return;
        };
        if state
            .threshold()
            .is_some_and(|threshold| threshold > self.randomness)
        {
            state.clear_threshold();
            self.sound = false;
        }
    }
}

/// The coin of `hash_seed` as a randomness of 56 bits: its first 14 decide, and the others are what was hashed.
fn hashed(trace: TraceId, seed: u32) -> u64 {
    let bytes = [&seed.to_le_bytes()[..], &trace.to_bytes()].concat();
    let hash = fnv1a_32(&bytes);
    let bucket = u64::from(hash & (BUCKETS - 1));
    let unused = u64::from(hash >> (32 - BUCKET_BITS));
    let mixed = unused ^ (unused << 10);
    (u64::from(BUCKETS) - 1 - bucket) << 42 | mixed << 14 | bucket
}

/// What `sampling.priority` says of a span.
enum Priority {
    Keep,
    Drop,
    None,
}

fn priority(span: &[u8]) -> Result<Priority, WireError> {
    let value = match find(span, 9, b"sampling.priority")? {
        Some(AnyValue::Int(value)) => number::widened(value),
        Some(AnyValue::Double(value)) => value,
        Some(AnyValue::Str(text)) => number::double(text).unwrap_or(f64::NAN),
        _ => f64::NAN,
    };
    Ok(if value > 0.0 {
        Priority::Keep
    } else if value == 0.0 {
        Priority::Drop
    } else {
        Priority::None
    })
}

/// The span with another tracestate; `None` when it has it already.
fn with_state(span: &[u8], before: &[u8], state: &str) -> Result<Option<Vec<u8>>, WireError> {
    if before == state.as_bytes() {
        return Ok(None);
    }
    let mut splice = Splice::new(span);
    let mut written = false;
    for field in raw_fields(span) {
        let field = field?;
        if field.message(3).is_some() {
            splice.cut(&field.range);
            if !std::mem::replace(&mut written, true) {
                splice.put(3, state.as_bytes());
            }
        }
    }
    if !written {
        splice.go_to_end();
        splice.put(3, state.as_bytes());
    }
    Ok(splice.finish())
}
