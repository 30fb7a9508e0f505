//! Checked settings of the processors: what the config hands over.
//!
//! Texts in them may be words that must not be shown, so `Debug` shows kinds and counts only.

use super::literal::Literal;
use serde::Serialize;
use std::fmt;

/// One processor of a pipeline.
#[derive(Clone, PartialEq)]
pub struct ProcessorSettings {
    /// `type` or `type/name`.
    pub id: String,
    /// What it does.
    pub kind: ProcessorKind,
}

/// What a processor does.
#[derive(Clone, PartialEq, Serialize)]
pub enum ProcessorKind {
    /// `filter`
    Filter(FilterSettings),
    /// `attributes`
    Attributes(AttributesSettings),
    /// `resource`
    Resource(Vec<ActionSettings>),
    /// `probabilistic_sampler`
    ProbabilisticSampler(ProbabilisticSettings),
}

/// Spans and events that are left out.
#[derive(Clone, PartialEq, Default, Serialize)]
pub struct FilterSettings {
    /// One after the other.
    pub groups: Vec<ConditionGroup>,
    /// `spans.include` and `spans.exclude`: what does not match is left out.
    pub spans: MatchRule,
}

/// OTTL conditions; what one of them holds for is left out.
#[derive(Clone, PartialEq, Default, Serialize)]
pub struct ConditionGroup {
    /// An error in a condition loses the whole piece (`error_mode: propagate`); else the condition does not hold.
    pub propagate: bool,
    /// Of a resource, with all that is in it.
    pub resource: Vec<String>,
    /// Of a scope.
    pub scope: Vec<String>,
    /// Of a span.
    pub span: Vec<String>,
    /// Of an event.
    pub spanevent: Vec<String>,
}

/// What is done with the attributes of spans.
#[derive(Clone, PartialEq, Serialize)]
pub struct AttributesSettings {
    /// In their order.
    pub actions: Vec<ActionSettings>,
    /// Of which spans.
    pub spans: MatchRule,
}

/// Which spans are meant: those that `include` matches, less those that `exclude` matches.
#[derive(Clone, PartialEq, Default, Serialize)]
pub struct MatchRule {
    /// `None`: all.
    pub include: Option<MatchSettings>,
    /// `None`: none.
    pub exclude: Option<MatchSettings>,
}

/// Properties of a span, all of which must match; an empty list matches everything.
#[derive(Clone, PartialEq, Default, Serialize)]
pub struct MatchSettings {
    /// Texts are regular expressions, unanchored.
    pub regexp: bool,
    /// `service.name` of the resource, any of these.
    pub services: Vec<String>,
    /// Any of these.
    pub span_names: Vec<String>,
    /// Any of these, as `SPAN_KIND_SERVER`.
    pub span_kinds: Vec<String>,
    /// All of these, with the value where there is one.
    pub attributes: Vec<(String, Option<Literal>)>,
    /// All of these of the resource.
    pub resources: Vec<(String, Option<Literal>)>,
    /// All of these (as the Collector has it).
    pub libraries: Vec<Library>,
}

/// A scope's name and, when it is given, version.
#[derive(Clone, PartialEq, Serialize)]
pub struct Library {
    /// Its name.
    pub name: String,
    /// `None`: any.
    pub version: Option<String>,
}

/// One action on attributes.
#[derive(Clone, PartialEq, Serialize)]
pub struct ActionSettings {
    /// The attribute; may be empty where a pattern stands beside it.
    pub key: String,
    /// What is done.
    pub kind: ActionKind,
}

/// What an action does.
#[derive(Clone, PartialEq, Serialize)]
pub enum ActionKind {
    /// Adds what is not there.
    Insert(ValueSource),
    /// Changes what is there.
    Update(ValueSource),
    /// Either.
    Upsert(ValueSource),
    /// Takes the attribute out, and those whose key matches the pattern.
    Delete(Option<String>),
    /// Replaces the value with its SHA-256 in hexadecimal, and those whose key matches the pattern.
    Hash(Option<String>),
    /// Makes attributes of the named groups of a regular expression.
    Extract(String),
    /// Changes the type where it can be.
    Convert(ConvertTo),
}

/// Where a value comes from: the first of these that there is.
#[derive(Clone, PartialEq, Default, Serialize)]
pub struct ValueSource {
    /// `value`
    pub value: Option<Literal>,
    /// `from_attribute`
    pub from_attribute: Option<String>,
    /// `default_value`
    pub default: Option<Literal>,
}

/// `converted_type`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum ConvertTo {
    /// `string`
    Text,
    /// `int`
    Int,
    /// `double`
    Double,
}

/// A sampler that decides span by span.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ProbabilisticSettings {
    /// 0 and more; above 100 is 100.
    pub percentage: f32,
    /// `hash_seed`
    pub hash_seed: u32,
    /// How.
    pub mode: SamplerMode,
    /// Hexadecimal digits of a threshold, 1 to 14.
    pub precision: u32,
    /// Spans that cannot be asked are left out.
    pub fail_closed: bool,
}

/// How a probabilistic sampler decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum SamplerMode {
    /// By a hash of the trace id and the seed.
    HashSeed,
    /// By the trace's randomness; the share is multiplied with what was sampled before.
    Proportional,
    /// By the trace's randomness; the share is that of all spans, whatever was sampled before.
    Equalizing,
}

/// A number that changes when what the processors do does; 0 for none. FNV-1a 32 over all that is set, of which it tells
/// nothing.
#[must_use]
pub fn fingerprint(processors: &[ProcessorSettings]) -> u32 {
    if processors.is_empty() {
        return 0;
    }
    let kinds: Vec<&ProcessorKind> = processors.iter().map(|processor| &processor.kind).collect();
    // Settings are plain data, with texts for keys: they can be written.
    let text = serde_json::to_vec(&kinds).unwrap_or_default();
    super::hash::fnv1a_32(&text)
}

impl ProcessorKind {
    fn label(&self) -> &'static str {
        match self {
            Self::Filter(_) => "filter",
            Self::Attributes(_) => "attributes",
            Self::Resource(_) => "resource",
            Self::ProbabilisticSampler(_) => "probabilistic_sampler",
        }
    }
}

impl fmt::Debug for ProcessorSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProcessorSettings({})", self.id)
    }
}

impl fmt::Debug for ProcessorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// Types whose texts `Debug` must not show.
macro_rules! hide {
    ($($name:ident),*) => {
        $(impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        })*
    };
}

hide!(
    FilterSettings,
    ConditionGroup,
    AttributesSettings,
    MatchRule,
    MatchSettings,
    Library,
    ActionSettings,
    ActionKind,
    ValueSource
);
