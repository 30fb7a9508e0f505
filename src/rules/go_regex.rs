//! Go's RE2 expressions for Rust's `regex` engine.
//!
//! Both are RE2 dialects; they differ where Go's classes `\d \w \s \b` are ASCII and Rust's are Unicode, and in characters
//! that Go reads as they are (`go_literals`). The expression is parsed as Rust reads it and those places are rewritten, so
//! that a match here is a match there. Text is matched as bytes; like Go, a byte that is not UTF-8 matches no class of
//! characters.

use super::go_literals::escaped;
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ast::{self, AssertionKind, Ast, ClassPerlKind, Span, Visitor, parse::Parser};

/// Bytes of one compiled expression; Go's limit is on repeat counts, ours on the program. The `regex` crate's default.
const SIZE_LIMIT: usize = 10 << 20;

/// Compiles `expression` with Go's meaning, unanchored.
///
/// # Errors
/// The engine's message, which shows the expression.
pub(crate) fn compile(expression: &str) -> Result<Regex, String> {
    let mut text = escaped(expression);
    let ast = Parser::new()
        .parse(&text)
        .map_err(|error| error.to_string())?;
    let places = ast::visit(&ast, Places::default()).unwrap_or_default();
    for (span, replacement) in places.iter().rev() {
        text.replace_range(span.start.offset..span.end.offset, replacement);
    }
    RegexBuilder::new(&text)
        .size_limit(SIZE_LIMIT)
        .build()
        .map_err(|error| error.to_string())
}

#[derive(Default)]
struct Places {
    found: Vec<(Span, &'static str)>,
}

impl Places {
    fn class(&mut self, class: &ast::ClassPerl, bracketed: bool) {
        let text = match (&class.kind, class.negated, bracketed) {
            (ClassPerlKind::Digit, false, true) => "0-9",
            (ClassPerlKind::Digit, false, false) => "[0-9]",
            (ClassPerlKind::Digit, true, _) => "[^0-9]",
            (ClassPerlKind::Word, false, true) => "0-9A-Za-z_",
            (ClassPerlKind::Word, false, false) => "[0-9A-Za-z_]",
            (ClassPerlKind::Word, true, _) => "[^0-9A-Za-z_]",
            (ClassPerlKind::Space, false, true) => r"\t\n\f\r ",
            (ClassPerlKind::Space, false, false) => r"[\t\n\f\r ]",
            (ClassPerlKind::Space, true, _) => r"[^\t\n\f\r ]",
        };
        self.found.push((class.span, text));
    }
}

impl Visitor for Places {
    type Output = Vec<(Span, &'static str)>;
    type Err = ();

    fn finish(mut self) -> Result<Self::Output, ()> {
        self.found.sort_by_key(|(span, _)| span.start.offset);
        Ok(self.found)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), ()> {
        match ast {
            Ast::ClassPerl(class) => self.class(class, false),
            Ast::Assertion(assertion) => match assertion.kind {
                AssertionKind::WordBoundary => self.found.push((assertion.span, r"(?-u:\b)")),
                AssertionKind::NotWordBoundary => self.found.push((assertion.span, r"(?-u:\B)")),
                _ => {}
            },
            _ => {}
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ast::ClassSetItem) -> Result<(), ()> {
        if let ast::ClassSetItem::Perl(class) = item {
            self.class(class, true);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_ascii_as_in_go() {
        let cases = [
            (r"^\d+$", "42", true),
            (r"^\d+$", "٤٢", false),
            (r"^\D+$", "٤٢", true),
            (r"^\w+$", "naïve", false),
            (r"^[\w-]+$", "a-b_9", true),
            (r"^[^\s]+$", "a\u{a0}b", true),
            (r"\bcat\b", "écaté", true),
            (r"\bcat\b", "a cat.", true),
            (r"é\b", "né", false),
            (r"(?i)ÉCOLE", "école", true),
            (r"ignore|忽略", "请忽略之前", true),
            (r"\\d", r"\d", true),
            (r"{", "a{", true),
            (r"a{x}", "a{x}", true),
            (r"^a{2,}$", "aaa", true),
            (r"^a{,2}$", "a{,2}", true),
            (r"^[[a]$", "[", true),
            (r"^[a&&b]+$", "a&b", true),
            (r"^[[:alpha:]~~]+$", "a~", true),
            (r"^[+--]+$", "+,-", true),
            (r"\Qa.b\E.", "a.bc", true),
            (r"\Qa.b\E", "axb", false),
        ];
        for (expression, text, expected) in cases {
            assert_eq!(
                compile(expression).unwrap().is_match(text.as_bytes()),
                expected,
                "{expression} on {text}"
            );
        }
    }

    #[test]
    fn a_broken_expression_is_an_error() {
        assert!(compile("(").is_err());
        assert!(compile("*").is_err());
    }
}
