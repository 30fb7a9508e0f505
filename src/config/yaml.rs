//! YAML text to a located tree, with serde-saphyr.
//!
//! serde-saphyr gives every node's place (`Spanned`), resolves anchors and `<<`, and bounds aliases, depth and events;
//! with `PassThrough` it hands over duplicate keys, so that both places can be named. Scalars follow the core schema as
//! the Collector's parser reads it: `true` is a boolean and `yes` a string, `100_000`, `0x10` and `0o17` are integers.
//!
//! Its own error texts may quote the document; only the place and a fixed phrase are taken from them.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Error, Location, Options, Spanned};

use super::node::{Entry, Node, Place, Value};

/// Bytes of one source. A config is kilobytes; four MiB leave room for inline keyword lists.
pub(crate) const MAX_BYTES: usize = 4 << 20;
/// Nesting of mappings and lists; the deepest valid config has about 12.
const MAX_DEPTH: usize = 48;

/// Why a text is not YAML: a place (0:0 when unknown) and a phrase without any text of the document.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    pub place: Place,
    pub message: String,
}

/// Reads one document; an empty one is null.
pub(crate) fn parse(text: &str, file: u16) -> Result<Node, Broken> {
    if text.len() > MAX_BYTES {
        let place = Place {
            file,
            line: 0,
            column: 0,
        };
        return Err(Broken {
            place,
            message: "the file is larger than 4 MiB".to_owned(),
        });
    }
    match serde_saphyr::from_str_with_options::<Spanned<Raw>>(text, options()) {
        Ok(tree) => Ok(locate(
            tree,
            file,
            Place {
                file,
                line: 1,
                column: 1,
            },
        )),
        Err(error) => match error.without_snippet() {
            Error::Eof { .. } => Ok(Node::new(
                Place {
                    file,
                    line: 1,
                    column: 1,
                },
                Value::Null,
            )),
            error => Err(Broken {
                place: place_of(error.location(), file),
                message: phrase(error),
            }),
        },
    }
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: MAX_DEPTH, max_events: 500_000, max_nodes: 250_000 },
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 100_000, max_replay_stack_depth: 16, max_alias_expansions_per_anchor: 1_000
        },
        legacy_octal_numbers: true,
        strict_booleans: true,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        with_snippet: false,
        emit_comments: false,
    }
}

fn phrase(error: &Error) -> String {
    match error {
        Error::ExternalMessage { msg, .. } => format!("not valid YAML: {msg}"),
        Error::MultipleDocuments { .. } => {
            "more than one YAML document (`---`) in the file".to_owned()
        }
        Error::UnknownAnchor { .. } => {
            "alias (`*name`) to an anchor (`&name`) that is not defined above it".to_owned()
        }
        Error::Budget { .. } => "too large or nested too deeply".to_owned(),
        Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            "aliases (`*name`) expand to too much".to_owned()
        }
        Error::MergeValueNotMapOrSeqOfMaps { .. } => {
            "`<<` expects a mapping or a list of mappings".to_owned()
        }
        Error::InvalidScalar { ty, .. } => format!("not a valid {ty}"),
        Error::AliasError { error, .. } => phrase(error),
        Error::Message { msg, .. } if msg == KEY_KIND => KEY_KIND.to_owned(),
        _ => "not valid YAML".to_owned(),
    }
}

const KEY_KIND: &str = "a key must be a plain text or number";

fn place_of(location: Option<Location>, file: u16) -> Place {
    let (line, column) = location.map_or((0, 0), |at| (at.line(), at.column()));
    let known = |n: u64| u32::try_from(n).unwrap_or(0);
    Place {
        file,
        line: known(line),
        column: known(column),
    }
}

fn locate(spanned: Spanned<Raw>, file: u16, parent: Place) -> Node {
    let mut place = place_of(Some(spanned.defined), file);
    let value = match spanned.value {
        Raw::Null => {
            // An absent value has the place of whatever follows it.
            place = parent;
            Value::Null
        }
        Raw::Bool(value) => Value::Bool(value),
        Raw::Int(value) => Value::Int(value),
        Raw::Float(value) => Value::Float(value),
        Raw::Str(value) => Value::Str(value),
        Raw::Seq(items) => Value::Seq(
            items
                .into_iter()
                .map(|item| locate(item, file, place))
                .collect(),
        ),
        Raw::Map(pairs) => Value::Map(
            pairs
                .into_iter()
                .map(|(key, value)| entry(key, value, file))
                .collect(),
        ),
    };
    Node::new(place, value)
}

fn entry(key: Spanned<Key>, value: Spanned<Raw>, file: u16) -> Entry {
    let key_place = place_of(Some(key.defined), file);
    Entry {
        key: key.value.0,
        key_place,
        node: locate(value, file, key_place),
    }
}

enum Raw {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(String),
    Seq(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<Key>, Spanned<Raw>)>),
}

struct Key(String);

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match deserializer.deserialize_any(RawVisitor)? {
            Raw::Null => "null".to_owned(),
            Raw::Bool(value) => value.to_string(),
            Raw::Int(value) => value.to_string(),
            Raw::Float(value) => value.to_string(),
            Raw::Str(value) => value,
            Raw::Seq(_) | Raw::Map(_) => return Err(D::Error::custom(KEY_KIND)),
        };
        Ok(Self(text))
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Int(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Int(value.into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Raw, E> {
        Ok(Raw::Int(value))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Raw, E> {
        // Larger than any integer key; the range check says so.
        Ok(Raw::Int(i128::try_from(value).unwrap_or(i128::MAX)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Str(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Raw, E> {
        Ok(Raw::Str(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Raw::Seq(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = access.next_entry()? {
            pairs.push(pair);
        }
        Ok(Raw::Map(pairs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(node: &Node) -> String {
        let at = format!("@{}:{}", node.place.line, node.place.column);
        match &node.value {
            Value::Null => format!("null{at}"),
            Value::Bool(v) => format!("{v}{at}"),
            Value::Int(v) => format!("{v}{at}"),
            Value::Float(v) => format!("{v:?}{at}"),
            Value::Str(v) => format!("{v:?}{at}"),
            Value::Seq(items) => format!(
                "[{}]{at}",
                items.iter().map(outline).collect::<Vec<_>>().join(", ")
            ),
            Value::Faulty => "faulty".to_owned(),
            Value::Map(entries) => {
                let pair = |e: &Entry| {
                    format!(
                        "{}@{}:{}={}",
                        e.key,
                        e.key_place.line,
                        e.key_place.column,
                        outline(&e.node)
                    )
                };
                format!(
                    "{{{}}}{at}",
                    entries.iter().map(pair).collect::<Vec<_>>().join(", ")
                )
            }
        }
    }

    #[test]
    fn places_and_kinds() {
        let check = |text: &str, expected: &str| match parse(text, 0) {
            Ok(node) => assert_eq!(outline(&node), expected, "{text}"),
            Err(broken) => assert_eq!(
                format!(
                    "{}:{}: {}",
                    broken.place.line, broken.place.column, broken.message
                ),
                expected,
                "{text}"
            ),
        };
        check("", "null@1:1");
        check("# only a comment\n", "null@1:1");
        check(
            "a: 1\nb:\n  c: [x, 2.5]",
            "{a@1:1=1@1:4, b@2:1={c@3:3=[\"x\"@3:7, 2.5@3:10]@3:6}@3:3}@1:1",
        );
        check("a:\nb: 1", "{a@1:1=null@1:1, b@2:1=1@2:4}@1:1");
        check(
            "[100_000, 0x10, 0o17, 010, -5, 1e3]",
            "[100000@1:2, 16@1:11, 15@1:17, 8@1:23, -5@1:28, 1000.0@1:32]@1:1",
        );
        check(
            "[true, yes, 'true', ~, null, .nan, .inf]",
            "[true@1:2, \"yes\"@1:8, \"true\"@1:13, null@1:1, null@1:1, NaN@1:30, inf@1:36]@1:1",
        );
        check(
            "{1: a, true: b}",
            "{1@1:2=\"a\"@1:5, true@1:8=\"b\"@1:14}@1:1",
        );
        check("a: 1\na: 2", "{a@1:1=1@1:4, a@2:1=2@2:4}@1:1");
        check(
            "a: &x {k: 1}\nb: *x\nc: {<<: *x, m: 2}",
            "{a@1:1={k@1:8=1@1:11}@1:7, b@2:1={k@1:8=1@1:11}@1:7, c@3:1={m@3:13=2@3:16, k@1:8=1@1:11}@3:4}@1:1",
        );
        check("9223372036854775808", "9223372036854775808@1:1");
        check(
            "99999999999999999999999999999999999999999999999",
            "1e47@1:1",
        );
    }

    #[test]
    fn broken_texts() {
        let check = |text: &str, expected: &str| match parse(text, 0) {
            Ok(node) => panic!("{text} was read as {}", outline(&node)),
            Err(broken) => assert_eq!(broken.message, expected, "{text}"),
        };
        check(
            "a: *nope",
            "alias (`*name`) to an anchor (`&name`) that is not defined above it",
        );
        check(
            "a: 1\n---\nb: 2",
            "more than one YAML document (`---`) in the file",
        );
        check(
            &format!("{}1{}", "[".repeat(60), "]".repeat(60)),
            "too large or nested too deeply",
        );
        let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]";
        check(bomb, "aliases (`*name`) expand to too much");
        check("{? [a]: 1}", KEY_KIND);
    }
}
