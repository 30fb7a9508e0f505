//! A condition as tokens.
//!
//! Rules apply in a fixed order and the first that matches wins, not the longest, as in the Collector's lexer: `5.` is a
//! float, `not_x` a name, and `IsMatch` four tokens, which the parser joins.

use super::error::OttlError;
use super::quoted::unquote;

/// What a token is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Bytes(Vec<u8>),
    Float(f64),
    Int(i64),
    Text(Vec<u8>),
    Nil,
    Not,
    Or,
    And,
    Compare(Comparison),
    Arrow,
    Plus,
    Minus,
    Times,
    Over,
    Bool(bool),
    Equal,
    /// One of `( ) { } : , . [ ]`.
    Mark(u8),
    /// `[A-Z][A-Z0-9_]*`
    Upper(String),
    /// `[a-z][a-z0-9_]*`
    Lower(String),
    Underscore,
}

/// A comparison's operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Ge,
    Gt,
}

/// A token and the byte where it begins.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spot {
    pub(super) token: Token,
    pub(super) at: usize,
}

/// Splits a condition.
pub(super) fn tokens(text: &str) -> Result<Vec<Spot>, OttlError> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.as_bytes().get(at..).filter(|rest| !rest.is_empty()) {
        let blank = rest.iter().take_while(|byte| is_blank(**byte)).count();
        if blank > 0 {
            at += blank;
            continue;
        }
        let (token, length) = token(rest).map_err(|message| OttlError::at(text, at, message))?;
        out.push(Spot { token, at });
        at += length;
    }
    Ok(out)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn run(bytes: &[u8], of: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| of(**byte)).count()
}

/// The text of the first `length` bytes, which the caller has found to be ASCII.
fn ascii(bytes: &[u8], length: usize) -> &str {
    bytes
        .get(..length)
        .and_then(|bytes| std::str::from_utf8(bytes).ok())
        .unwrap_or_default()
}

fn token(rest: &[u8]) -> Result<(Token, usize), String> {
    if let Some(found) = number(rest) {
        return found;
    }
    if rest.first() == Some(&b'"') {
        return quoted(rest);
    }
    if let Some(found) = keyword(rest).or_else(|| operator(rest)) {
        return Ok(found);
    }
    match rest.first() {
        Some(b'A'..=b'Z') => {
            let length = run(rest, |byte| {
                byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_'
            });
            Ok((Token::Upper(ascii(rest, length).to_owned()), length))
        }
        Some(b'a'..=b'z') => {
            let length = run(rest, |byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'
            });
            Ok((Token::Lower(ascii(rest, length).to_owned()), length))
        }
        Some(b'_') if !rest.get(1).copied().is_some_and(is_word) => Ok((Token::Underscore, 1)),
        _ => Err("this character cannot stand here".into()),
    }
}

fn number(rest: &[u8]) -> Option<Result<(Token, usize), String>> {
    if let Some(digits) = rest.strip_prefix(b"0x") {
        let length = run(digits, |byte| byte.is_ascii_hexdigit());
        if length > 0 {
            return Some(byte_literal(ascii(digits, length)));
        }
    }
    let whole = run(rest, |byte| byte.is_ascii_digit());
    let after = rest.get(whole..).unwrap_or_default();
    let fraction = after
        .strip_prefix(b".")
        .map(|rest| run(rest, |byte| byte.is_ascii_digit()));
    match fraction {
        Some(digits) if whole + digits > 0 => {
            let mantissa = whole + 1 + digits;
            let length = mantissa + exponent(rest.get(mantissa..).unwrap_or_default());
            let value = ascii(rest, length).parse::<f64>().ok();
            Some(
                value
                    .filter(|value| value.is_finite())
                    .map(|value| (Token::Float(value), length))
                    .ok_or_else(|| "this number is out of range".into()),
            )
        }
        _ if whole > 0 => Some(
            ascii(rest, whole)
                .parse::<i64>()
                .map(|value| (Token::Int(value), whole))
                .map_err(|_| "this number is out of range".into()),
        ),
        _ => None,
    }
}

fn exponent(rest: &[u8]) -> usize {
    let [b'e' | b'E', rest @ ..] = rest else {
        return 0;
    };
    let sign = usize::from(matches!(rest.first(), Some(b'+' | b'-')));
    match run(rest.get(sign..).unwrap_or_default(), |byte| {
        byte.is_ascii_digit()
    }) {
        0 => 0,
        digits => 1 + sign + digits,
    }
}

fn byte_literal(digits: &str) -> Result<(Token, usize), String> {
    let pairs: Option<Vec<u8>> = digits
        .as_bytes()
        .chunks(2)
        .map(|pair| {
            let pair = std::str::from_utf8(pair)
                .ok()
                .filter(|pair| pair.len() == 2)?;
            u8::from_str_radix(pair, 16).ok()
        })
        .collect();
    pairs
        .map(|bytes| (Token::Bytes(bytes), digits.len() + 2))
        .ok_or_else(|| "a byte literal needs an even number of hexadecimal digits".into())
}

fn quoted(rest: &[u8]) -> Result<(Token, usize), String> {
    let mut at = 1;
    loop {
        match rest.get(at) {
            Some(b'"') => break,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
            None => return Err("this text has no closing quote".into()),
        }
    }
    let inside = rest.get(1..at).unwrap_or_default();
    unquote(inside)
        .map(|text| (Token::Text(text), at + 1))
        .ok_or_else(|| "this text has an escape that is not known, or a line break".into())
}

fn keyword(rest: &[u8]) -> Option<(Token, usize)> {
    let length = run(rest, is_word);
    let token = match ascii(rest, length) {
        "nil" => Token::Nil,
        "not" => Token::Not,
        "or" => Token::Or,
        "and" => Token::And,
        "true" => Token::Bool(true),
        "false" => Token::Bool(false),
        _ => return None,
    };
    Some((token, length))
}

fn operator(rest: &[u8]) -> Option<(Token, usize)> {
    use Comparison::{Eq, Ge, Gt, Le, Lt, Ne};
    Some(match rest {
        [b'=', b'=', ..] => (Token::Compare(Eq), 2),
        [b'!', b'=', ..] => (Token::Compare(Ne), 2),
        [b'>', b'=', ..] => (Token::Compare(Ge), 2),
        [b'<', b'=', ..] => (Token::Compare(Le), 2),
        [b'>', ..] => (Token::Compare(Gt), 1),
        [b'<', ..] => (Token::Compare(Lt), 1),
        [b'=', b'>', ..] => (Token::Arrow, 2),
        [b'+', ..] => (Token::Plus, 1),
        [b'-', ..] => (Token::Minus, 1),
        [b'*', ..] => (Token::Times, 1),
        [b'/', ..] => (Token::Over, 1),
        [b'=', ..] => (Token::Equal, 1),
        [
            mark @ (b'(' | b')' | b'{' | b'}' | b':' | b',' | b'.' | b'[' | b']'),
            ..,
        ] => (Token::Mark(*mark), 1),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[Token]) {
        let found: Vec<Token> = tokens(text)
            .unwrap()
            .into_iter()
            .map(|spot| spot.token)
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn the_first_rule_wins() {
        let lower = |name: &str| Token::Lower(name.into());
        check(
            "5. .5 1.5e3 7",
            &[
                Token::Float(5.0),
                Token::Float(0.5),
                Token::Float(1500.0),
                Token::Int(7),
            ],
        );
        check("1e5", &[Token::Int(1), lower("e5")]);
        check("0x0aFF", &[Token::Bytes(vec![0x0a, 0xff])]);
        check(
            "not_x nil nils",
            &[lower("not_x"), Token::Nil, lower("nils")],
        );
        check(
            "IsMatch",
            &[
                Token::Upper("I".into()),
                lower("s"),
                Token::Upper("M".into()),
                lower("atch"),
            ],
        );
        check(
            "=> >= == =",
            &[
                Token::Arrow,
                Token::Compare(Comparison::Ge),
                Token::Compare(Comparison::Eq),
                Token::Equal,
            ],
        );
        check(r#""a\"\x41\u00e9\xe9""#, &[Token::Text("a\"Aéé".into())]);
    }

    #[test]
    fn what_is_no_token_is_refused() {
        for text in [
            "\"open",
            "é",
            "0x123",
            "99999999999999999999",
            "a _b",
            r#""\q""#,
            "\"a\nb\"",
        ] {
            assert!(tokens(text).is_err(), "{text}");
        }
    }
}
