//! Short texts in lower case, on the stack: what the table's words are compared with.

/// Longer than any word of the table; what is longer is none of them.
const LONGEST: usize = 64;

/// A text in lower case (ASCII).
#[derive(Debug, Clone, Copy)]
pub(super) struct Folded {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Folded {
    /// `None` when the text is longer than any word that is looked for.
    pub(super) fn of(text: &[u8]) -> Option<Self> {
        let mut bytes = [0; LONGEST];
        let place = bytes.get_mut(..text.len())?;
        place.copy_from_slice(text);
        place.make_ascii_lowercase();
        Some(Self {
            bytes,
            length: text.len(),
        })
    }

    /// With `_` for `-` and blank: how finish reasons are compared.
    pub(super) fn reason(mut self) -> Self {
        for byte in &mut self.bytes {
            if matches!(byte, b'-' | b' ') {
                *byte = b'_';
            }
        }
        self
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// Without blanks around it and up to two pairs of quotes: values that are JSON texts themselves, some twice.
pub(super) fn unquoted(text: &[u8]) -> &[u8] {
    let mut text = text.trim_ascii();
    for _ in 0..2 {
        match text {
            [b'"', inner @ .., b'"'] => text = inner,
            _ => break,
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_case_and_joints() {
        let fold =
            |text: &str| Folded::of(text.as_bytes()).map(|text| text.reason().as_bytes().to_vec());
        assert_eq!(fold("Tool-Calls"), Some(b"tool_calls".to_vec()));
        assert_eq!(fold(&"x".repeat(64)).map(|text| text.len()), Some(64));
        assert_eq!(fold(&"x".repeat(65)), None);
    }

    #[test]
    fn quotes_go_in_pairs() {
        for (text, expected) in [
            (r#""stop""#, "stop"),
            (r#"""LLM"""#, "LLM"),
            (r#"""#, r#"""#),
            (r#""a"#, r#""a"#),
            (" 7 ", "7"),
            ("\"\"", ""),
        ] {
            assert_eq!(unquoted(text.as_bytes()), expected.as_bytes(), "{text}");
        }
    }
}
