//! Regular expressions: Go's, compiled by `go_regex`; a literal one at load.
//!
//! The text is matched as bytes. Go's engine reads a byte that is no UTF-8 as U+FFFD, which `.` matches; here it matches no
//! class.

use super::super::super::go_regex;
use super::super::built::Extent;
use super::super::error::EvalError;
use super::super::evaluate::Scene;
use super::super::expression::Call;
use super::super::value::{Out, Value};
use super::Prepared;
use regex::bytes::Regex;
use std::borrow::Cow;

/// Bytes of a pattern that a span brings; a sender must not make the compiler's work.
const MAX_PATTERN: usize = 4 << 10;
/// What compiling one counts as: ten are all that an evaluation may.
const COMPILING: u32 = 400_000;

pub(super) fn prepare(call: &mut Call) -> Result<(), String> {
    if let Some(pattern) = call.literal_text(1) {
        let pattern = std::str::from_utf8(pattern).map_err(|_| "the pattern is not UTF-8")?;
        let regex = go_regex::compile(pattern)?;
        call.prepared = Prepared::Regex(Box::new(regex));
    }
    Ok(())
}

/// The expression: made at load, or from a value of the span, which costs what compiling costs.
fn regex_of<'a>(scene: &Scene<'a>, call: &'a Call) -> Result<Cow<'a, Regex>, EvalError> {
    if let Prepared::Regex(regex) = &call.prepared {
        return Ok(Cow::Borrowed(regex));
    }
    let pattern = call.text(scene, 1)?;
    if pattern.len() > MAX_PATTERN {
        return Err(EvalError::Invalid("a pattern of a span is too long"));
    }
    scene.walk(Extent {
        size: COMPILING,
        depth: 0,
    })?;
    let pattern =
        std::str::from_utf8(&pattern).map_err(|_| EvalError::Invalid("a pattern is not UTF-8"))?;
    go_regex::compile(pattern)
        .map(Cow::Owned)
        .map_err(|_| EvalError::Invalid("a pattern is no regular expression"))
}

pub(super) fn is_match<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let regex = regex_of(scene, call)?;
    let text = call.text_like(scene, 0)?;
    Ok(Value::Bool(text.is_some_and(|text| regex.is_match(&text))))
}

/// A map of the named groups; empty when nothing matches.
pub(super) fn extract<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let regex = regex_of(scene, call)?;
    if regex.capture_names().flatten().next().is_none() {
        return Err(EvalError::Invalid("a pattern has no named group"));
    }
    let text = call.text(scene, 0)?;
    let Some(found) = regex.captures(&text) else {
        return Ok(Value::map(Vec::new(), false));
    };
    let groups = regex
        .capture_names()
        .enumerate()
        .filter_map(|(index, name)| {
            let text = found.get(index).map_or(&b""[..], |group| group.as_bytes());
            Some((Cow::Owned(name?.as_bytes().to_vec()), Value::text(text)))
        });
    Ok(Value::map(groups.collect(), false))
}
