//! All keywords, one walk over each text.
//!
//! Most text is searched where it lies. It is copied only where a letter has to be folded that matters to a keyword, or
//! an escape undone that a keyword may reach across.

use super::casefold::{casefold, fold_letters};
use super::grams::{Grams, WINDOW};
use super::letters::Letters;
use super::unescape::{plain_of, unescape};
use aho_corasick::AhoCorasick;

/// JSON inside JSON, three levels: tool arguments in a message in `output.value` (recorded).
const LEVELS: usize = 3;

/// Buffers of one thread.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    folded: Vec<u8>,
    plain: Vec<u8>,
    next: Vec<u8>,
}

/// Keywords, each with the bit of its policy.
#[derive(Debug)]
pub(crate) struct KeywordMatcher {
    long: Option<Grams>,
    short: Option<(AhoCorasick, Vec<u32>)>,
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
    pub(crate) fn new(keywords: &[(String, u32)]) -> Result<Option<Self>, String> {
        let folded: Vec<(Vec<u8>, u32)> = keywords
            .iter()
            .map(|(keyword, bit)| {
                let mut out = Vec::new();
                casefold(keyword.as_bytes(), &mut out);
                (out, *bit)
            })
            .filter(|(keyword, _)| !keyword.is_empty())
            .collect();
        let all = folded
            .iter()
            .map(|(keyword, bit)| (keyword.as_slice(), *bit));
        let (long, short) = (Grams::new(all.clone()), automaton(all.clone())?);
        let holds = |byte: u8| folded.iter().any(|(keyword, _)| keyword.contains(&byte));
        Ok((!folded.is_empty()).then(|| Self {
            long,
            short,
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
                return self.search_unescaped(rest, scratch, hit);
            }
            self.search_plain(&rest[..at], &mut scratch.folded, hit);
            rest = &rest[at + 2..];
            next = memchr::memchr(b'\\', rest);
        }
        self.search_plain(rest, &mut scratch.folded, hit);
    }

    /// Undoes the escapes level by level, and searches each.
    fn search_unescaped(&self, text: &[u8], scratch: &mut Scratch, hit: &mut impl FnMut(u32)) {
        let Scratch {
            folded,
            plain,
            next,
        } = scratch;
        plain.clear();
        let mut more = unescape(text, plain);
        for level in 1..=LEVELS {
            self.search_plain(plain, folded, hit);
            if level == LEVELS || !more || memchr::memchr(b'\\', plain).is_none() {
                return;
            }
            next.clear();
            more = unescape(plain, next);
            std::mem::swap(plain, next);
        }
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
        if let Some(long) = &self.long {
            long.find(text, &mut *hit);
        }
        if let Some((automaton, bits)) = &self.short {
            for found in automaton.find_overlapping_iter(text) {
                if let Some(bit) = bits.get(found.pattern().as_usize()) {
                    hit(*bit);
                }
            }
        }
    }
}

/// For the keywords that are too short for the filter.
fn automaton<'a>(
    keywords: impl Iterator<Item = (&'a [u8], u32)>,
) -> Result<Option<(AhoCorasick, Vec<u32>)>, String> {
    let (short, bits): (Vec<_>, Vec<_>) = keywords
        .filter(|(keyword, _)| keyword.len() < WINDOW)
        .unzip();
    if short.is_empty() {
        return Ok(None);
    }
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(short)
        .map_err(|error| error.to_string())?;
    Ok(Some((automaton, bits)))
}

fn is_json(text: &[u8]) -> bool {
    matches!(
        text.iter().find(|byte| !byte.is_ascii_whitespace()),
        Some(b'{' | b'[' | b'"')
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn found(keywords: &[&str], text: &str) -> BTreeSet<u32> {
        let keywords: Vec<_> = keywords
            .iter()
            .zip(0..)
            .map(|(keyword, bit)| ((*keyword).to_owned(), bit))
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
        #![proptest_config(ProptestConfig::with_cases(1000))]
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
