//! JSON text of messages whose parts are of several classes: each text of it is treated as its own class.
//!
//! A part's class is told by its `type` or `role`, else by the name under which it stands, else by what is around it.
//! What is kept stays byte for byte, and JSON stays JSON. Names of members are kept: where they might be text (arguments
//! of a tool), the whole object is one text.

use super::class::{FieldClass, is_kind, is_structure, is_word, of_member, of_role, of_type};
use super::json_walk::{Items, Place, inside, next, value_end};
use super::redactor::Redactor;
use super::settings::Action;
use std::ops::Range;

/// `None`: it is no JSON.
pub(super) fn redact(
    redactor: &Redactor,
    text: &[u8],
    class: FieldClass,
    nested: usize,
) -> Option<Vec<u8>> {
    let end = value_end(text, 0)?;
    // Anything behind it is nothing that was understood.
    if next(text, end).is_some() {
        return None;
    }
    let mut writer = Writer {
        redactor,
        text,
        nested,
        done: 0,
        out: Vec::with_capacity(text.len()),
    };
    writer.value(next(text, 0)?, class)?;
    writer.copy_to(text.len());
    Some(writer.out)
}

struct Writer<'a> {
    redactor: &'a Redactor,
    text: &'a [u8],
    nested: usize,
    /// Everything before this is written, or left out.
    done: usize,
    out: Vec<u8>,
}

/// What an object says of itself.
struct Told {
    /// It is a part of a message.
    part: bool,
    class: Option<FieldClass>,
}

impl Writer<'_> {
    fn copy_to(&mut self, end: usize) {
        let before = self.text.get(self.done..end).unwrap_or_default();
        self.out.extend_from_slice(before);
        self.done = end;
    }

    fn replace(&mut self, range: &Range<usize>, new: &[u8]) {
        self.copy_to(range.start);
        self.out.extend_from_slice(new);
        self.done = range.end;
    }

    /// Writes the value at `at`; where it ends. The recursion is as deep as `value_end` has allowed.
    fn value(&mut self, at: usize, class: FieldClass) -> Option<usize> {
        match self.text.get(at)? {
            b'{' => self.object(at, class),
            b'[' => {
                let mut items = Items::new(self.text, at, false);
                loop {
                    match items.next_at()? {
                        Place::End(end) => return Some(end),
                        Place::Item { value, .. } => items.go_on(self.value(value, class)?),
                    }
                }
            }
            b'"' => {
                let range = at..value_end(self.text, at)?;
                self.string(&range, class);
                Some(range.end)
            }
            first => {
                let number = first.is_ascii_digit() || *first == b'-';
                let range = at..value_end(self.text, at)?;
                if number {
                    self.whole(&range, class);
                }
                Some(range.end)
            }
        }
    }

    fn object(&mut self, at: usize, class: FieldClass) -> Option<usize> {
        let told = self.told(at)?;
        let plain = matches!(class, FieldClass::Prompt | FieldClass::Answer);
        if !told.part && !plain {
            let range = at..value_end(self.text, at)?;
            self.whole(&range, class);
            return Some(range.end);
        }
        let class = told.class.unwrap_or(class);
        let mut items = Items::new(self.text, at, true);
        loop {
            match items.next_at()? {
                Place::End(end) => return Some(end),
                Place::Item { key, value } => {
                    let key = inside(self.text, &key);
                    let end = if is_structure(key) && self.is_word(value)? {
                        value_end(self.text, value)?
                    } else {
                        self.value(value, of_member(key).unwrap_or(class))?
                    };
                    items.go_on(end);
                }
            }
        }
    }

    /// What an object says of itself.
    fn told(&self, at: usize) -> Option<Told> {
        let (mut part, mut by_kind, mut by_role) = (false, None, None);
        let mut items = Items::new(self.text, at, true);
        loop {
            match items.next_at()? {
                Place::End(_) => {
                    let class = by_kind.or(by_role);
                    return Some(Told { part, class });
                }
                Place::Item { key, value } => {
                    let key = inside(self.text, &key);
                    let end = value_end(self.text, value)?;
                    let word = inside(self.text, &(value..end));
                    if is_kind(key) {
                        part = true;
                        by_kind = by_kind.or(of_type(word));
                    } else if key == b"role" {
                        part = true;
                        by_role = of_role(word);
                    }
                    items.go_on(end);
                }
            }
        }
    }

    /// The value is a string that is a word, or no string, list or object.
    fn is_word(&self, at: usize) -> Option<bool> {
        let range = at..value_end(self.text, at)?;
        Some(match self.text.get(at)? {
            b'"' => is_word(inside(self.text, &range)),
            b'{' | b'[' => false,
            _ => is_word(self.text.get(range)?),
        })
    }

    fn string(&mut self, range: &Range<usize>, class: FieldClass) {
        let raw = self.text.get(range.clone()).unwrap_or_default();
        let new = match serde_json::from_slice::<String>(raw) {
            Ok(text) => {
                let new = self.redactor.text(class, text.as_bytes(), self.nested + 1);
                (*new != *text.as_bytes()).then(|| quoted(&new))
            }
            // Half a pair of surrogates: a text for those who do not look.
            Err(_) => {
                let text = inside(self.text, range);
                let new = self.redactor.unreadable(class, text);
                (*new != *text).then(|| quoted(&new))
            }
        };
        if let Some(new) = new {
            self.replace(range, &new);
        }
    }

    /// A value as one text, whatever is in it.
    fn whole(&mut self, range: &Range<usize>, class: FieldClass) {
        let raw = self.text.get(range.clone()).unwrap_or_default();
        let object = raw.starts_with(b"{");
        let new = match self.redactor.action(class) {
            Action::Keep => return,
            // Numbers have no length.
            Action::Truncate(_) if !object => return,
            Action::Drop => b"null".to_vec(),
            Action::Truncate(bytes) => match super::json_cut::cut(raw, *bytes) {
                Some(new) => new,
                None => return,
            },
            action => quoted(&self.redactor.hasher.text(action, raw)),
        };
        self.replace(range, &new);
    }
}

/// As a JSON string. Bytes that are no UTF-8 are replaced.
fn quoted(text: &[u8]) -> Vec<u8> {
    // A string can always be written.
    serde_json::to_vec(&String::from_utf8_lossy(text)).unwrap_or_else(|_| b"\"\"".to_vec())
}
