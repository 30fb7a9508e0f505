//! A list of texts of which any may match: exactly, or as regular expressions.

use crate::rules::go_regex;
use regex::bytes::Regex;

pub(super) enum Texts {
    Exact(Vec<Box<[u8]>>),
    Patterns(Vec<Regex>),
}

impl Texts {
    /// `None` when an expression is none.
    pub(super) fn new(texts: &[String], regexp: bool) -> Option<Self> {
        if !regexp {
            let exact = texts.iter().map(|text| text.as_bytes().into());
            return Some(Self::Exact(exact.collect()));
        }
        let patterns = texts.iter().map(|text| go_regex::compile(text).ok());
        Some(Self::Patterns(patterns.collect::<Option<_>>()?))
    }

    pub(super) fn matches(&self, text: &[u8]) -> bool {
        match self {
            Self::Exact(texts) => texts.iter().any(|exact| **exact == *text),
            Self::Patterns(patterns) => patterns.iter().any(|pattern| pattern.is_match(text)),
        }
    }
}
