//! Case folding of UTF-8 bytes behind compatibility normalisation (NFKC): lower case, with the few letters whose lower case
//! is not their folding; ligatures, full and half width, circled and styled letters as what they stand for; a letter and
//! its accent as one letter.
//!
//! Bytes that are not UTF-8 stay as they are. Keywords are folded whole; of texts only the letters that matter to the
//! keywords are, with ASCII case left to the search (`letters`). Several accents on one letter are taken in the order in
//! which they stand, not put in order first.

use super::letters::Letters;
use hashbrown::HashMap;
use std::sync::LazyLock;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::compose;

/// A keyword as it is looked for.
pub(super) fn folded_keyword(keyword: &str) -> Vec<u8> {
    let composed: String = keyword.nfkc().collect();
    let mut out = Vec::new();
    casefold(composed.as_bytes(), &mut out);
    out
}

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
    let Some(c) = first_char(bytes) else {
        out.push(bytes[0]);
        return &bytes[1..];
    };
    match FOLDINGS.get(&c) {
        Some(folded) => folded.iter().for_each(|c| push(*c, out)),
        None => push(c, out),
    }
    &bytes[c.len_utf8()..]
}

/// Appends a character, or makes one of it and the one before.
fn push(c: char, out: &mut Vec<u8>) {
    let composed = last_char(out).filter(|_| !c.is_ascii()).and_then(|before| {
        let composed = compose(before, c)?;
        Some((before, composed))
    });
    let mut buffer = [0; 4];
    let Some((before, composed)) = composed else {
        out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
        return;
    };
    out.truncate(out.len() - before.len_utf8());
    for c in fold_of(composed) {
        out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
    }
}

/// Whether what begins at `at` in `text` is an accent that makes another letter of the one before it.
pub(super) fn goes_on_as_another(text: &[u8], at: usize) -> bool {
    let (before, behind) = text.split_at_checked(at).unwrap_or((text, &[]));
    let accent = first_char(behind).filter(|c| !c.is_ascii());
    // An accent may have forms of its own.
    let plain = |accent| {
        FOLDINGS
            .get(&accent)
            .and_then(|folded| folded.first().copied())
    };
    let accent = accent.map(|accent| plain(accent).unwrap_or(accent));
    let both = last_char(before).zip(accent);
    both.is_some_and(|(letter, accent)| compose(letter, accent).is_some())
}

pub(super) fn first_char(bytes: &[u8]) -> Option<char> {
    let longest = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(longest) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&longest[..error.valid_up_to()]).unwrap_or_default(),
    };
    valid.chars().next()
}

pub(super) fn last_char(bytes: &[u8]) -> Option<char> {
    let longest = bytes.len().min(4);
    (1..=longest).find_map(|length| {
        let last = bytes.get(bytes.len() - length..)?;
        std::str::from_utf8(last).ok()?.chars().next()
    })
}

/// What a character folds to.
pub(super) fn fold_of(c: char) -> Vec<char> {
    let mut folded = fold_once(c);
    loop {
        let again: Vec<char> = folded.iter().flat_map(|c| fold_once(*c)).collect();
        if again == folded {
            return folded;
        }
        folded = again;
    }
}

fn fold_once(c: char) -> Vec<char> {
    std::iter::once(c).nfkc().flat_map(lower).collect()
}

fn lower(c: char) -> impl Iterator<Item = char> {
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

/// They end here: no plane after the third has any (a test looks at all of Unicode).
const LAST: char = '\u{2ffff}';

/// All letters beyond ASCII that fold to something else, and to what.
static FOLDINGS: LazyLock<HashMap<char, Box<[char]>>> = LazyLock::new(|| {
    let folding = ('\u{80}'..=LAST).filter(|c| !is_plain(*c)).filter_map(|c| {
        let folded = fold_of(c);
        (folded != [c]).then(|| (c, folded.into()))
    });
    folding.collect()
});

/// Chinese characters and Hangul: half of all characters, and none of them folds.
fn is_plain(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{20000}'..='\u{2f7ff}')
}

/// Letters by what is in their folding.
static UNFOLDINGS: LazyLock<HashMap<char, Vec<char>>> = LazyLock::new(|| {
    let mut letters = HashMap::<char, Vec<char>>::new();
    for (letter, folded) in &*FOLDINGS {
        for c in folded {
            letters.entry(*c).or_default().push(*letter);
        }
    }
    letters
});

/// The letters in whose folding `c` is.
pub(super) fn letters_folding_to(c: char) -> &'static [char] {
    UNFOLDINGS.get(&c).map_or(&[], Vec::as_slice)
}

/// The accents (and vowels and finals of Hangul) that a letter is made of beside its base, and the base.
pub(super) fn parts_of(c: char) -> impl Iterator<Item = char> {
    std::iter::once(c).nfd()
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
            ("ＦＵＬＬ　ﬁｌｌ", "full fill"),
            ("𝐈𝐠𝓷𝔬𝕣𝖾 ⓘⓣ №１", "ignore it no1"),
            ("e\u{301}cole E\u{301}COLE", "école école"),
            ("ｶﾞﾊﾟ", "ガパ"),
            ("\u{1100}\u{1161}\u{11a8}", "각"),
            ("e\u{323}\u{302}", "ệ"),
        ];
        for (text, expected) in cases {
            assert_eq!(
                String::from_utf8(folded(text.as_bytes())).unwrap(),
                expected
            );
            assert_eq!(String::from_utf8(folded_keyword(text)).unwrap(), expected);
        }
    }

    #[test]
    fn broken_utf8_stays() {
        assert_eq!(folded(b"A\xff\xe5\xbfB\xc3"), b"a\xff\xe5\xbfb\xc3");
    }

    #[test]
    fn an_accent_makes_another_letter() {
        for (text, at, expected) in [
            ("e\u{301}", 1, true),
            ("ex", 1, false),
            ("e", 1, false),
            ("請\u{301}", 3, false),
            ("가\u{11a8}", 3, true),
            ("カﾞ", 3, true),
        ] {
            assert_eq!(goes_on_as_another(text.as_bytes(), at), expected, "{text}");
        }
    }

    /// The search compares folded keywords with text that is folded in part: both must agree on what is folded.
    #[test]
    fn folding_twice_is_folding_once() {
        for c in '\u{80}'..=char::MAX {
            let folded = fold_of(c);
            assert_eq!(folded != [c], FOLDINGS.contains_key(&c), "{c}");
            assert!(folded.iter().all(|c| !FOLDINGS.contains_key(c)), "{c}");
        }
    }

    proptest! {
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
