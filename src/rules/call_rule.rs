//! The policy types that ask what a trace's model calls say, as the config gives them: checked, every default filled in.
//!
//! A trace without model calls matches none of them. What dialects mean by a token, a finish reason or an error is settled
//! in `genai` before a rule sees it.

use crate::genai::{Finish, TraceRecord};

/// Which tokens of a trace's calls: each call counted once, however many layers saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Tokens {
    /// What went in, cached ones included.
    Input,
    /// What came out, reasoning included.
    Output,
    /// Both.
    #[default]
    Total,
    /// Of those that went in, what a cache had.
    Cached,
    /// Of those that came out, the reasoning.
    Reasoning,
}

impl Tokens {
    /// Each with its word in the file.
    pub const WORDS: [(&'static str, Self); 5] = [
        ("input", Self::Input),
        ("output", Self::Output),
        ("total", Self::Total),
        ("cached", Self::Cached),
        ("reasoning", Self::Reasoning),
    ];

    /// How many a trace has; `None` when no call tells.
    #[must_use]
    pub fn of(self, record: &TraceRecord) -> Option<u64> {
        let of = |tokens: Option<u32>| tokens.map(u64::from);
        match self {
            Self::Input => of(record.input_tokens()),
            Self::Output => of(record.output_tokens()),
            Self::Total => Some(of(record.input_tokens())? + of(record.output_tokens())?),
            Self::Cached => of(record.cached_tokens()),
            Self::Reasoning => of(record.reasoning_tokens()),
        }
    }
}

/// What the tokens of one model cost, in whatever unit: per million.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    /// As it answers or is asked for, or its family: the name without version.
    pub model: String,
    /// Of tokens that went in.
    pub input: f64,
    /// Of tokens that came out.
    pub output: f64,
    /// Of tokens that went in and that a cache had.
    pub cached: f64,
}

/// A policy over model calls.
#[derive(Debug, Clone, PartialEq)]
pub enum CallRule {
    /// `token_count`: within an inclusive range.
    TokenCount {
        /// Which.
        of: Tokens,
        /// At least.
        min: u64,
        /// At most.
        max: u64,
    },
    /// `token_ratio`: `of` by `to` within an inclusive range; none of `to` matches nothing.
    TokenRatio {
        /// What is divided.
        of: Tokens,
        /// By what.
        to: Tokens,
        /// At least.
        min: f64,
        /// At most; infinite without a bound.
        max: f64,
    },
    /// `cost`: the sum over the calls within an inclusive range.
    Cost {
        /// No model twice.
        prices: Vec<Price>,
        /// A call of a model without a price makes the trace match; else it costs nothing.
        unknown_matches: bool,
        /// At least.
        min: f64,
        /// At most; infinite without a bound.
        max: f64,
    },
    /// `finish_reason`: one call ended so.
    FinishReason {
        /// Never empty.
        reasons: Vec<Finish>,
    },
    /// `cache_hit`: a cache had a part of a prompt, or calls tell of it and none did.
    CacheHit {
        /// Which of the two.
        hit: bool,
    },
    /// `evaluation_score`: an evaluation with a number in the range, or with one of the labels.
    EvaluationScore {
        /// Of the evaluation.
        name: String,
        /// The number is above this...
        above: Option<f64>,
        /// ...and below this.
        below: Option<f64>,
        /// Words.
        labels: Vec<String>,
    },
    /// `tool_error`: a tool failed.
    ToolError {
        /// Of these; any when empty.
        tools: Vec<String>,
    },
    /// `gen_ai_error`: a span of a known library failed.
    GenAiError {
        /// With one of these types, without module; any when empty.
        types: Vec<String>,
    },
}

impl CallRule {
    /// It needs all calls of a trace: sums, and that none was.
    #[must_use]
    pub fn is_stateful(&self) -> bool {
        match self {
            Self::TokenCount { .. } | Self::TokenRatio { .. } | Self::Cost { .. } => true,
            Self::CacheHit { hit } => !hit,
            _ => false,
        }
    }

    /// The `type` in the file.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::TokenCount { .. } => "token_count",
            Self::TokenRatio { .. } => "token_ratio",
            Self::Cost { .. } => "cost",
            Self::FinishReason { .. } => "finish_reason",
            Self::CacheHit { .. } => "cache_hit",
            Self::EvaluationScore { .. } => "evaluation_score",
            Self::ToolError { .. } => "tool_error",
            Self::GenAiError { .. } => "gen_ai_error",
        }
    }
}
