//! Finds its way through JSON text without building anything: where a value ends, what the members of an object are.
//!
//! Stricter than a reader of telemetry need be: what is not understood is not told apart, and the caller then takes the
//! strictest way.

use super::json_cut::string_end;
use std::ops::Range;

/// Levels that are followed; messages have about ten.
const MOST_DEPTH: usize = 64;

/// The first byte at or behind `at` that is no white space.
pub(super) fn next(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let at = at + rest.iter().take_while(blank).count();
    (at < text.len()).then_some(at)
}

/// Where the value that begins at `at` ends.
pub(super) fn value_end(text: &[u8], at: usize) -> Option<usize> {
    end(text, at, 0)
}

fn end(text: &[u8], at: usize, depth: usize) -> Option<usize> {
    let at = next(text, at)?;
    match text.get(at)? {
        b'"' => string_end(text, at),
        open @ (b'{' | b'[') => {
            if depth == MOST_DEPTH {
                return None;
            }
            let mut items = Items::new(text, at, *open == b'{');
            loop {
                match items.next_at()? {
                    Place::End(end) => return Some(end),
                    Place::Item { value, .. } => items.go_on(end(text, value, depth + 1)?),
                }
            }
        }
        _ => {
            let word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
            let length = text.get(at..)?.iter().take_while(|byte| word(byte)).count();
            (length > 0).then_some(at + length)
        }
    }
}

/// What comes next in a list or object.
pub(super) enum Place {
    /// Behind the closing bracket.
    End(usize),
    /// A member or element; `key` is the name with its quotes.
    Item { key: Range<usize>, value: usize },
}

/// The items of a list or object.
pub(super) struct Items<'t> {
    text: &'t [u8],
    at: usize,
    object: bool,
    first: bool,
}

impl<'t> Items<'t> {
    /// `open` is where the bracket stands.
    pub(super) fn new(text: &'t [u8], open: usize, object: bool) -> Self {
        Self {
            text,
            at: open + 1,
            object,
            first: true,
        }
    }

    pub(super) fn next_at(&mut self) -> Option<Place> {
        let close = if self.object { b'}' } else { b']' };
        let mut at = next(self.text, self.at)?;
        match *self.text.get(at)? {
            byte if byte == close => return Some(Place::End(at + 1)),
            b',' if !self.first => at = next(self.text, at + 1)?,
            _ if self.first => {}
            _ => return None,
        }
        self.first = false;
        if !self.object {
            return Some(Place::Item {
                key: at..at,
                value: at,
            });
        }
        if self.text.get(at) != Some(&b'"') {
            return None;
        }
        let key = at..string_end(self.text, at)?;
        let colon = next(self.text, key.end)?;
        if self.text.get(colon) != Some(&b':') {
            return None;
        }
        let value = next(self.text, colon + 1)?;
        Some(Place::Item { key, value })
    }

    /// The item's value ended here.
    pub(super) fn go_on(&mut self, end: usize) {
        self.at = end;
    }
}

/// What stands between the quotes of a string, escapes and all.
pub(super) fn inside<'t>(text: &'t [u8], string: &Range<usize>) -> &'t [u8] {
    text.get(string.start + 1..string.end.saturating_sub(1))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_value_ends_where_it_ends(value in crate::redaction::tests::json(), behind in "[ ,}\\]]{0,3}") {
            let text = serde_json::to_string(&value).unwrap();
            let found = value_end(format!("{text}{behind}").as_bytes(), 0);
            prop_assert_eq!(found, Some(text.len()));
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            prop_assert_eq!(value_end(pretty.as_bytes(), 0), Some(pretty.len()));
        }

        #[test]
        fn never_panics(text in r#"[\[\]{}"':,\\a1 é]{0,60}"#) {
            value_end(text.as_bytes(), 0);
        }
    }

    #[test]
    fn depth_is_bounded() {
        let deep = "[".repeat(100_000);
        assert_eq!(value_end(deep.as_bytes(), 0), None);
    }
}
