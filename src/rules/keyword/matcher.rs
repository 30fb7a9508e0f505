//! All keywords, one walk over each text.
//!
//! Most text is searched where it lies. It is copied only where a letter has to be folded that matters to a keyword, or
//! an escape undone that a keyword may reach across.

use super::boundary::is_whole;
use super::casefold::{fold_letters, folded_keyword, goes_on_as_another};
use super::grams::{Grams, WINDOW};
use super::letters::Letters;
use super::levels::{Scratch, is_json};
use super::unescape::plain_of;
use aho_corasick::AhoCorasick;
use std::ops::Range;

/// What is looked for, and the bit of its policy.
#[derive(Debug, Clone)]
pub(crate) struct Keyword {
    pub(crate) text: String,
    pub(crate) bit: u32,
    /// It must not go on before or behind.
    pub(crate) whole: bool,
}

/// Keywords, each with the bit of its policy.
#[derive(Debug)]
pub(crate) struct KeywordMatcher {
    long: Option<Grams>,
    short: Option<(AhoCorasick, Vec<u32>)>,
    /// By the number of the keyword: its bit, and whether it must be a whole word.
    rules: Vec<(u32, bool)>,
    letters: Letters,
    /// A keyword holds a backslash itself, so that even JSON must be searched before its escapes are undone.
    raw: bool,
    /// Escapes whose character no keyword holds: what stands before and behind them is searched apart.
    walls: Vec<u8>,
}

impl KeywordMatcher {
    /// `None` without keywords.
    ///
    /// # Errors
    /// When the automaton for the short keywords would be too large.
    pub(crate) fn new(keywords: &[Keyword]) -> Result<Option<Self>, String> {
        let folded: Vec<(Vec<u8>, u32)> = keywords
            .iter()
            .zip(0..)
            .map(|(keyword, number)| (folded_keyword(&keyword.text), number))
            .filter(|(keyword, _)| !keyword.is_empty())
            .collect();
        let all = folded
            .iter()
            .map(|(keyword, number)| (keyword.as_slice(), *number));
        let (long, short) = (Grams::new(all.clone()), automaton(all.clone())?);
        let holds = |byte: u8| folded.iter().any(|(keyword, _)| keyword.contains(&byte));
        Ok((!folded.is_empty()).then(|| Self {
            long,
            short,
            rules: keywords
                .iter()
                .map(|keyword| (keyword.bit, keyword.whole))
                .collect(),
            letters: Letters::of(all.map(|(keyword, _)| keyword)),
            raw: holds(b'\\'),
            walls: b"\"/ntrbf"
                .iter()
                .copied()
                .filter(|escape| !holds(plain_of(*escape)))
                .collect(),
        }))
    }

    /// Sets the bit of each keyword that `text` holds, raw or under up to three levels of escapes.
    pub(crate) fn search(&self, text: &[u8], scratch: &mut Scratch, hit: &mut impl FnMut(u32)) {
        let Some(first) = memchr::memchr(b'\\', text) else {
            return self.search_plain(text, &mut scratch.folded, hit);
        };
        // In JSON every backslash is an escape: what stands there before they are undone stands there after it.
        if self.raw || !is_json(text) {
            self.search_plain(text, &mut scratch.folded, hit);
        }
        let (mut rest, mut next) = (text, Some(first));
        while let Some(at) = next {
            if rest
                .get(at + 1)
                .is_none_or(|escape| !self.walls.contains(escape))
            {
                return scratch.unescaped(rest, &mut |text, folded| {
                    self.search_plain(text, folded, hit);
                });
            }
            self.search_plain(&rest[..at], &mut scratch.folded, hit);
            rest = &rest[at + 2..];
            next = memchr::memchr(b'\\', rest);
        }
        self.search_plain(rest, &mut scratch.folded, hit);
    }

    fn search_plain(&self, text: &[u8], folded: &mut Vec<u8>, hit: &mut impl FnMut(u32)) {
        let text = match self.letters.find(text) {
            None => text,
            Some(at) => {
                folded.clear();
                fold_letters(&self.letters, text, at, folded);
                folded
            }
        };
        let mut found = |number: u32, place: Range<usize>| {
            if let Some((bit, whole)) = self.rules.get(number as usize)
                && !goes_on_as_another(text, place.end)
                && (!whole || is_whole(text, &place))
            {
                hit(*bit);
            }
        };
        if let Some(long) = &self.long {
            long.find(text, &mut found);
        }
        if let Some((automaton, numbers)) = &self.short {
            for place in automaton.find_overlapping_iter(text) {
                if let Some(number) = numbers.get(place.pattern().as_usize()) {
                    found(*number, place.range());
                }
            }
        }
    }
}

/// For the keywords that are too short for the filter.
fn automaton<'a>(
    keywords: impl Iterator<Item = (&'a [u8], u32)>,
) -> Result<Option<(AhoCorasick, Vec<u32>)>, String> {
    let (short, numbers): (Vec<_>, Vec<_>) = keywords
        .filter(|(keyword, _)| keyword.len() < WINDOW)
        .unzip();
    if short.is_empty() {
        return Ok(None);
    }
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(short)
        .map_err(|error| error.to_string())?;
    Ok(Some((automaton, numbers)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::keyword::casefold::casefold;
    use crate::rules::keyword::levels::LEVELS;
    use crate::rules::keyword::unescape::unescape;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn found(keywords: &[&str], text: &str) -> BTreeSet<u32> {
        let keywords: Vec<_> = keywords
            .iter()
            .zip(0..)
            .map(|(keyword, bit)| Keyword {
                text: (*keyword).to_owned(),
                bit,
                whole: false,
            })
            .collect();
        let matcher = KeywordMatcher::new(&keywords).unwrap().unwrap();
        let mut bits = BTreeSet::new();
        matcher.search(text.as_bytes(), &mut Scratch::default(), &mut |bit| {
            bits.insert(bit);
        });
        bits
    }

    #[test]
    fn finds_keywords_where_text_really_is() {
        let keywords = [
            "ignore previous instructions",
            "请解释",
            "Bomb",
            r"C:\secret",
            "🚀 launch",
        ];
        let json = |text: &str| serde_json::to_string(text).unwrap();
        let message = format!(
            r#"[{{"role":"user","content":{}}}]"#,
            json("please Ignore  previous instructions")
        );
        let cases: [(String, &[u32]); 12] = [
            ("IGNORE Previous Instructions".into(), &[0]),
            ("ignore  previous instructions".into(), &[]),
            (message, &[]),
            (r#"[{"content":"\u8bf7\u89e3\u91ca"}]"#.into(), &[1]),
            ("这里请解释一下".into(), &[1]),
            (r#"{"a":"{\"b\":\"\\u8bf7\\u89e3\\u91ca\"}"}"#.into(), &[1]),
            (json(&json(&json("a b\u{6f}mb"))), &[2]),
            (json(&json(&json("\"bomb\n\""))), &[2]),
            (r"open C:\secret now".into(), &[3]),
            (json(r"open C:\secret now"), &[3]),
            (r#""\ud83d\ude80 launch""#.into(), &[4]),
            ("bom b ignore previous instruction".into(), &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(
                found(&keywords, &text),
                expected.iter().copied().collect(),
                "{text}"
            );
        }
    }

    /// Slowly: every level of the text, folded whole.
    fn found_naively(keywords: &[&str], text: &str) -> BTreeSet<u32> {
        let folded = |text: &[u8]| {
            let mut out = Vec::new();
            casefold(text, &mut out);
            out
        };
        let raw = keywords.iter().any(|keyword| keyword.contains('\\'));
        let mut levels = vec![];
        if raw || !text.contains('\\') || !is_json(text.as_bytes()) {
            levels.push(folded(text.as_bytes()));
        }
        let mut plain = text.as_bytes().to_vec();
        for _ in 0..LEVELS {
            let mut next = Vec::new();
            unescape(&plain, &mut next);
            plain = next;
            levels.push(folded(&plain));
        }
        let held = |keyword: &str| {
            let keyword = folded(keyword.as_bytes());
            let within = |level: &Vec<u8>| level.windows(keyword.len()).any(|part| part == keyword);
            levels.iter().any(within)
        };
        let matching = keywords
            .iter()
            .zip(0..)
            .filter(|(keyword, _)| held(keyword));
        matching.map(|(_, bit)| bit).collect()
    }

    proptest! {
        #![proptest_config(crate::cases::cases(1000))]
        #[test]
        fn equals_a_naive_search(
            keywords in proptest::collection::vec("[a-cA-Csi请解ßКéÉ]{1,4}|[a-bs请]{8,20}|[ab\n\"\\\\]{1,9}", 1..6),
            text in "[a-cA-Csi请解ſßẞİКкéÉ\u{212a}]{0,60}|[ab\n\"/\\\\u0-9]{0,40}|\\[[ab\n\"\\\\]{0,20}",
        ) {
            let refs: Vec<&str> = keywords.iter().map(String::as_str).collect();
            let expected = found_naively(&refs, &text);
            let once = serde_json::to_string(&text).unwrap();
            let twice = serde_json::to_string(&once).unwrap();
            prop_assert_eq!(&found(&refs, &text), &expected, "{}", text);
            for escaped in [once, twice, ascii_json(&text)] {
                let expected = found_naively(&refs, &escaped);
                prop_assert_eq!(&found(&refs, &escaped), &expected, "{}", escaped);
            }
        }

        #[test]
        fn a_keyword_in_the_middle_is_found_whatever_is_around(
            before in "[a-z请é ]{0,80}", after in "[a-z请é ]{0,80}", case in any::<bool>(), at in 0_usize..40,
        ) {
            let keywords: Vec<String> = (0..40).map(|n| format!("forbidden phrase {n:02} 请解释")).collect();
            let refs: Vec<&str> = keywords.iter().map(String::as_str).collect();
            let keyword = if case { keywords[at].to_uppercase() } else { keywords[at].clone() };
            let text = format!("{before}{keyword}{after}");
            prop_assert!(found(&refs, &text).contains(&(at as u32)));
            prop_assert!(found(&refs, &ascii_json(&text)).contains(&(at as u32)));
        }
    }

    /// Letters in many forms, none with two accents.
    const FORMS: [&str; 30] = [
        "a",
        "A",
        "\u{ff21}",
        "f",
        "i",
        "\u{fb01}",
        "e",
        "é",
        "É",
        "e\u{301}",
        "E\u{301}",
        "1",
        "\u{2460}",
        "ガ",
        "カ",
        "ｶ",
        "ｶﾞ",
        "가",
        "\u{1100}\u{1161}",
        "각",
        "가\u{11a8}",
        " ",
        "\u{a0}",
        "🚀",
        "請",
        "\u{fabb}",
        "لا",
        "\u{fefb}",
        "م",
        "\u{fee1}",
    ];

    fn of_forms(places: &[usize]) -> String {
        places
            .iter()
            .filter_map(|place| FORMS.get(*place))
            .copied()
            .collect()
    }

    /// As the Unicode standard says it, over the whole text at once.
    fn normalised(text: &str) -> String {
        use unicode_normalization::UnicodeNormalization;
        let lower: String = text.nfkc().flat_map(char::to_lowercase).collect();
        lower.nfkc().collect()
    }

    proptest! {
        #![proptest_config(crate::cases::cases(1000))]
        #[test]
        fn every_form_of_a_letter_is_the_letter(
            keyword in proptest::collection::vec(0_usize..30, 1..12), text in proptest::collection::vec(0_usize..30, 0..30),
            at in 0_usize..30, planted in any::<bool>(), others in proptest::collection::vec(any::<bool>(), 12),
        ) {
            let mut text = text;
            if planted {
                // The keyword in other forms.
                let forms = keyword.iter().zip(others).map(|(place, other)| {
                    let same = |to: &usize| normalised(FORMS[*to]) == normalised(FORMS[*place]);
                    if other { (0..30).rfind(same).unwrap() } else { *place }
                });
                let at = at.min(text.len());
                text.splice(at..at, forms);
            }
            let (keyword, text) = (of_forms(&keyword), of_forms(&text));
            let expected = normalised(&text).contains(&normalised(&keyword));
            prop_assert!(expected || !planted, "{} {}", text, keyword);
            for text in [text.clone(), ascii_json(&text), ascii_json(&ascii_json(&text))] {
                prop_assert_eq!(!found(&[&keyword], &text).is_empty(), expected, "{} {}", text, keyword);
            }
        }
    }

    /// As Python's `json.dumps` writes it.
    fn ascii_json(text: &str) -> String {
        let mut out = String::from("\"");
        for unit in text.encode_utf16() {
            if unit < 128 {
                out.push(unit as u8 as char)
            } else {
                out += &format!("\\u{unit:04x}")
            }
        }
        out + "\""
    }
}
