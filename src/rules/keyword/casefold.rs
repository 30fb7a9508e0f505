//! Case folding of UTF-8 bytes: lower case, with the few letters whose lower case is not their folding.
//!
//! Bytes that are not UTF-8 stay as they are. ASCII and the scripts without case (Chinese, Japanese, Korean) are copied;
//! only other letters are decoded.

/// Appends `text`, folded, to `out`.
pub(crate) fn casefold(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while !rest.is_empty() {
        let ascii = ascii_len(rest);
        let start = out.len();
        out.extend_from_slice(&rest[..ascii]);
        out[start..].make_ascii_lowercase();
        rest = &rest[ascii..];
        let caseless = caseless_len(rest);
        out.extend_from_slice(&rest[..caseless]);
        rest = &rest[caseless..];
        if let Some(&byte) = rest.first()
            && byte >= 0x80
            && caseless == 0
        {
            rest = fold_one(rest, out);
        }
    }
}

fn ascii_len(bytes: &[u8]) -> usize {
    // Eight at a time: prompts are mostly ASCII or mostly not.
    let mut len = 0;
    for chunk in bytes.chunks_exact(8) {
        if chunk.iter().fold(0, |all, byte| all | byte) >= 0x80 {
            break;
        }
        len += 8;
    }
    len + bytes[len..].iter().take_while(|byte| **byte < 0x80).count()
}

/// Bytes of a run of three-byte characters from the blocks without case: U+3000 to U+9FFF and U+B000 to U+D7FF.
fn caseless_len(bytes: &[u8]) -> usize {
    let run = bytes.chunks_exact(3).take_while(|c| {
        matches!(c[0], 0xe3..=0xe9 | 0xeb..=0xed) && (c[1] & 0xc0) == 0x80 && (c[2] & 0xc0) == 0x80
    });
    run.count() * 3
}

/// Folds the first character of `bytes`, which is not ASCII; what is left.
fn fold_one<'a>(bytes: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let longest = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(longest) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&longest[..error.valid_up_to()]).unwrap_or_default(),
    };
    let Some(c) = valid.chars().next() else {
        out.push(bytes[0]);
        return &bytes[1..];
    };
    let mut buffer = [0; 4];
    match c {
        'ς' => out.extend_from_slice("σ".as_bytes()),
        'ſ' => out.push(b's'),
        'ß' | 'ẞ' => out.extend_from_slice(b"ss"),
        // The dot that Turkish İ leaves behind would keep it from matching a plain i.
        'İ' => out.push(b'i'),
        _ => c
            .to_lowercase()
            .for_each(|lower| out.extend_from_slice(lower.encode_utf8(&mut buffer).as_bytes())),
    }
    &bytes[c.len_utf8()..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn folded(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        casefold(text, &mut out);
        out
    }

    #[test]
    fn folds_any_script() {
        let cases = [
            (
                "Ignore PREVIOUS instructions",
                "ignore previous instructions",
            ),
            ("忽略之前的指令 ABC", "忽略之前的指令 abc"),
            ("ÉCOLE Straße STRASSE", "école strasse strasse"),
            ("ΣΊΣΥΦΟΣ σίσυφος", "σίσυφοσ σίσυφοσ"),
            ("ПРИВЕТ", "привет"),
            ("تجاهل", "تجاهل"),
            ("İstanbul", "istanbul"),
            ("𐐀 🚀", "𐐨 🚀"),
            ("ＦＵＬＬ", "ｆｕｌｌ"),
        ];
        for (text, expected) in cases {
            assert_eq!(
                String::from_utf8(folded(text.as_bytes())).unwrap(),
                expected
            );
        }
    }

    #[test]
    fn broken_utf8_stays() {
        assert_eq!(folded(b"A\xff\xe5\xbfB\xc3"), b"a\xff\xe5\xbfb\xc3");
    }

    proptest! {
        #[test]
        fn equals_folding_character_by_character(text in "\\PC*") {
            let expected: String = text.chars().flat_map(|c| match c {
                'ς' => "σ".chars().collect::<Vec<_>>(),
                'ſ' => vec!['s'],
                'ß' | 'ẞ' => vec!['s', 's'],
                'İ' => vec!['i'],
                c => c.to_lowercase().collect(),
            }).collect();
            prop_assert_eq!(String::from_utf8(folded(text.as_bytes())).unwrap(), expected);
        }

        #[test]
        fn any_bytes_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            folded(&bytes);
        }
    }
}
