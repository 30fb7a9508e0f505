//! Whether what was found stands alone: no letter or digit goes on before or behind it.
//!
//! Scripts that are written without spaces have no such ends: next to one of their characters everything stands alone.

use super::casefold::{first_char, last_char};
use std::ops::Range;

/// Whether `found` is whole words of `text`. Bytes that are no UTF-8 end a word.
pub(super) fn is_whole(text: &[u8], found: &Range<usize>) -> bool {
    let inside = text.get(found.clone()).unwrap_or_default();
    let before = text.get(..found.start).unwrap_or_default();
    let after = text.get(found.end..).unwrap_or_default();
    !goes_on(last_char(before), first_char(inside))
        && !goes_on(last_char(inside), first_char(after))
}

/// Both belong to one word.
fn goes_on(left: Option<char>, right: Option<char>) -> bool {
    left.is_some_and(in_word) && right.is_some_and(in_word)
}

fn in_word(c: char) -> bool {
    (c.is_alphanumeric() || c == '_') && !without_spaces(c)
}

/// Thai, Lao, Myanmar, Khmer, kana, and everything that is written with Chinese characters.
fn without_spaces(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{2e80}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}'
        | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_end_where_their_script_says() {
        for (text, word, expected) in [
            ("a bomb here", "bomb", true),
            ("bomb", "bomb", true),
            ("bombs", "bomb", false),
            ("abomb", "bomb", false),
            ("bomb_1", "bomb", false),
            ("(bomb)", "bomb", true),
            ("\u{e9}bomb", "bomb", false),
            ("请解释一下", "解释", true),
            ("用bomb吗", "bomb", true),
            ("قنابل", "قنابل", true),
            ("القنابل", "قنابل", false),
            ("-c++-", "c++", true),
            ("c++x", "c++", true),
            ("🚀bomb🚀", "bomb", true),
        ] {
            let at = text.find(word).unwrap();
            let found = at..at + word.len();
            assert_eq!(is_whole(text.as_bytes(), &found), expected, "{text}");
        }
        assert!(is_whole(b"\xffbomb\xc3", &(1..5)));
    }
}
