//! Walks JSON text to its scalars, each with the path to it, without building anything.
//!
//! Tolerant: what comes from telemetry is cut in the middle, quoted by Python's `repr` (`'`, `None`, `True`) or no JSON at
//! all; the walk then ends where it stops making sense. Linear in the text, of which only the first part is read, and
//! bounded in depth. Escapes inside a text are not undone: names and numbers have none.

use crate::otlp::AnyValue;

/// Bytes that are read; usage and finish reasons stand before or behind answers that are mostly shorter.
const MOST_BYTES: usize = 64 << 10;
/// Levels that are walked; the deepest path that the table asks for has eight.
const MOST_DEPTH: usize = 16;

/// One step of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step<'a> {
    Key(&'a [u8]),
    Element,
}

/// Calls `leaf` with the path and value of every scalar.
pub(super) fn json_leaves<'a>(text: &'a [u8], leaf: &mut dyn FnMut(&[Step<'a>], AnyValue<'a>)) {
    let mut walk = Walk {
        rest: text.get(..MOST_BYTES).unwrap_or(text),
        path: [Step::Element; MOST_DEPTH],
        depth: 0,
        leaf,
    };
    walk.value();
}

/// Whether `path` is `wanted`, where `*` is any element or key.
pub(super) fn fits(path: &[Step<'_>], wanted: &[Box<[u8]>]) -> bool {
    path.len() == wanted.len()
        && path.iter().zip(wanted).all(|(step, wanted)| match step {
            _ if **wanted == *b"*" => true,
            Step::Key(key) => *key == &**wanted,
            Step::Element => false,
        })
}

struct Walk<'a, 'f> {
    rest: &'a [u8],
    path: [Step<'a>; MOST_DEPTH],
    depth: usize,
    leaf: &'f mut dyn FnMut(&[Step<'a>], AnyValue<'a>),
}

impl<'a> Walk<'a, '_> {
    fn next(&mut self) -> Option<u8> {
        self.rest = self.rest.trim_ascii_start();
        self.rest.first().copied()
    }

    fn take(&mut self, wanted: u8) -> Option<()> {
        let rest = self.rest.trim_ascii_start().strip_prefix(&[wanted])?;
        self.rest = rest;
        Some(())
    }

    /// One value; `None` when the text makes no sense from here.
    fn value(&mut self) -> Option<()> {
        match self.next()? {
            b'{' => self.all(b'{', b'}', true),
            b'[' => self.all(b'[', b']', false),
            b'"' | b'\'' => {
                let text = self.text()?;
                self.emit(AnyValue::Str(text));
                Some(())
            }
            _ => self.word(),
        }
    }

    /// Recursion is bounded by `MOST_DEPTH`.
    fn all(&mut self, open: u8, close: u8, keys: bool) -> Option<()> {
        self.take(open)?;
        if self.depth == MOST_DEPTH {
            return None;
        }
        loop {
            if self.next()? == close {
                return self.take(close);
            }
            let step = if keys {
                let key = self.text()?;
                self.take(b':')?;
                Step::Key(key)
            } else {
                Step::Element
            };
            *self.path.get_mut(self.depth)? = step;
            self.depth += 1;
            self.value()?;
            self.depth -= 1;
            if self.next()? != close {
                self.take(b',')?;
            }
        }
    }

    /// What stands between quotes, escapes and all.
    fn text(&mut self) -> Option<&'a [u8]> {
        let (&quote, body) = self.rest.trim_ascii_start().split_first()?;
        if !matches!(quote, b'"' | b'\'') {
            return None;
        }
        let mut at = 0;
        loop {
            let step = memchr::memchr2(quote, b'\\', body.get(at..)?)?;
            at += step;
            if body.get(at) == Some(&quote) {
                break;
            }
            at += 2;
        }
        let (text, rest) = body.split_at_checked(at)?;
        self.rest = rest.get(1..)?;
        Some(text)
    }

    fn word(&mut self) -> Option<()> {
        let end = self
            .rest
            .iter()
            .position(|byte| !(byte.is_ascii_alphanumeric() || b"+-._".contains(byte)))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end).filter(|_| end > 0)?;
        self.rest = rest;
        match word {
            b"true" | b"True" => self.emit(AnyValue::Bool(true)),
            b"false" | b"False" => self.emit(AnyValue::Bool(false)),
            // Null, None: not there.
            [first, ..] if first.is_ascii_digit() || *first == b'-' => {
                self.emit(AnyValue::Str(word));
            }
            _ => {}
        }
        Some(())
    }

    fn emit(&mut self, value: AnyValue<'a>) {
        let path = self.path.get(..self.depth).unwrap_or_default();
        (self.leaf)(path, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(text: &str, path: &str) -> Vec<String> {
        let wanted: Vec<Box<[u8]>> = path.split('.').map(|step| step.as_bytes().into()).collect();
        let mut out = Vec::new();
        json_leaves(text.as_bytes(), &mut |path, value| {
            if fits(path, &wanted) {
                out.push(match value {
                    AnyValue::Str(text) => String::from_utf8_lossy(text).into_owned(),
                    other => format!("{other:?}"),
                });
            }
        });
        out
    }

    #[test]
    fn finds_by_path() {
        let text =
            r#"{"a": {"b": [1, {"c": "x\"y"}, {"c": "z"}]}, "d": true, "e": null, "f": -1.5e3}"#;
        let check =
            |path: &str, expected: &[&str]| assert_eq!(found(text, path), expected, "{path}");
        check("a.b.*", &["1"]);
        check("a.b.*.c", &[r#"x\"y"#, "z"]);
        check("d", &["Bool(true)"]);
        check("e", &[]);
        check("f", &["-1.5e3"]);
        check("a", &[]);
    }

    #[test]
    fn what_is_no_json_ends_it() {
        let check =
            |text: &str, expected: &[&str]| assert_eq!(found(text, "a"), expected, "{text}");
        check(r#"{'a': 5, 'b': None}"#, &["5"]);
        check(r#"{"a": 5, "b": "cut in the mid"#, &["5"]);
        check(r#"{"b": 1, "a""#, &[]);
        check(r#"{"a": 5 "b": 6, "a": 7}"#, &["5"]);
        check("{\"a\": \"x\\", &[]);
        check("plain text", &[]);
        check("", &[]);
        check(&"[".repeat(100_000), &[]);
    }

    proptest! {
        #[test]
        fn never_panics(text in r#"[\[\]{}"':,\\a1 é]{0,60}"#) {
            found(&text, "a.*");
        }

        #[test]
        fn equals_a_parser(value in arbitrary()) {
            let mut expected = Vec::new();
            flatten(&value, &mut String::new(), &mut expected);
            let mut read = Vec::new();
            let text = value.to_string();
            json_leaves(text.as_bytes(), &mut |path, value| {
                let path: String = path.iter().map(|step| match step {
                    Step::Key(key) => format!(".{}", String::from_utf8_lossy(key)),
                    Step::Element => ".*".to_owned(),
                }).collect();
                let value = match value {
                    AnyValue::Str(text) => String::from_utf8_lossy(text).into_owned(),
                    AnyValue::Bool(value) => value.to_string(),
                    other => format!("{other:?}"),
                };
                read.push((path, value));
            });
            prop_assert_eq!(read, expected);
        }
    }

    fn arbitrary() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(serde_json::Value::from),
            any::<i64>().prop_map(serde_json::Value::from),
            "[a-z{},:]{0,5}".prop_map(serde_json::Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
                proptest::collection::btree_map("[a-z]{1,3}", inner, 0..4)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn flatten(value: &serde_json::Value, path: &mut String, out: &mut Vec<(String, String)>) {
        let length = path.len();
        match value {
            serde_json::Value::Object(map) => {
                for (key, value) in map {
                    *path += &format!(".{key}");
                    flatten(value, path, out);
                    path.truncate(length);
                }
            }
            serde_json::Value::Array(list) => {
                for value in list {
                    *path += ".*";
                    flatten(value, path, out);
                    path.truncate(length);
                }
            }
            serde_json::Value::String(text) => out.push((path.clone(), text.clone())),
            other => out.push((path.clone(), other.to_string())),
        }
    }
}
