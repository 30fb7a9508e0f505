//! Which attribute keys hold a prompt or an answer: some by name, others by how they begin; and what of it they hold.

use crate::genai::TextField;

/// Attribute keys whose text can be a prompt or an answer.
#[derive(Debug, Default, Clone)]
pub struct TextKeys {
    pub(super) exact: Vec<(Box<[u8]>, TextFields)>,
    prefixes: Vec<Prefix>,
}

/// The beginning of many keys.
#[derive(Debug, Clone)]
struct Prefix {
    /// Its first eight bytes as a number, and where it has bytes: every key is compared, and one step tells most apart.
    head: u64,
    mask: u64,
    bytes: Box<[u8]>,
    fields: TextFields,
}

/// A set of what texts can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextFields(u8);

impl TextFields {
    /// Every one.
    pub const ALL: Self = Self(u8::MAX);

    /// These.
    #[must_use]
    pub fn of(fields: &[TextField]) -> Self {
        Self(fields.iter().fold(0, |all, field| all | 1 << *field as u8))
    }

    /// One is in both.
    #[must_use]
    pub fn meet(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Those of both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl TextKeys {
    /// Keys as they are, and those that end in `*` as the beginning of many.
    pub fn new<'a>(keys: impl IntoIterator<Item = (&'a str, TextField)>) -> Self {
        let mut out = Self::default();
        for (key, field) in keys {
            let fields = TextFields::of(&[field]);
            match key.strip_suffix('*') {
                None => out.exact.push((key.as_bytes().into(), fields)),
                Some(prefix) => out.prefixes.push(Prefix {
                    head: head(prefix.as_bytes()),
                    mask: head(&vec![0xff; prefix.len()]),
                    bytes: prefix.as_bytes().into(),
                    fields,
                }),
            }
        }
        out
    }

    /// What a key holds that begins as one of the prefixes; the first counts.
    #[inline]
    pub(super) fn begin(&self, key: &[u8]) -> TextFields {
        let own = head(key);
        self.prefixes
            .iter()
            .find(|prefix| own & prefix.mask == prefix.head && key.starts_with(&prefix.bytes))
            .map_or(TextFields::default(), |prefix| prefix.fields)
    }
}

/// The first eight bytes, zeros behind shorter ones.
#[inline]
fn head(bytes: &[u8]) -> u64 {
    if let Some(first) = bytes.first_chunk() {
        return u64::from_le_bytes(*first);
    }
    bytes
        .iter()
        .rev()
        .fold(0, |head, byte| head << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMPT: TextField = TextField::Prompt;
    const ANSWER: TextField = TextField::Answer;

    #[test]
    fn prefixes_are_compared_whole() {
        let keys = TextKeys::new([
            ("content", PROMPT),
            ("llm.prompts.*", PROMPT),
            ("*", ANSWER),
        ]);
        let (prompt, answer) = (TextFields::of(&[PROMPT]), TextFields::of(&[ANSWER]));
        assert_eq!(keys.exact, [(b"content"[..].into(), prompt)]);
        assert!(
            keys.begin(b"") == answer && keys.begin(b"anything") == answer,
            "`*` is every key"
        );
        assert_eq!(keys.begin(b"llm.prompts.0"), prompt, "the first counts");
        let keys = TextKeys::new([("llm.prompts.*", PROMPT), ("ab*", ANSWER)]);
        for (key, expected) in [
            ("llm.prompts.0", Some(PROMPT)),
            ("llm.prompts.", Some(PROMPT)),
            ("llm.prompts", None),
            ("llm.prom", None),
            ("llm.promises", None),
            ("ab", Some(ANSWER)),
            ("abc", Some(ANSWER)),
            ("abcdefghijkl", Some(ANSWER)),
            ("a", None),
            ("", None),
            ("b", None),
        ] {
            let expected = expected.map_or(TextFields::default(), |field| TextFields::of(&[field]));
            assert_eq!(keys.begin(key.as_bytes()), expected, "{key}");
        }
    }

    #[test]
    fn sets_of_fields() {
        let some = TextFields::of(&[PROMPT, TextField::Documents]);
        assert!(some.meet(TextFields::of(&[PROMPT])) && !some.meet(TextFields::of(&[ANSWER])));
        assert!(
            TextField::ALL
                .iter()
                .all(|field| TextFields::ALL.meet(TextFields::of(&[*field])))
        );
        assert!(TextFields::default().is_empty() && !some.is_empty());
    }
}
