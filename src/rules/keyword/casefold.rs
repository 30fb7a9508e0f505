//! Case folding of UTF-8 bytes: lower case, with the few letters whose lower case is not their folding.
//!
//! Bytes that are not UTF-8 stay as they are. Keywords are folded whole; of texts only the letters that matter to the
//! keywords are, with ASCII case left to the search (`letters`).

use super::letters::Letters;
use std::sync::LazyLock;

/// Appends `text`, folded, to `out`.
pub(super) fn casefold(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(first) = rest.first() {
        if first.is_ascii() {
            out.push(first.to_ascii_lowercase());
            rest = &rest[1..];
        } else {
            rest = fold_one(rest, out);
        }
    }
}

/// Appends `text` to `out` with the letters folded that matter; `at` is the first of them.
pub(super) fn fold_letters(letters: &Letters, text: &[u8], at: usize, out: &mut Vec<u8>) {
    let (mut rest, mut next) = (text, Some(at));
    while let Some((plain, letter)) = next.and_then(|at| rest.split_at_checked(at)) {
        out.extend_from_slice(plain);
        rest = fold_one(letter, out);
        next = letters.find(rest);
    }
    out.extend_from_slice(rest);
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
    fold_of(c).for_each(|folded| out.extend_from_slice(folded.encode_utf8(&mut buffer).as_bytes()));
    &bytes[c.len_utf8()..]
}

/// What a character folds to.
pub(super) fn fold_of(c: char) -> impl Iterator<Item = char> {
    let (special, lower): (&[char], _) = match c {
        'ς' => (&['σ'], None),
        'ſ' => (&['s'], None),
        'ß' | 'ẞ' => (&['s', 's'], None),
        // The dot that Turkish İ leaves behind would keep it from matching a plain i.
        'İ' => (&['i'], None),
        _ => (&[], Some(c.to_lowercase())),
    };
    special.iter().copied().chain(lower.into_iter().flatten())
}

/// They end here: no plane after the second has cases (a test looks at all of Unicode).
const LAST: char = '\u{1ffff}';

/// All letters beyond ASCII that fold to something else.
pub(super) fn folding_letters() -> &'static [char] {
    static LETTERS: LazyLock<Vec<char>> =
        LazyLock::new(|| ('\u{80}'..=LAST).filter(|c| folds(*c)).collect());
    &LETTERS
}

fn folds(c: char) -> bool {
    let mut folded = fold_of(c);
    (folded.next(), folded.next()) != (Some(c), None)
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

    /// The search compares folded keywords with text that is folded in part: both must agree on what is folded.
    #[test]
    fn folding_twice_is_folding_once() {
        for c in '\u{80}'..=char::MAX {
            assert!(!folds(c) || c <= LAST, "{c}");
            assert!(fold_of(c).all(|folded| !folds(folded)), "{c}");
        }
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
        fn letters_that_matter_are_folded_and_the_rest_stays(text in "[aA请éÉßКк]{0,80}") {
            let letters = Letters::of(std::iter::once("sк".as_bytes()));
            let mut out = Vec::new();
            if let Some(at) = letters.find(text.as_bytes()) {
                fold_letters(&letters, text.as_bytes(), at, &mut out);
            } else {
                out.extend_from_slice(text.as_bytes());
            }
            prop_assert_eq!(String::from_utf8(out).unwrap(), text.replace('ß', "ss").replace('К', "к"));
        }

        #[test]
        fn any_bytes_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            folded(&bytes);
        }
    }
}
