//! The decoder kit, second part: [`Item`], one value that is read as what a key wants.
//!
//! Every reader records what is wrong and returns `None`; decoding goes on, so that one run shows all errors. Kinds are
//! as strict as the Collector's (a quoted number is no number); where the Collector wraps around or guesses a unit, the
//! value is refused. No message holds a secret value.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::decoder::{Decoder, join_typed};
use super::fields::Fields;
use super::go_duration::{self, BadDuration};
use super::node::{Entry, Node, Value};
use super::size;

/// A value under its dotted path.
#[derive(Clone)]
pub(crate) struct Item<'a> {
    pub decoder: &'a Decoder<'a>,
    pub node: &'a Node,
    pub path: String,
}

impl<'a> Item<'a> {
    /// Records an error at this value.
    pub(crate) fn error(&self, message: impl Into<String>) {
        self.decoder.error(self.node.place, &self.path, message);
    }

    /// Records an error and what to do about it.
    pub(crate) fn error_help(&self, message: impl Into<String>, help: impl Into<String>) {
        self.decoder
            .error_help(self.node.place, &self.path, message, help);
    }

    /// Records a warning at this value.
    pub(crate) fn warning(&self, message: impl Into<String>) {
        self.decoder.warning(self.node.place, &self.path, message);
    }

    fn wrong_kind<T>(&self, wanted: &str) -> Option<T> {
        if self.node.value != Value::Faulty {
            let shown = self.shown().replacen("found", "found the string", 1);
            let found = if shown.is_empty() {
                format!(", found {}", self.node.kind())
            } else {
                shown
            };
            self.error(format!("expected {wanted}{found}"));
        }
        None
    }

    /// The value in backquotes, or nothing when it must not be shown, is long, or may be several lines in one: a line
    /// that slipped out of a secret block would be folded into this value.
    pub(crate) fn shown(&self) -> String {
        match &self.node.value {
            Value::Str(text)
                if !self.node.secret && text.len() <= 80 && !text.contains(char::is_whitespace) =>
            {
                format!(", found `{text}`")
            }
            _ => String::new(),
        }
    }

    pub(crate) fn string(&self) -> Option<String> {
        if let Some(text) = &self.node.expanded {
            return Some(text.clone());
        }
        match &self.node.value {
            Value::Str(text) => Some(text.clone()),
            Value::Bool(_) | Value::Int(_) | Value::Float(_) => {
                self.error_help(
                    format!("expected a string, found {}", self.node.kind()),
                    "put the value in quotes",
                );
                None
            }
            _ => self.wrong_kind("a string"),
        }
    }

    pub(crate) fn boolean(&self) -> Option<bool> {
        match &self.node.value {
            Value::Bool(value) => Some(*value),
            _ => self.wrong_kind("`true` or `false`"),
        }
    }

    /// An integer within a range; a fraction is cut off with a warning, as the Collector cuts it silently.
    fn integer(&self, range: RangeInclusive<i128>) -> Option<i128> {
        let value = match &self.node.value {
            Value::Int(value) => *value,
            #[allow(
                clippy::cast_possible_truncation,
                reason = "a float beyond i128 saturates and is out of range"
            )]
            Value::Float(value) if value.is_finite() => {
                if value.fract() != 0.0 {
                    self.warning(
                        "an integer is expected here; the fraction is cut off, as in the Collector",
                    );
                }
                *value as i128
            }
            Value::Str(text) if text.parse::<i128>().is_ok() => {
                return self.wrong_kind("an integer (without quotes)");
            }
            _ => return self.wrong_kind("an integer"),
        };
        if range.contains(&value) {
            return Some(value);
        }
        self.error(format!(
            "out of range: expected an integer from {} to {}",
            range.start(),
            range.end()
        ));
        None
    }

    pub(crate) fn i64(&self) -> Option<i64> {
        self.integer(i64::MIN.into()..=i64::MAX.into())
            .and_then(|value| value.try_into().ok())
    }

    pub(crate) fn i32(&self) -> Option<i32> {
        self.integer(i32::MIN.into()..=i32::MAX.into())
            .and_then(|value| value.try_into().ok())
    }

    pub(crate) fn u64(&self) -> Option<u64> {
        self.u64_in(0, u64::MAX)
    }

    pub(crate) fn u64_in(&self, min: u64, max: u64) -> Option<u64> {
        self.integer(min.into()..=max.into())
            .and_then(|value| value.try_into().ok())
    }

    /// Any number but NaN.
    pub(crate) fn f64(&self) -> Option<f64> {
        match &self.node.value {
            #[allow(clippy::cast_precision_loss, reason = "a float is wanted")]
            Value::Int(value) => Some(*value as f64),
            Value::Float(value) if value.is_nan() => {
                self.error("expected a number, found NaN");
                None
            }
            Value::Float(value) => Some(*value),
            Value::Str(text) if text.parse::<f64>().is_ok() => {
                self.wrong_kind("a number (without quotes)")
            }
            _ => self.wrong_kind("a number"),
        }
    }

    pub(crate) fn duration(&self) -> Option<Duration> {
        const WANTED: &str = "a duration such as `30s`, `300ms` or `1h30m`";
        let text = match &self.node.value {
            Value::Str(text) => text,
            Value::Int(0) => return Some(Duration::ZERO),
            Value::Int(_) | Value::Float(_) => {
                let help = "the Collector would read nanoseconds; write the unit";
                self.error_help(
                    format!("expected {WANTED}, found a number without a unit"),
                    help,
                );
                return None;
            }
            _ => return self.wrong_kind(WANTED),
        };
        match go_duration::parse(text) {
            Ok(duration) => return Some(duration),
            Err(BadDuration::Syntax) => self.error(format!("expected {WANTED}{}", self.shown())),
            Err(BadDuration::NoUnit) => self.error(format!(
                "expected {WANTED}; the unit is missing{}",
                self.shown()
            )),
            Err(BadDuration::Negative) => self.error("a duration must not be negative"),
            Err(BadDuration::TooLong) => self.error("the duration is too long: at most 292 years"),
        }
        None
    }

    /// A number of bytes, plain or with a unit.
    pub(crate) fn bytes(&self) -> Option<u64> {
        const WANTED: &str = "a size such as `64MiB`, `20GiB` or a number of bytes";
        match &self.node.value {
            Value::Int(_) => self.u64(),
            Value::Str(text) => size::bytes(text).or_else(|| {
                self.error(format!("expected {WANTED}{}", self.shown()));
                None
            }),
            _ => self.wrong_kind(WANTED),
        }
    }

    /// One of some words.
    pub(crate) fn one_of<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let told = words.iter().filter(|(word, _)| !word.is_empty());
        let known: Vec<String> = told.map(|(word, _)| format!("`{word}`")).collect();
        let wanted = match known.as_slice() {
            [only] => only.clone(),
            _ => format!("one of {}", known.join(", ")),
        };
        let Value::Str(text) = &self.node.value else {
            return self.wrong_kind(&wanted);
        };
        let found = words
            .iter()
            .find(|(word, _)| word == text)
            .map(|(_, value)| *value);
        if found.is_none() {
            self.error(format!("expected {wanted}{}", self.shown()));
        }
        found
    }

    /// The items of a list; a single value is a list of one, as in the Collector.
    pub(crate) fn list(&self) -> Vec<Item<'a>> {
        match &self.node.value {
            Value::Seq(items) => {
                let item = |(i, node)| Item {
                    decoder: self.decoder,
                    node,
                    path: format!("{}[{i}]", self.path),
                };
                items.iter().enumerate().map(item).collect()
            }
            Value::Map(_) => self.wrong_kind("a list").unwrap_or_default(),
            Value::Null => Vec::new(),
            _ => vec![self.clone()],
        }
    }

    /// Nothing, or a list without items.
    pub(crate) fn list_is_empty(&self) -> bool {
        matches!(&self.node.value, Value::Null)
            || matches!(&self.node.value, Value::Seq(items) if items.is_empty())
    }

    /// A list of strings, or one string.
    pub(crate) fn strings(&self) -> Vec<String> {
        self.list().iter().filter_map(Item::string).collect()
    }

    /// The pairs of a mapping whose keys are free (headers, services).
    pub(crate) fn pairs(&self) -> Vec<(&'a Entry, Item<'a>)> {
        match &self.node.value {
            Value::Map(entries) => entries
                .iter()
                .map(|entry| {
                    let path = join_typed(self.node, &self.path, &entry.key);
                    (
                        entry,
                        Item {
                            decoder: self.decoder,
                            node: &entry.node,
                            path,
                        },
                    )
                })
                .collect(),
            _ => self.wrong_kind("a mapping").unwrap_or_default(),
        }
    }

    /// The fields of a mapping; null has none.
    pub(crate) fn fields(&self) -> Option<Fields<'a>> {
        match &self.node.value {
            Value::Map(entries) => Some(Fields::new(self.clone(), entries)),
            Value::Null => Some(Fields::new(self.clone(), &[])),
            _ => self.wrong_kind("a mapping"),
        }
    }
}
