//! Which spans a rule means: `name =~ "gpu.kernel.*"`, `name == "gpu.kernel"`, or a name with `*` for any text.

use crate::rules::go_regex;
use regex::bytes::Regex;

/// Spans by their name.
#[derive(Debug, Clone)]
pub struct SpanPattern {
    text: String,
    test: Test,
}

#[derive(Debug, Clone)]
enum Test {
    Exactly(Vec<u8>),
    /// Of the whole name or a part of it, as in the Collector.
    Regex(Regex),
}

/// Why a text is no pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadPattern {
    /// There is an operator, and what follows is no text in quotes.
    #[error("expected a text in double quotes behind the operator")]
    Quotes,
    /// The regular expression is none.
    #[error("the regular expression cannot be read")]
    Regex,
    /// Nothing is meant.
    #[error(
        "expected `name =~ \"...\"`, `name == \"...\"` or the name of a span, in which `*` is any text"
    )]
    Empty,
}

impl SpanPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(text: &str) -> Result<Self, BadPattern> {
        let trimmed = text.trim();
        let behind = trimmed.strip_prefix("name").map(str::trim_start);
        let test = if let Some(rest) = behind.and_then(|rest| rest.strip_prefix("=~")) {
            regex_of(&quoted(rest)?)?
        } else if let Some(rest) = behind.and_then(|rest| rest.strip_prefix("==")) {
            Test::Exactly(quoted(rest)?.into_bytes())
        } else if trimmed.is_empty() {
            return Err(BadPattern::Empty);
        } else if trimmed.contains('*') {
            let parts = trimmed.split('*').map(regex::escape);
            let parts: Vec<String> = parts.collect();
            regex_of(&format!("(?s)^{}$", parts.join(".*")))?
        } else {
            Test::Exactly(trimmed.as_bytes().to_vec())
        };
        Ok(Self {
            text: text.to_owned(),
            test,
        })
    }

    pub(super) fn matches(&self, name: &[u8]) -> bool {
        match &self.test {
            Test::Exactly(text) => text == name,
            Test::Regex(regex) => regex.is_match(name),
        }
    }
}

impl PartialEq for SpanPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

fn regex_of(text: &str) -> Result<Test, BadPattern> {
    go_regex::compile(text)
        .map(Test::Regex)
        .map_err(|_| BadPattern::Regex)
}

/// A JSON string: `\"` and `\\` are what is needed.
fn quoted(text: &str) -> Result<String, BadPattern> {
    serde_json::from_str(text).map_err(|_| BadPattern::Quotes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_names() {
        let check = |pattern: &str, name: &str, expected: bool| {
            let pattern = SpanPattern::parse(pattern).unwrap();
            assert_eq!(
                pattern.matches(name.as_bytes()),
                expected,
                "{pattern:?} {name}"
            );
        };
        check(r#"name =~ "gpu.kernel.*""#, "gpu.kernel.matmul", true);
        check(r#"name =~ "gpu.kernel.*""#, "a gpu.kernel", true);
        check(r#"name=~"^gpu\\.""#, "gpux", false);
        check(r#"name == "gpu.kernel""#, "gpu.kernel", true);
        check(r#"name == "gpu.kernel""#, "gpu.kernel.x", false);
        check("gpu.kernel.*", "gpu.kernel.matmul", true);
        check("gpu.kernel.*", "gpuxkernel.matmul", false);
        check("gpu.kernel.*", "a gpu.kernel.b", false);
        check("*.token", "a.b.token", true);
        check("named", "named", true);
        check("name", "name", true);
    }

    #[test]
    fn refuses_what_means_nothing() {
        let check =
            |text: &str, expected| assert_eq!(SpanPattern::parse(text).unwrap_err(), expected);
        check(" ", BadPattern::Empty);
        check("name =~ gpu", BadPattern::Quotes);
        check("name == \"gpu", BadPattern::Quotes);
        check("name =~ \"(\"", BadPattern::Regex);
    }
}
