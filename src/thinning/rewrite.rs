//! Writes a piece again without some of its spans, and with attributes added to others. Everything else stays byte for
//! byte; a scope or resource of which no span is left goes with its spans.

use crate::otlp::{Splice, WireError, put_field_header, raw_fields};

/// What becomes of a span.
pub(super) enum Fate {
    Stays,
    Goes,
    /// With these attributes: `KeyValue` messages.
    Noted(Vec<Vec<u8>>),
}

enum Outcome {
    Same,
    Gone,
    New(Vec<u8>),
}

/// Asks about each span by its number in the piece, in wire order. `None`: as it was; empty: nothing is left.
pub(super) fn rewrite(
    piece: &[u8],
    fate: &mut dyn FnMut(usize) -> Fate,
) -> Result<Option<Vec<u8>>, WireError> {
    let mut number = 0;
    let outcome = children(piece, 1, &mut |resource_spans| {
        children(resource_spans, 2, &mut |scope_spans| {
            children(scope_spans, 2, &mut |span| {
                number += 1;
                Ok(match fate(number - 1) {
                    Fate::Stays => Outcome::Same,
                    Fate::Goes => Outcome::Gone,
                    Fate::Noted(notes) => Outcome::New(noted(span, &notes)),
                })
            })
        })
    })?;
    Ok(match outcome {
        Outcome::Same => None,
        Outcome::Gone => Some(Vec::new()),
        Outcome::New(new) => Some(new),
    })
}

/// A message and what becomes of its children in field `number`; gone when all of them are.
fn children(
    message: &[u8],
    number: u8,
    each: &mut dyn FnMut(&[u8]) -> Result<Outcome, WireError>,
) -> Result<Outcome, WireError> {
    let mut splice = Splice::new(message);
    let (mut left, mut gone) = (false, false);
    for field in raw_fields(message) {
        let field = field?;
        let Some(child) = field.message(u32::from(number)) else {
            continue;
        };
        match each(child)? {
            Outcome::Same => left = true,
            Outcome::Gone => {
                gone = true;
                splice.cut(&field.range);
            }
            Outcome::New(new) => {
                left = true;
                splice.replace(&field.range, number, &new);
            }
        }
    }
    if gone && !left {
        return Ok(Outcome::Gone);
    }
    Ok(splice.finish().map_or(Outcome::Same, Outcome::New))
}

fn noted(span: &[u8], notes: &[Vec<u8>]) -> Vec<u8> {
    let mut splice = Splice::new(span);
    splice.go_to_end();
    for note in notes {
        splice.put(9, note);
    }
    splice.finish().unwrap_or_default()
}

/// An attribute with an int, a `KeyValue` message.
pub(super) fn int_attribute(key: &str, value: u64) -> Vec<u8> {
    // int_value = 3; what does not fit 63 bits is the largest that does.
    let mut any = vec![3 << 3];
    let mut rest = value.min(i64::MAX.cast_unsigned());
    while rest >= 0x80 {
        #[allow(clippy::cast_possible_truncation, reason = "the low seven bits")]
        any.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    #[allow(clippy::cast_possible_truncation, reason = "below 128")]
    any.push(rest as u8);
    let mut out = Vec::with_capacity(key.len() + any.len() + 4);
    put_field_header(&mut out, 1, key.len());
    out.extend_from_slice(key.as_bytes());
    put_field_header(&mut out, 2, any.len());
    out.extend_from_slice(&any);
    out
}
