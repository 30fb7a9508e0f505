//! Keys of the processors that stand beside `tail_sampling`.

use super::Key;
use super::Shape::{self, Anything, Block, Flag, Many, Number, Text, TextOr, Whole, Words};

const ERROR_MODE: Key = Key::new(
    "error_mode",
    Words(&[
        "ignore",
        "silent",
        "propagate",
        "IGNORE",
        "SILENT",
        "PROPAGATE",
    ]),
    "What an error in a condition does; ignore.",
);

const TRACES: Shape = Block(&[
    Key::new("resource", Many(&Text), "Conditions of resources."),
    Key::new("span", Many(&Text), "Conditions of spans."),
    Key::new("spanevent", Many(&Text), "Conditions of events."),
]);

const GROUP: Shape = Block(&[
    Key::new(
        "context",
        Words(&["resource", "scope", "span", "spanevent"]),
        "What the conditions are for; else their paths tell.",
    ),
    Key::new("conditions", Many(&Text), "OTTL conditions."),
    ERROR_MODE,
]);

const CACHE: Shape = Block(&[
    Key::ignored("cacheenabled"),
    Key::ignored("cachemaxnumentries"),
]);

const ATTRIBUTE: Shape = Block(&[
    Key::new("key", Text, "The attribute."),
    Key::new("value", Anything, "Its value; any when left out."),
]);

const LIBRARY: Shape = Block(&[
    Key::new("name", Text, "Name of the scope."),
    Key::new("version", Text, "Its version; any when left out."),
]);

const MATCH: Shape = Block(&[
    Key::new(
        "match_type",
        Words(&["strict", "regexp"]),
        "How texts are compared.",
    ),
    Key::new("regexp", CACHE, "Taken, without effect."),
    Key::new("services", Many(&Text), "Any of these."),
    Key::new("span_names", Many(&Text), "Any of these."),
    Key::new("span_kinds", Many(&Text), "Any of these: SPAN_KIND_SERVER."),
    Key::new("attributes", Many(&ATTRIBUTE), "All of these."),
    Key::new("resources", Many(&ATTRIBUTE), "All of these."),
    Key::new("libraries", Many(&LIBRARY), "All of these scopes."),
]);

const INCLUDE: Key = Key::new("include", MATCH, "Only these spans.");
const EXCLUDE: Key = Key::new("exclude", MATCH, "Not these spans.");

pub(super) const FILTER: Shape = Block(&[
    ERROR_MODE,
    Key::new("traces", TRACES, "What is left out, by context."),
    Key::new(
        "trace_conditions",
        Many(&TextOr(&GROUP)),
        "What is left out; the paths of a condition tell its context.",
    ),
    Key::new("spans", Block(&[INCLUDE, EXCLUDE]), "The older style."),
    Key::ignored("metrics"),
    Key::ignored("logs"),
    Key::ignored("profiles"),
    Key::ignored("metric_conditions"),
    Key::ignored("log_conditions"),
    Key::ignored("profile_conditions"),
]);

const ACTION: Shape = Block(&[
    Key::new("key", Text, "The attribute."),
    Key::new(
        "action",
        Words(&[
            "insert", "update", "upsert", "delete", "hash", "extract", "convert", "INSERT",
            "UPDATE", "UPSERT", "DELETE", "HASH", "EXTRACT", "CONVERT",
        ]),
        "What is done with it.",
    ),
    Key::new("value", Anything, "The value."),
    Key::new("from_attribute", Text, "The attribute whose value it gets."),
    Key::new(
        "default_value",
        Anything,
        "The value when there is no other.",
    ),
    Key::new(
        "pattern",
        Text,
        "A regular expression: of keys to delete or hash, or with the groups to extract.",
    ),
    Key::new(
        "converted_type",
        Words(&["int", "double", "string"]),
        "The type it becomes.",
    ),
]);

pub(super) const ATTRIBUTES: Shape = Block(&[
    Key::new("actions", Many(&ACTION), "In their order."),
    INCLUDE,
    EXCLUDE,
]);

pub(super) const RESOURCE: Shape =
    Block(&[Key::new("attributes", Many(&ACTION), "In their order.")]);

pub(super) const SAMPLER: Shape = Block(&[
    Key::new("sampling_percentage", Number, "Percent of traces; 0."),
    Key::new("hash_seed", Whole, "Of the hash in the mode hash_seed; 0."),
    Key::new(
        "mode",
        Words(&["hash_seed", "proportional", "equalizing", ""]),
        "What decides, and how shares combine; hash_seed.",
    ),
    Key::new(
        "sampling_precision",
        Whole,
        "Hexadecimal digits of a threshold; 4.",
    ),
    Key::new(
        "fail_closed",
        Flag,
        "Spans that cannot be asked are left out; true.",
    ),
    Key::ignored("attribute_source"),
    Key::ignored("from_attribute"),
    Key::ignored("sampling_priority"),
]);
