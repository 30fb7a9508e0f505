//! JSON escapes, undone over a whole text at once, tolerant of text that is no JSON and of JSON cut in the middle.
//!
//! What is no escape stays as it is, so that a text without escapes is its own unescaping.

/// Appends `text` with one level of escapes undone; `true` when there was one.
pub(crate) fn unescape(text: &[u8], out: &mut Vec<u8>) -> bool {
    let mut found = false;
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (plain, escape) = rest.split_at(at);
        out.extend_from_slice(plain);
        rest = match escape {
            [_, b'u', digits @ ..] => match unicode(digits) {
                Some((c, used)) => {
                    found = true;
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                    &digits[used..]
                }
                None => literal(escape, out),
            },
            [
                _,
                c @ (b'"' | b'\\' | b'/' | b'n' | b't' | b'r' | b'b' | b'f'),
                after @ ..,
            ] => {
                found = true;
                out.push(plain_of(*c));
                after
            }
            _ => literal(escape, out),
        };
    }
    out.extend_from_slice(rest);
    found
}

fn literal<'a>(escape: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    out.push(b'\\');
    &escape[1..]
}

/// The character that a backslash and `escape` stand for.
pub(super) fn plain_of(escape: u8) -> u8 {
    match escape {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        b'f' => 12,
        other => other,
    }
}

/// The character of `XXXX` or of the pair `XXXX\uYYYY`, and the bytes it took. A lone surrogate reads as U+FFFD.
fn unicode(digits: &[u8]) -> Option<(char, usize)> {
    let high = hex(digits.get(..4)?)?;
    if let Some(c) = char::from_u32(high) {
        return Some((c, 4));
    }
    let low = digits
        .get(4..10)
        .filter(|pair| pair.starts_with(b"\\u"))
        .and_then(|pair| hex(&pair[2..]));
    let pair = low.filter(|low| high < 0xdc00 && (0xdc00..0xe000).contains(low));
    match pair {
        Some(low) => Some((
            char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00))?,
            10,
        )),
        None => Some((char::REPLACEMENT_CHARACTER, 4)),
    }
}

fn hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |value, digit| {
        Some(value << 4 | char::from(*digit).to_digit(16)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn undoes_one_level() {
        let cases = [
            (r"plain", "plain", false),
            (r#"a\"b\\c\/d"#, "a\"b\\c/d", true),
            (r"\n\t\r", "\n\t\r", true),
            (r"\u8bf7\u89e3", "请解", true),
            (r"\ud83d\ude80", "🚀", true),
            (r"\ud83d!", "\u{fffd}!", true),
            (r"\ud83d\u0041", "\u{fffd}A", true),
            (r"C:\path", r"C:\path", false),
            (r"cut \u8b", r"cut \u8b", false),
            (r"cut \", r"cut \", false),
            (r"\uzzzz", r"\uzzzz", false),
        ];
        for (text, expected, found) in cases {
            let mut out = Vec::new();
            assert_eq!(unescape(text.as_bytes(), &mut out), found, "{text}");
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn undoes_what_serde_json_writes(text in "\\PC*") {
            let json = serde_json::to_string(&text).unwrap();
            let mut out = Vec::new();
            unescape(&json.as_bytes()[1..json.len() - 1], &mut out);
            prop_assert_eq!(String::from_utf8(out).unwrap(), text);
        }

        #[test]
        fn any_bytes_are_taken(bytes in proptest::collection::vec(prop_oneof![Just(b'\\'), Just(b'u'), Just(b'd'), any::<u8>()], 0..100)) {
            unescape(&bytes, &mut Vec::new());
        }
    }
}
