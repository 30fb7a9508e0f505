//! All keywords, one walk over each text.

use super::casefold::casefold;
use super::grams::{Grams, WINDOW};
use super::unescape::unescape;
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
    /// A keyword holds a backslash itself, so that even JSON must be searched before its escapes are undone.
    raw: bool,
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
        let long = folded.iter().filter(|(keyword, _)| keyword.len() >= WINDOW);
        let long = Grams::new(long.map(|(keyword, bit)| (keyword.as_slice(), *bit)));
        let short: Vec<_> = folded
            .iter()
            .filter(|(keyword, _)| keyword.len() < WINDOW)
            .collect();
        let short = if short.is_empty() {
            None
        } else {
            let automaton = AhoCorasick::new(short.iter().map(|(keyword, _)| keyword));
            Some((
                automaton.map_err(|error| error.to_string())?,
                short.iter().map(|(_, bit)| *bit).collect(),
            ))
        };
        let raw = keywords.iter().any(|(keyword, _)| keyword.contains('\\'));
        Ok((long.is_some() || short.is_some()).then_some(Self { long, short, raw }))
    }

    /// Sets the bit of each keyword that `text` holds, raw or under up to three levels of escapes.
    pub(crate) fn search(&self, text: &[u8], scratch: &mut Scratch, hit: &mut impl FnMut(u32)) {
        let escaped = memchr::memchr(b'\\', text).is_some();
        // In JSON every backslash is an escape: what stands there before they are undone stands there after it.
        if !escaped || self.raw || !is_json(text) {
            self.search_plain(text, &mut scratch.folded, hit);
        }
        if !escaped {
            return;
        }
        scratch.plain.clear();
        let mut more = unescape(text, &mut scratch.plain);
        for _ in 1..LEVELS {
            let plain = std::mem::take(&mut scratch.plain);
            self.search_plain(&plain, &mut scratch.folded, hit);
            scratch.next.clear();
            more = more && unescape(&plain, &mut scratch.next);
            scratch.plain = plain;
            if !more {
                return;
            }
            std::mem::swap(&mut scratch.plain, &mut scratch.next);
        }
        let plain = std::mem::take(&mut scratch.plain);
        self.search_plain(&plain, &mut scratch.folded, hit);
        scratch.plain = plain;
    }

    fn search_plain(&self, text: &[u8], folded: &mut Vec<u8>, hit: &mut impl FnMut(u32)) {
        folded.clear();
        casefold(text, folded);
        if let Some(long) = &self.long {
            long.find(folded, &mut *hit);
        }
        if let Some((automaton, bits)) = &self.short {
            for found in automaton.find_overlapping_iter(folded.as_slice()) {
                if let Some(bit) = bits.get(found.pattern().as_usize()) {
                    hit(*bit);
                }
            }
        }
    }
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

    proptest! {
        #[test]
        fn equals_a_naive_search(
            keywords in proptest::collection::vec("[a-cA-C请解]{1,4}|[a-b请]{8,12}", 1..6),
            text in "[a-cA-C请解]{0,60}",
        ) {
            let refs: Vec<&str> = keywords.iter().map(String::as_str).collect();
            let expected: BTreeSet<u32> = keywords.iter().zip(0..)
                .filter(|(keyword, _)| text.to_lowercase().contains(&keyword.to_lowercase()))
                .map(|(_, bit)| bit).collect();
            for escaped in [text.clone(), serde_json::to_string(&text).unwrap(),
                            serde_json::to_string(&serde_json::to_string(&text).unwrap()).unwrap(), ascii_json(&text)] {
                prop_assert_eq!(&found(&refs, &escaped), &expected, "{}", escaped);
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
