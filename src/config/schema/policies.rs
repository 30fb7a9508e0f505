//! Keys of `policies`. Nesting ends after two levels, so that the tables need no recursion.

use super::Key;
use super::Shape::{self, Block, Flag, Many, Number, Text, Whole, Words};
use super::call_rules;

const INVERT: Key = Key::new("invert_match", Flag, "A trace without a match matches.");
const ATTRIBUTE: Key = Key::new("key", Text, "Key of a resource or span attribute.");

const NONE: Shape = Block(&[]);
const LATENCY_KEYS: Shape = Block(&[
    Key::new("threshold_ms", Whole, "Longer than this matches."),
    Key::new(
        "upper_threshold_ms",
        Whole,
        "Longer than this does not; 0 is no bound.",
    ),
]);
const STATUS_KEYS: Shape = Block(&[Key::new(
    "status_codes",
    Many(&Words(&["OK", "ERROR", "UNSET"])),
    "Any span with one of these matches.",
)]);
const STRING_KEYS: Shape = Block(&[
    ATTRIBUTE,
    Key::new("values", Many(&Text), "Values or regular expressions."),
    Key::new(
        "enabled_regex_matching",
        Flag,
        "The values are unanchored regular expressions.",
    ),
    Key::new("cache_max_size", Whole, "Taken; no effect on results."),
    INVERT,
]);
const NUMERIC_KEYS: Shape = Block(&[
    ATTRIBUTE,
    Key::new("min_value", Whole, "At least; 0 is not set."),
    Key::new("max_value", Whole, "At most; 0 is not set."),
    INVERT,
]);
const BOOLEAN_KEYS: Shape = Block(&[
    ATTRIBUTE,
    Key::new("value", Flag, "Value looked for; false."),
    INVERT,
]);
const COIN_KEYS: Shape = Block(&[
    Key::new("sampling_percentage", Number, "Share of traces that match."),
    Key::new("hash_salt", Text, "Mixed into the hash of the trace id."),
]);
const SPANS_KEYS: Shape = Block(&[
    Key::new("min_spans", Whole, "At least."),
    Key::new("max_spans", Whole, "At most; 0 is no bound."),
]);
const PERCENTILE_KEYS: Shape = Block(&[
    Key::new("percentile", Number, "Above 0 and below 100."),
    Key::new(
        "by",
        Many(&Text),
        "Attribute keys whose values are told apart.",
    ),
    Key::new(
        "floor_ms",
        Whole,
        "Never keeps a trace that is not longer; 0.",
    ),
    Key::new(
        "warmup_ms",
        Whole,
        "Threshold while there are few observations; 5000.",
    ),
    Key::new(
        "min_count",
        Whole,
        "Observations before the percentile counts; 1000.",
    ),
    Key::new(
        "of",
        Words(&[
            "trace",
            "duration",
            "span",
            "ttft",
            "time_per_output_token",
            "queue",
        ]),
        "What is observed; trace, which is its duration.",
    ),
    Key::new(
        "by_tokens",
        call_rules::TOKENS,
        "How many of these tokens there are is the last key, in buckets of powers of two.",
    ),
]);
const KEYWORDS_KEYS: Shape = Block(&[
    Key::new(
        "keywords",
        Many(&Text),
        "Words to look for in prompts and answers.",
    ),
    Key::new(
        "files",
        Many(&Text),
        "Files with a keyword a line, beside this file.",
    ),
]);

const STATE_KEYS: Shape = Block(&[
    Key::new("key", Text, "Key of a member of the tracestate."),
    Key::new("values", Many(&Text), "Values of the member."),
]);
const OTTL_KEYS: Shape = Block(&[
    Key::new(
        "error_mode",
        Text,
        "What a failed evaluation does: ignore, silent, propagate (any case); silent.",
    ),
    Key::new("span", Many(&Text), "Conditions on spans."),
    Key::new("spanevent", Many(&Text), "Conditions on events of spans."),
]);
const BURST: Key = Key::new(
    "burst_capacity",
    Whole,
    "Size of the bucket; twice the rate.",
);
const RATE_KEYS: Shape = Block(&[
    Key::new("spans_per_second", Whole, "Spans of matching traces."),
    BURST,
]);
const BYTES_KEYS: Shape = Block(&[
    Key::new(
        "bytes_per_second",
        Whole,
        "Bytes of matching traces, as the Collector would encode them.",
    ),
    BURST,
]);

const LEAF_TYPES: &[&str] = &[
    "always_sample",
    "latency",
    "status_code",
    "string_attribute",
    "numeric_attribute",
    "boolean_attribute",
    "probabilistic",
    "span_count",
    "trace_state",
    "trace_flags",
    "rate_limiting",
    "bytes_limiting",
    "ottl_condition",
    "latency_percentile",
    "prompt_keyword",
    "token_count",
    "token_ratio",
    "cost",
    "finish_reason",
    "cache_hit",
    "evaluation_score",
    "tool_error",
    "gen_ai_error",
];
const SHARE_TYPES: &[&str] = &[
    "always_sample",
    "latency",
    "status_code",
    "string_attribute",
    "numeric_attribute",
    "boolean_attribute",
    "probabilistic",
    "span_count",
    "trace_state",
    "trace_flags",
    "rate_limiting",
    "bytes_limiting",
    "ottl_condition",
    "latency_percentile",
    "prompt_keyword",
    "token_count",
    "token_ratio",
    "cost",
    "finish_reason",
    "cache_hit",
    "evaluation_score",
    "tool_error",
    "gen_ai_error",
    "and",
];
const CHILD_TYPES: &[&str] = &[
    "always_sample",
    "latency",
    "status_code",
    "string_attribute",
    "numeric_attribute",
    "boolean_attribute",
    "probabilistic",
    "span_count",
    "trace_state",
    "trace_flags",
    "rate_limiting",
    "bytes_limiting",
    "ottl_condition",
    "latency_percentile",
    "prompt_keyword",
    "token_count",
    "token_ratio",
    "cost",
    "finish_reason",
    "cache_hit",
    "evaluation_score",
    "tool_error",
    "gen_ai_error",
    "not",
];
const TOP_TYPES: &[&str] = &[
    "always_sample",
    "latency",
    "status_code",
    "string_attribute",
    "numeric_attribute",
    "boolean_attribute",
    "probabilistic",
    "span_count",
    "trace_state",
    "trace_flags",
    "rate_limiting",
    "bytes_limiting",
    "ottl_condition",
    "latency_percentile",
    "prompt_keyword",
    "token_count",
    "token_ratio",
    "cost",
    "finish_reason",
    "cache_hit",
    "evaluation_score",
    "tool_error",
    "gen_ai_error",
    "not",
    "and",
    "drop",
    "composite",
];

/// The keys of a policy: those of the leaves, then what combines. Blocks of other types are taken without effect.
macro_rules! policy {
    ($types:expr, $not:expr, $and:expr, $drop:expr, $composite:expr $(, $more:expr)*) => {
        Block(&[
            Key::new("name", Text, "Unique at the top level."),
            Key::new("type", Words($types), "Which of the blocks counts."),
            Key::new("always_sample", NONE, "Every trace matches."),
            Key::new(
                "latency",
                Shape::Shared("latency", &LATENCY_KEYS),
                "From first start to last end, in whole milliseconds.",
            ),
            Key::new(
                "status_code",
                Shape::Shared("status", &STATUS_KEYS),
                "Status of any span.",
            ),
            Key::new(
                "string_attribute",
                Shape::Shared("string", &STRING_KEYS),
                "A string attribute.",
            ),
            Key::new(
                "numeric_attribute",
                Shape::Shared("numeric", &NUMERIC_KEYS),
                "An integer attribute within a range.",
            ),
            Key::new(
                "boolean_attribute",
                Shape::Shared("boolean", &BOOLEAN_KEYS),
                "A boolean attribute.",
            ),
            Key::new(
                "probabilistic",
                Shape::Shared("coin", &COIN_KEYS),
                "A share of all traces, by trace id.",
            ),
            Key::new(
                "span_count",
                Shape::Shared("spans", &SPANS_KEYS),
                "Number of spans.",
            ),
            Key::new(
                "latency_percentile",
                Shape::Shared("percentile", &PERCENTILE_KEYS),
                "Slower than a percentile of the past.",
            ),
            Key::new(
                "prompt_keyword",
                Shape::Shared("keywords", &KEYWORDS_KEYS),
                "A word in a prompt or an answer.",
            ),
            Key::new(
                "token_count",
                Shape::Shared("token_count", &call_rules::TOKEN_COUNT),
                "Tokens of the model calls.",
            ),
            Key::new(
                "token_ratio",
                Shape::Shared("token_ratio", &call_rules::TOKEN_RATIO),
                "Tokens by tokens.",
            ),
            Key::new(
                "cost",
                Shape::Shared("cost", &call_rules::COST),
                "What the model calls cost.",
            ),
            Key::new(
                "finish_reason",
                Shape::Shared("finish_reason", &call_rules::FINISH_REASON),
                "Why a model stopped.",
            ),
            Key::new(
                "cache_hit",
                Shape::Shared("cache_hit", &call_rules::CACHE_HIT),
                "A cache had a part of a prompt.",
            ),
            Key::new(
                "evaluation_score",
                Shape::Shared("evaluation_score", &call_rules::EVALUATION_SCORE),
                "An evaluation of an answer.",
            ),
            Key::new(
                "tool_error",
                Shape::Shared("tool_error", &call_rules::TOOL_ERROR),
                "A tool failed.",
            ),
            Key::new(
                "gen_ai_error",
                Shape::Shared("gen_ai_error", &call_rules::GEN_AI_ERROR),
                "A span of a known LLM library failed.",
            ),
            Key::new("not", $not, "The sub-policy does not match."),
            Key::new("and", $and, "All sub-policies match."),
            Key::new(
                "drop",
                $drop,
                "All sub-policies match: the trace is dropped, whatever others say.",
            ),
            Key::new(
                "trace_state",
                Shape::Shared("state", &STATE_KEYS),
                "A member of any span's tracestate.",
            ),
            Key::new("trace_flags", NONE, "Any span with the sampled flag."),
            Key::new(
                "rate_limiting",
                Shape::Shared("rate", &RATE_KEYS),
                "As many spans a second.",
            ),
            Key::new(
                "bytes_limiting",
                Shape::Shared("bytes", &BYTES_KEYS),
                "As many bytes a second.",
            ),
            Key::new(
                "composite",
                $composite,
                "The first sub-policy that matches, within its share of spans a second.",
            ),
            Key::new(
                "ottl_condition",
                Shape::Shared("ottl", &OTTL_KEYS),
                "A condition on any span or event.",
            ),
            $($more,)*
        ])
    };
}

const NO: Shape = Shape::Ignored;
const LEAF_KEYS: Shape = policy!(LEAF_TYPES, NO, NO, NO, NO);
const LEAF: Shape = Shape::Shared("policy_below_not", &LEAF_KEYS);
const NOT: Shape = Block(&[Key::new("not_sub_policy", LEAF, "One policy.")]);
const CHILD_KEYS: Shape = policy!(CHILD_TYPES, NOT, NO, NO, NO);
const CHILD: Shape = Shape::Shared("policy_below_and", &CHILD_KEYS);
const AND: Shape = Block(&[Key::new(
    "and_sub_policy",
    Many(&CHILD),
    "A list of policies.",
)]);
const DROP: Shape = Block(&[Key::new(
    "drop_sub_policy",
    Many(&CHILD),
    "A list of policies.",
)]);
const SHARE_KEYS: Shape = policy!(SHARE_TYPES, NO, AND, NO, NO);
const SHARE: Shape = Shape::Shared("policy_below_composite", &SHARE_KEYS);
const COMPOSITE: Shape = Block(&[
    Key::new(
        "max_total_spans_per_second",
        Whole,
        "Spans a second of which sub-policies have shares.",
    ),
    Key::new(
        "composite_sub_policy",
        Many(&SHARE),
        "A list of policies; the first that matches decides.",
    ),
    Key::new(
        "rate_allocation",
        Many(&Block(&[
            Key::new("policy", Text, "Name of a sub-policy."),
            Key::new("percent", Whole, "Of the total; 0 is an equal share."),
        ])),
        "Shares; equal ones where none is given.",
    ),
    Key::new(
        "policy_order",
        Many(&Text),
        "Taken; no effect, as in the Collector.",
    ),
]);

const EXPORT_TO: Key = Key::new(
    "export_to",
    Many(&Text),
    "Exporters that get these traces, and of all others none but those that name them.",
);
const EVALUATE: Key = Key::new(
    "evaluate_percentage",
    Number,
    "So many percent of these traces go to export_to; 100.",
);

pub(crate) const POLICY: Shape = policy!(TOP_TYPES, NOT, AND, DROP, COMPOSITE, EXPORT_TO, EVALUATE);
