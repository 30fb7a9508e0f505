//! The fields of a message with the bytes that they take: for those who write a message again with a part of it changed.

use super::wire::{Cursor, Value, WireError, offset_in};
use std::ops::Range;

/// One field.
#[derive(Debug, Clone)]
pub(crate) struct RawField<'a> {
    pub(crate) number: u32,
    /// Where it lies in its message, tag included.
    pub(crate) range: Range<usize>,
    pub(crate) value: Value<'a>,
}

impl<'a> RawField<'a> {
    /// What is in it, when it is length-delimited and has this number.
    pub(crate) fn message(&self, number: u32) -> Option<&'a [u8]> {
        match self.value {
            Value::Bytes(bytes) if self.number == number => Some(bytes),
            _ => None,
        }
    }
}

/// Walks the fields in wire order.
pub(crate) fn raw_fields(
    message: &[u8],
) -> impl Iterator<Item = Result<RawField<'_>, WireError>> + '_ {
    let mut cursor = Cursor::new(message);
    std::iter::from_fn(move || {
        let start = offset_in(message, cursor.rest());
        let (number, value) = match cursor.next() {
            Ok(Some(field)) => field,
            Ok(None) => return None,
            Err(error) => return Some(Err(error)),
        };
        let end = message.len() - cursor.rest().len();
        Some(Ok(RawField {
            number,
            range: start..end,
            value,
        }))
    })
    .scan(false, |failed, field| {
        // What stands behind broken framing is nothing.
        (!std::mem::replace(failed, field.is_err())).then_some(field)
    })
}
