//! Cuts a text to a number of bytes. JSON stays JSON: strings are closed, and lists and objects behind them.

/// Stands where something was cut off.
pub(super) const MARK: &[u8] = "…".as_bytes();
/// Deeper JSON is cut as plain text.
const MOST_DEPTH: usize = 256;

/// At most `bytes` of the text, with a mark and what closes it; `None`: it is not longer.
pub(super) fn cut(text: &[u8], bytes: usize) -> Option<Vec<u8>> {
    if text.len() <= bytes {
        return None;
    }
    let json = matches!(text.trim_ascii_start().first(), Some(b'{' | b'['));
    let valid = json.then(|| cut_json(text, bytes)).flatten();
    Some(valid.unwrap_or_else(|| cut_plain(text, bytes)))
}

pub(super) fn cut_plain(text: &[u8], bytes: usize) -> Vec<u8> {
    let mut out = head(text, bytes).to_vec();
    out.extend_from_slice(MARK);
    out
}

/// The first bytes, less a character that is cut in two.
pub(super) fn head(text: &[u8], bytes: usize) -> &[u8] {
    let mut end = bytes.min(text.len());
    let inside = |at: usize| text.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    for _ in 0..3 {
        if end > 0 && inside(end) {
            end -= 1;
        }
    }
    text.get(..end).unwrap_or_default()
}

/// What may stand next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Value,
    /// A value, or the end of an empty list.
    First,
    Key,
    Colon,
    Comma,
}

/// How far the text was read.
struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    /// What closes the open lists and objects.
    open: Vec<u8>,
    next: Next,
    /// Where the text may end, and what is open there.
    safe: (usize, usize),
}

/// `None` when what is read is no JSON.
fn cut_json(text: &[u8], bytes: usize) -> Option<Vec<u8>> {
    let mut reader = Reader {
        text,
        at: 0,
        open: Vec::new(),
        next: Next::Value,
        safe: (0, 0),
    };
    while reader.at < bytes || reader.safe.0 == 0 {
        if let Some(inside) = reader.step(bytes)? {
            let mut out = inside.to_vec();
            out.extend_from_slice(MARK);
            out.push(b'"');
            out.extend(reader.open.iter().rev());
            return Some(out);
        }
    }
    let (end, open) = reader.safe;
    let mut out = text.get(..end)?.to_vec();
    out.extend(reader.open.get(..open)?.iter().rev());
    Some(out)
}

impl<'a> Reader<'a> {
    /// Reads one token. The text up to its end when that is inside a string that is a value.
    fn step(&mut self, bytes: usize) -> Option<Option<&'a [u8]>> {
        let byte = *self.text.get(self.at)?;
        match (byte, self.next) {
            (b' ' | b'\t' | b'\n' | b'\r', _) => self.at += 1,
            (b'{' | b'[', Next::Value | Next::First) => {
                if self.open.len() == MOST_DEPTH {
                    return None;
                }
                self.at += 1;
                self.open.push(if byte == b'{' { b'}' } else { b']' });
                self.next = if byte == b'{' { Next::Key } else { Next::First };
                self.safe = (self.at, self.open.len());
            }
            (b'}', Next::Key | Next::Comma) | (b']', Next::First | Next::Comma) => {
                if self.open.pop() != Some(byte) {
                    return None;
                }
                self.at += 1;
                self.value_ends();
            }
            (b'"', Next::Key) => {
                self.at = string_end(self.text, self.at)?;
                self.next = Next::Colon;
            }
            (b'"', Next::Value | Next::First) => {
                let end = string_end(self.text, self.at)?;
                if end > bytes && self.at < bytes {
                    let whole = escape_begins(self.text, self.at, bytes);
                    let head = head(self.text, whole.max(self.at + 1));
                    return Some(Some(head));
                }
                self.at = end;
                self.value_ends();
            }
            (b':', Next::Colon) => {
                self.at += 1;
                self.next = Next::Value;
            }
            (b',', Next::Comma) => {
                self.at += 1;
                let object = self.open.last() == Some(&b'}');
                self.next = if object { Next::Key } else { Next::Value };
            }
            (b'-' | b'0'..=b'9' | b'a'..=b'z', Next::Value | Next::First) => {
                let rest = self.text.get(self.at..)?;
                let word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
                self.at += rest.iter().take_while(|byte| word(byte)).count();
                // Half a number is another number.
                if self.at <= bytes {
                    self.value_ends();
                }
            }
            _ => return None,
        }
        Some(None)
    }

    fn value_ends(&mut self) {
        self.next = Next::Comma;
        self.safe = (self.at, self.open.len());
    }
}

/// Where the string that begins at `at` ends, quotes included.
pub(super) fn string_end(text: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text.get(at) == Some(&b'"') {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Where a string that begins at `from` can be cut so that no escape is: at `bytes` or a little before it. A pair of
/// surrogates is one character in two escapes.
fn escape_begins(text: &[u8], from: usize, bytes: usize) -> usize {
    let mut at = from + 1;
    while at < bytes {
        let length = match text.get(at..) {
            Some(
                [
                    b'\\',
                    b'u',
                    b'd' | b'D',
                    b'8' | b'9' | b'a' | b'b' | b'A' | b'B',
                    ..,
                ],
            ) => 12,
            Some([b'\\', b'u', ..]) => 6,
            Some([b'\\', ..]) => 2,
            _ => 1,
        };
        if at + length > bytes {
            return at;
        }
        at += length;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cuts() {
        let check = |text: &str, bytes: usize, expected: Option<&str>| {
            let found = cut(text.as_bytes(), bytes);
            let found = found.map(|found| String::from_utf8(found).unwrap());
            assert_eq!(found.as_deref(), expected, "{text} {bytes}");
        };
        check("hello", 5, None);
        check("hello", 2, Some("he…"));
        check("hello", 0, Some("…"));
        check("请解释", 4, Some("请…"));
        check(r#"[{"a":"hello","b":1}]"#, 21, None);
        check(r#"[{"a":"hello","b":1}]"#, 9, Some(r#"[{"a":"he…"}]"#));
        check(r#"[{"a":"hello","b":1}]"#, 16, Some(r#"[{"a":"hello"}]"#));
        check(r#"[{"a":"hello","b":1}]"#, 0, Some("[]"));
        check(r#"["a\u8bf7b"]"#, 6, Some(r#"["a…"]"#));
        check(r#"["a\ud83d\ude00b"]"#, 10, Some(r#"["a…"]"#));
        check("[not json at all]", 4, Some("[not]"));
        check("{'python': 'repr'}", 4, Some("{'py…"));
        check("[1,23456]", 5, Some("[1]"));
        check("{'python': 'repr'}", 0, Some("{}"));
    }

    proptest! {
        #[test]
        fn json_stays_json(value in crate::redaction::tests::json(), bytes in 0..200_usize) {
            let text = serde_json::to_string(&value).unwrap();
            if let Some(cut) = cut(text.as_bytes(), bytes) {
                let json = matches!(value, serde_json::Value::Array(_) | serde_json::Value::Object(_));
                let read = serde_json::from_slice::<serde_json::Value>(&cut);
                prop_assert!(read.is_ok() || !json, "{text} {bytes} {}", String::from_utf8_lossy(&cut));
                prop_assert!(std::str::from_utf8(&cut).is_ok());
            }
        }

        #[test]
        fn anything_is_cut(text in r#"[\[\]{}"':,\\a1 é]{0,60}"#, bytes in 0..60_usize) {
            if let Some(found) = cut(text.as_bytes(), bytes) {
                prop_assert!(found.len() <= bytes + MARK.len() + 1 + text.len());
            }
        }
    }
}
