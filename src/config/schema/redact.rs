//! Keys of `redact`.

use super::Key;
use super::Shape::{self, Block, Many, Shared, Size, Text, TextOr};

const ACTION: Shape = TextOr(&Block(&[
    Key::new(
        "truncate",
        Size,
        "At most so many bytes of each text leave; JSON stays JSON.",
    ),
    Key::new("replace", Text, "This text leaves in its place."),
]));

const RULE: Shape = Block(&[
    Key::new(
        "keys",
        Many(&Text),
        "Keys of attributes; * stands for any text.",
    ),
    Key::new("action", ACTION, "keep, drop, hash, truncate or replace."),
]);

pub(crate) const REDACT: Shape = Shared(
    "redact",
    &Block(&[
        Key::new(
            "all",
            ACTION,
            "Every class that is not named below: keep, drop, hash, truncate or replace.",
        ),
        Key::new("prompt", ACTION, "What users ask."),
        Key::new("answer", ACTION, "What models answer."),
        Key::new("reasoning", ACTION, "What models think before."),
        Key::new("system", ACTION, "Instructions of the operator."),
        Key::new("tool_arguments", ACTION, "What tools are called with."),
        Key::new("tool_results", ACTION, "What tools give back."),
        Key::new("documents", ACTION, "What is retrieved."),
        Key::new("error", ACTION, "Messages and stack traces of errors."),
        Key::new(
            "attributes",
            Many(&RULE),
            "Attributes by key; the first rule that names one counts, before any class.",
        ),
        Key::new("hash_key", Text, "The key of hash: HMAC-SHA256."),
        Key::new("hash_key_file", Text, "The same, the first line of a file."),
    ]),
);
