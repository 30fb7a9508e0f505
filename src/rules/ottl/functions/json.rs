//! JSON as the Collector reads it: every number a double, of a repeated key the last value, numbers read as loosely as by
//! the library there (`1.` and `01` pass, and control characters in texts).

use super::super::error::EvalError;
use super::super::value::{ListKind, Value};
use super::entries::Entries;
use std::borrow::Cow;

/// Levels that are taken; values of spans stop at 30.
const MAX_DEPTH: u32 = 128;
const BROKEN: EvalError = EvalError::Invalid("a text is not JSON");

type Parsed<T> = Result<T, EvalError>;

struct Reader<'t> {
    rest: &'t [u8],
}

/// One value and nothing behind it.
pub(super) fn parse<'a>(text: &[u8]) -> Parsed<Value<'a>> {
    let mut reader = Reader { rest: text };
    let value = reader.value(0)?;
    reader.blanks();
    if reader.rest.is_empty() {
        Ok(value)
    } else {
        Err(BROKEN)
    }
}

impl<'t> Reader<'t> {
    fn blanks(&mut self) {
        let count = self
            .rest
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
            .count();
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    /// The next byte that is no blank.
    fn next(&mut self) -> Parsed<u8> {
        self.blanks();
        let (byte, rest) = self.rest.split_first().ok_or(BROKEN)?;
        self.rest = rest;
        Ok(*byte)
    }

    fn takes(&mut self, byte: u8) -> bool {
        self.blanks();
        match self.rest.strip_prefix(&[byte]) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn word<'a>(&mut self, word: &[u8], value: Value<'a>) -> Parsed<Value<'a>> {
        self.rest = self.rest.strip_prefix(word).ok_or(BROKEN)?;
        Ok(value)
    }

    fn value<'a>(&mut self, depth: u32) -> Parsed<Value<'a>> {
        if depth >= MAX_DEPTH {
            return Err(EvalError::Invalid("a JSON text is nested too deep"));
        }
        match self.next()? {
            b'n' => self.word(b"ull", Value::Nil),
            b't' => self.word(b"rue", Value::Bool(true)),
            b'f' => self.word(b"alse", Value::Bool(false)),
            b'"' => Ok(Value::text(self.text()?)),
            b'[' => self.list(depth + 1),
            b'{' => self.object(depth + 1),
            first @ (b'-' | b'0'..=b'9') => self.number(first),
            _ => Err(BROKEN),
        }
    }

    fn list<'a>(&mut self, depth: u32) -> Parsed<Value<'a>> {
        let mut items = Vec::new();
        if !self.takes(b']') {
            loop {
                items.push(self.value(depth)?);
                match self.next()? {
                    b',' => {}
                    b']' => break,
                    _ => return Err(BROKEN),
                }
            }
        }
        Ok(Value::list(items, ListKind::Plain))
    }

    fn object<'a>(&mut self, depth: u32) -> Parsed<Value<'a>> {
        let mut entries = Entries::default();
        if !self.takes(b'}') {
            loop {
                if self.next()? != b'"' {
                    return Err(BROKEN);
                }
                let key = self.text()?;
                if self.next()? != b':' {
                    return Err(BROKEN);
                }
                let value = self.value(depth)?;
                entries.put(Cow::Owned(key), value);
                match self.next()? {
                    b',' => {}
                    b'}' => break,
                    _ => return Err(BROKEN),
                }
            }
        }
        Ok(entries.into_map(false))
    }

    fn number<'a>(&mut self, first: u8) -> Parsed<Value<'a>> {
        let count = self
            .rest
            .iter()
            .take_while(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'))
            .count();
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        let text = [&[first], digits].concat();
        let value: f64 = std::str::from_utf8(&text)
            .ok()
            .and_then(|text| text.parse().ok())
            .ok_or(BROKEN)?;
        if value.is_infinite() {
            return Err(EvalError::Invalid("a number is out of range"));
        }
        Ok(Value::Double(value))
    }

    /// A text behind its opening quote.
    fn text(&mut self) -> Parsed<Vec<u8>> {
        let mut out = Vec::new();
        loop {
            let plain = self
                .rest
                .iter()
                .take_while(|byte| !matches!(byte, b'"' | b'\\' | 0))
                .count();
            let (text, rest) = self.rest.split_at(plain);
            out.extend_from_slice(text);
            let (byte, rest) = rest.split_first().ok_or(BROKEN)?;
            self.rest = rest;
            match byte {
                b'"' => return Ok(out),
                b'\\' => self.escape(&mut out)?,
                _ => return Err(BROKEN),
            }
        }
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Parsed<()> {
        let (byte, rest) = self.rest.split_first().ok_or(BROKEN)?;
        self.rest = rest;
        out.push(match byte {
            b'"' | b'\\' | b'/' => *byte,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let character = self.unicode()?;
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return Err(BROKEN),
        });
        Ok(())
    }

    /// Half a surrogate pair is U+FFFD.
    fn unicode(&mut self) -> Parsed<char> {
        let high = self.four_digits()?;
        if let Some(character) = char::from_u32(high) {
            return Ok(character);
        }
        let before = self.rest;
        if (0xd800..0xdc00).contains(&high)
            && let Some(rest) = self.rest.strip_prefix(b"\\u")
        {
            self.rest = rest;
            let low = self.four_digits()?;
            if (0xdc00..0xe000).contains(&low) {
                let joined = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(joined).unwrap_or('\u{fffd}'));
            }
            self.rest = before;
        }
        Ok('\u{fffd}')
    }

    fn four_digits(&mut self) -> Parsed<u32> {
        let (digits, rest) = self.rest.split_at_checked(4).ok_or(BROKEN)?;
        self.rest = rest;
        digits.iter().try_fold(0, |value, digit| {
            let digit = char::from(*digit).to_digit(16).ok_or(BROKEN)?;
            Ok(value << 4 | digit)
        })
    }
}
