//! Regular expressions over the same text as keywords: in time that is linear in its length, escapes undone, case as it is.

use super::levels::{Scratch, is_json};
use regex::bytes::Regex;

/// The expressions of all policies, each with the bit of its policy.
#[derive(Debug, Default)]
pub(crate) struct Expressions(Vec<(Regex, u32)>);

impl Expressions {
    pub(crate) fn new(expressions: Vec<(Regex, u32)>) -> Self {
        Self(expressions)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets the bit of each policy of which an expression matches, raw or under up to three levels of escapes. `known` says
    /// which bits need not be looked for.
    pub(crate) fn search(
        &self,
        text: &[u8],
        scratch: &mut Scratch,
        known: impl Fn(u32) -> bool,
        hit: &mut impl FnMut(u32),
    ) {
        let mut wanted: Vec<&(Regex, u32)> =
            self.0.iter().filter(|(_, bit)| !known(*bit)).collect();
        let mut look = |text: &[u8]| {
            let found: Vec<u32> = wanted
                .iter()
                .filter(|(regex, _)| regex.is_match(text))
                .map(|(_, bit)| *bit)
                .collect();
            found.iter().for_each(|bit| hit(*bit));
            wanted.retain(|(_, bit)| !found.contains(bit));
        };
        let escaped = memchr::memchr(b'\\', text).is_some();
        if !escaped || !is_json(text) {
            look(text);
        }
        if escaped {
            scratch.unescaped(text, &mut |text, _| look(text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::go_regex;

    #[test]
    fn expressions_see_text_as_it_is_meant() {
        let card = r"\b\d{4}-\d{4}\b";
        let json = |text: &str| serde_json::to_string(text).unwrap();
        for (expression, text, expected) in [
            (card, "card 1234-5678.".to_owned(), true),
            (card, "card 12345-5678.".to_owned(), false),
            (card, json("card\n1234-5678"), true),
            (card, json(&json(&json("card\t1234-5678"))), true),
            ("^请.*释", json("请解释"), false),
            ("请.*释$", "请解释".to_owned(), true),
            ("请.释", r#"["\u8bf7\u89e3\u91ca"]"#.to_owned(), true),
            ("(?i)IGNORE", json("ignore \"it\""), true),
            ("IGNORE", "ignore".to_owned(), false),
            (r"\\", json(r"C:\x"), true),
            (r"\\", json("a\nb"), false),
        ] {
            let regex = go_regex::compile(expression).unwrap();
            let expressions = Expressions::new(vec![(regex, 3)]);
            let mut found = Vec::new();
            let mut search = |known: bool| {
                expressions.search(
                    text.as_bytes(),
                    &mut Scratch::default(),
                    |_| known,
                    &mut |bit| found.push(bit),
                );
                std::mem::take(&mut found)
            };
            assert_eq!(search(false) == [3], expected, "{expression}: {text}");
            assert!(search(true).is_empty(), "{expression}");
        }
    }
}
