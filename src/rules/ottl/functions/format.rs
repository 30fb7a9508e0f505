//! `Format`: Go's `fmt.Sprintf` for the values that a condition has.
//!
//! What Go writes into the text about a wrong verb or count (`%!d(string=x)`, `%!d(MISSING)`) is written here too. What
//! shows as the inside of a Go structure there (maps, lists of a span, with addresses) is `{...}` here.

use super::super::convert;
use super::super::error::EvalError;
use super::super::evaluate::Scene;
use super::super::expression::Call;
use super::super::value::{Out, Value};
use super::fits;
use super::format_value::{go_type, show};

/// Width and precision that are taken; Go's own limit.
const MAX_NUMBER: usize = 1_000_000;

/// The flags of one directive.
#[derive(Default, Clone, Copy)]
pub(super) struct Flags {
    pub(super) plus: bool,
    pub(super) minus: bool,
    pub(super) sharp: bool,
    pub(super) space: bool,
    pub(super) zero: bool,
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
}

struct Printer<'v, 'a> {
    values: &'v [Value<'a>],
    next: usize,
    reordered: bool,
    /// The index in brackets was not one.
    misplaced: bool,
    out: Vec<u8>,
}

pub(super) fn format<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let exprs = call.exprs(1);
    let values: Result<Vec<_>, _> = exprs.iter().map(|expr| expr.eval(scene)).collect();
    let values = values?;
    let mut printer = Printer {
        values: &values,
        next: 0,
        reordered: false,
        misplaced: false,
        out: Vec::new(),
    };
    printer.print(&call.text(scene, 0)?)?;
    Ok(Value::text(printer.out))
}

impl<'v, 'a> Printer<'v, 'a> {
    fn print(&mut self, format: &[u8]) -> Result<(), EvalError> {
        let mut rest = format;
        while let Some(at) = memchr::memchr(b'%', rest) {
            let (text, directive) = rest.split_at(at);
            self.out.extend_from_slice(text);
            rest = self.directive(directive.get(1..).unwrap_or_default())?;
            fits(self.out.len())?;
        }
        self.out.extend_from_slice(rest);
        self.extra()
    }

    /// What no directive asked for.
    fn extra(&mut self) -> Result<(), EvalError> {
        let left = self.values.get(self.next..).unwrap_or_default();
        if self.reordered || left.is_empty() {
            return Ok(());
        }
        self.out.extend_from_slice(b"%!(EXTRA ");
        for (index, value) in left.iter().enumerate() {
            if index > 0 {
                self.out.extend_from_slice(b", ");
            }
            if matches!(value, Value::Nil) {
                self.out.extend_from_slice(b"<nil>");
            } else {
                self.out.extend_from_slice(go_type(value).as_bytes());
                self.out.push(b'=');
                show(value, 'v', Flags::default(), &mut self.out)?;
            }
        }
        self.out.push(b')');
        Ok(())
    }

    fn directive<'f>(&mut self, format: &'f [u8]) -> Result<&'f [u8], EvalError> {
        let mut flags = Flags::default();
        let mut rest = format;
        self.misplaced = false;
        while let Some((byte, after)) = rest.split_first() {
            match byte {
                b'+' => flags.plus = true,
                b'-' => flags.minus = true,
                b'#' => flags.sharp = true,
                b' ' => flags.space = true,
                b'0' => flags.zero = true,
                _ => break,
            }
            rest = after;
        }
        rest = self.index(rest);
        rest = self.width(rest, &mut flags);
        if let Some(after) = rest.strip_prefix(b".") {
            rest = self.index(after);
            rest = self.precision(rest, &mut flags);
        }
        rest = self.index(rest);
        let Some(chunk) = rest.utf8_chunks().next() else {
            self.out.extend_from_slice(b"%!(NOVERB)");
            return Ok(rest);
        };
        let verb = chunk.valid().chars().next().unwrap_or('\u{fffd}');
        let length = chunk.valid().chars().next().map_or(1, char::len_utf8);
        self.verb(verb, flags)?;
        Ok(rest.get(length..).unwrap_or_default())
    }

    fn verb(&mut self, verb: char, flags: Flags) -> Result<(), EvalError> {
        if verb == '%' {
            self.out.push(b'%');
        } else if self.misplaced {
            self.out
                .extend_from_slice(format!("%!{verb}(BADINDEX)").as_bytes());
        } else if let Some(value) = self.values.get(self.next) {
            self.next += 1;
            show(value, verb, flags, &mut self.out)?;
        } else {
            self.out
                .extend_from_slice(format!("%!{verb}(MISSING)").as_bytes());
        }
        Ok(())
    }

    /// `[2]`: the second value is the next.
    fn index<'f>(&mut self, rest: &'f [u8]) -> &'f [u8] {
        let Some(inner) = rest.strip_prefix(b"[") else {
            return rest;
        };
        self.reordered = true;
        let Some(end) = memchr::memchr(b']', inner) else {
            self.misplaced = true;
            return inner;
        };
        let (digits, after) = inner.split_at(end);
        let (number, left) = number(digits);
        match number {
            Some(index) if left.is_empty() && (1..=self.values.len()).contains(&index) => {
                self.next = index - 1;
            }
            _ => self.misplaced = true,
        }
        after.get(1..).unwrap_or_default()
    }

    fn width<'f>(&mut self, rest: &'f [u8], flags: &mut Flags) -> &'f [u8] {
        let Some(after) = rest.strip_prefix(b"*") else {
            let (width, rest) = number(rest);
            flags.width = width;
            return rest;
        };
        match self.counted() {
            Some(width) => {
                flags.minus |= width < 0;
                flags.width = usize::try_from(width.unsigned_abs()).ok();
            }
            None => self.out.extend_from_slice(b"%!(BADWIDTH)"),
        }
        after
    }

    fn precision<'f>(&mut self, rest: &'f [u8], flags: &mut Flags) -> &'f [u8] {
        let Some(after) = rest.strip_prefix(b"*") else {
            let (precision, rest) = number(rest);
            flags.precision = Some(precision.unwrap_or(0));
            return rest;
        };
        match self.counted() {
            Some(precision) => flags.precision = usize::try_from(precision).ok(),
            None => self.out.extend_from_slice(b"%!(BADPREC)"),
        }
        after
    }

    /// The next value, as a width or precision. Go asks for an `int`, which no value of a condition is but a port.
    fn counted(&mut self) -> Option<i64> {
        let value = self.values.get(self.next)?;
        self.next += 1;
        let limit = i64::try_from(MAX_NUMBER).unwrap_or(i64::MAX);
        match value {
            Value::Port(count) => Some(*count),
            value => convert::int(value).ok(),
        }
        .filter(|count| (-limit..=limit).contains(count))
    }
}

/// Digits at the beginning; none when they are too many.
fn number(rest: &[u8]) -> (Option<usize>, &[u8]) {
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, after) = rest.split_at(count);
    let number = std::str::from_utf8(digits)
        .ok()
        .and_then(|digits| digits.parse().ok())
        .filter(|number| *number <= MAX_NUMBER);
    (number, after)
}
