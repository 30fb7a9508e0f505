//! Keys of the policies over model calls.

use super::Key;
use super::Shape::{self, Block, Flag, Many, Number, Text, Whole, Words};

pub(super) const TOKENS: Shape = Words(&["input", "output", "total", "cached", "reasoning"]);
const LEAST: Key = Key::new("min", Number, "At least.");
const MOST: Key = Key::new("max", Number, "At most.");

const PRICE: Shape = Block(&[
    Key::new(
        "model",
        Text,
        "The model that answers or is asked for, or its name without version.",
    ),
    Key::new("input", Number, "For a million tokens that go in; 0."),
    Key::new("output", Number, "For a million tokens that come out; 0."),
    Key::new(
        "cached",
        Number,
        "For a million tokens that go in and that a cache has; as `input`.",
    ),
]);

pub(super) const TOKEN_COUNT: Shape = Block(&[
    Key::new("of", TOKENS, "Which tokens; total."),
    Key::new("min", Whole, "At least."),
    Key::new("max", Whole, "At most."),
]);
pub(super) const TOKEN_RATIO: Shape = Block(&[
    Key::new("of", TOKENS, "Tokens that are divided; output."),
    Key::new("to", TOKENS, "By which; input."),
    LEAST,
    MOST,
]);
pub(super) const COST: Shape = Block(&[
    LEAST,
    MOST,
    Key::new("prices", Many(&PRICE), "Models and what they cost."),
    Key::new(
        "unknown_model",
        Words(&["ignore", "match"]),
        "A call of a model without a price costs nothing, or makes the trace match; ignore.",
    ),
]);
pub(super) const FINISH_REASON: Shape = Block(&[Key::new(
    "reasons",
    Many(&Words(&[
        "stop",
        "length",
        "content_filter",
        "tool_call",
        "error",
        "abort",
        "other",
    ])),
    "A call that ended in one of these ways matches.",
)]);
pub(super) const CACHE_HIT: Shape = Block(&[Key::new(
    "hit",
    Flag,
    "A cache had a part of a prompt; false: calls tell of it and none did; true.",
)]);
pub(super) const EVALUATION_SCORE: Shape = Block(&[
    Key::new("name", Text, "Name of the evaluation."),
    Key::new("above", Number, "The score is above this."),
    Key::new("below", Number, "The score is below this."),
    Key::new("labels", Many(&Text), "Or it has one of these labels."),
]);
pub(super) const TOOL_ERROR: Shape =
    Block(&[Key::new("tools", Many(&Text), "Names of tools; any.")]);
pub(super) const GEN_AI_ERROR: Shape = Block(&[Key::new(
    "types",
    Many(&Text),
    "Types of errors, without module; any.",
)]);
