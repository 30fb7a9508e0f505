//! Values to names: quotes taken off, placeholders and what is too long left out.

use super::anomaly::Anomaly;
use super::dialects::Dialects;
use super::fold_text::unquoted;
use super::json_leaves::json_leaves;
use super::numbers;
use super::words::Form;
use crate::otlp::AnyValue;

/// Bytes of a name or id; what is longer is none, and must not be kept for a trace.
const LONGEST: usize = 256;

/// A name or id; `None` when there is none.
pub(super) fn text<'a>(
    dialects: &Dialects,
    value: AnyValue<'a>,
) -> Result<Option<&'a [u8]>, Anomaly> {
    let AnyValue::Str(text) = value else {
        return Ok(None);
    };
    let text = unquoted(text);
    if text.len() > LONGEST {
        return Err(Anomaly::TooLong);
    }
    Ok(Some(text).filter(|text| !dialects.is_placeholder(text)))
}

/// The name of an error, without its module when `form` says that it may have one.
pub(super) fn error_name(text: &[u8], form: Form) -> &[u8] {
    let last = text.rsplit(|byte| *byte == b'.').next();
    last.filter(|last| form == Form::Type && !last.is_empty())
        .unwrap_or(text)
}

/// Each word of a list, of JSON text of one, or the one alone.
pub(super) fn each_word<'a>(value: AnyValue<'a>, word: &mut dyn FnMut(&'a [u8])) {
    match value {
        AnyValue::Str(text) if text.trim_ascii_start().starts_with(b"[") => {
            json_leaves(text, &mut |_, value| {
                if let AnyValue::Str(text) = value {
                    word(text);
                }
            });
        }
        AnyValue::Str(text) => word(unquoted(text)),
        list => list.each_text(&mut |text| word(unquoted(text))),
    }
}

/// Whether a value of this form says that the span failed.
pub(super) fn is_error(form: Form, value: AnyValue<'_>) -> bool {
    match form {
        Form::Level => {
            matches!(value, AnyValue::Str(text) if unquoted(text).eq_ignore_ascii_case(b"error"))
        }
        Form::Http => numbers::number(value).is_ok_and(|code| code >= 400.0),
        Form::Bool => numbers::boolean(value) == Ok(true),
        _ => true,
    }
}
