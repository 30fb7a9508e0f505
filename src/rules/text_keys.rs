//! Which attribute keys hold a prompt or an answer: some by name, others by how they begin.

/// Attribute keys whose text can be a prompt or an answer.
#[derive(Debug, Default, Clone)]
pub struct TextKeys {
    pub(super) exact: Vec<Box<[u8]>>,
    prefixes: Vec<Prefix>,
}

/// The beginning of many keys.
#[derive(Debug, Clone)]
struct Prefix {
    /// Its first eight bytes as a number, and where it has bytes: every key is compared, and one step tells most apart.
    head: u64,
    mask: u64,
    bytes: Box<[u8]>,
}

impl TextKeys {
    /// Keys as they are, and those that end in `*` as the beginning of many.
    pub fn new<'a>(keys: impl IntoIterator<Item = &'a str>) -> Self {
        let mut out = Self::default();
        for key in keys {
            match key.strip_suffix('*') {
                None => out.exact.push(key.as_bytes().into()),
                Some(prefix) => out.prefixes.push(Prefix {
                    head: head(prefix.as_bytes()),
                    mask: head(&vec![0xff; prefix.len()]),
                    bytes: prefix.as_bytes().into(),
                }),
            }
        }
        out
    }

    /// Whether `key` begins as one of the prefixes.
    #[inline]
    pub(super) fn begin(&self, key: &[u8]) -> bool {
        let own = head(key);
        self.prefixes
            .iter()
            .any(|prefix| own & prefix.mask == prefix.head && key.starts_with(&prefix.bytes))
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

    #[test]
    fn prefixes_are_compared_whole() {
        let keys = TextKeys::new(["content", "llm.prompts.*", "ab*", "*"]);
        assert_eq!(keys.exact, [b"content"[..].into()]);
        assert!(
            keys.begin(b"") && keys.begin(b"anything"),
            "`*` is every key"
        );
        let keys = TextKeys::new(["llm.prompts.*", "ab*"]);
        for (key, expected) in [
            ("llm.prompts.0", true),
            ("llm.prompts.", true),
            ("llm.prompts", false),
            ("llm.prom", false),
            ("llm.promises", false),
            ("ab", true),
            ("abc", true),
            ("abcdefghijkl", true),
            ("a", false),
            ("", false),
            ("b", false),
        ] {
            assert_eq!(keys.begin(key.as_bytes()), expected, "{key}");
        }
    }
}
