//! Single values into protobuf fields, ranges checked.
//!
//! `explicit` fields (members of a oneof, elements) are written even when they hold their default, as protobuf does.

use super::number::Number;
use super::schema::{Field, Kind};
use super::value::Scalar;
use super::writer::Writer;

/// `None`: the field cannot hold it.
pub(super) fn write_scalar(
    writer: &mut Writer,
    field: &Field,
    explicit: bool,
    scalar: Scalar,
) -> Option<()> {
    let number = match scalar {
        Scalar::Null => return Some(()),
        Scalar::Name(value) => Number::Unsigned(value),
        Scalar::Number(number) => number,
        Scalar::Bool(value) => {
            if !matches!(field.kind, Kind::Bool) {
                return None;
            }
            if explicit || value {
                writer.varint_field(field.number, value.into());
            }
            return Some(());
        }
    };
    let id = field.number;
    match field.kind {
        Kind::Double => {
            let bits = number.as_f64().to_bits();
            (explicit || bits != 0).then(|| writer.fixed64_field(id, bits));
        }
        Kind::Int64 => {
            let value = number.as_i64()?.cast_unsigned();
            (explicit || value != 0).then(|| writer.varint_field(id, value));
        }
        // Negative enum numbers are sign-extended; protobuf enums are open, so any int32 is one.
        Kind::Enum(_) => {
            let value = i32::try_from(number.as_i64()?).ok()?;
            (explicit || value != 0)
                .then(|| writer.varint_field(id, i64::from(value).cast_unsigned()));
        }
        Kind::Uint32 => {
            let value = number.as_u32()?;
            (explicit || value != 0).then(|| writer.varint_field(id, value.into()));
        }
        Kind::Fixed32 => {
            let value = number.as_u32()?;
            (explicit || value != 0).then(|| writer.fixed32_field(id, value));
        }
        Kind::Fixed64 => {
            let value = number.as_u64()?;
            (explicit || value != 0).then(|| writer.fixed64_field(id, value));
        }
        Kind::Bool | Kind::Id | Kind::Text | Kind::Base64 | Kind::Message(_) => return None,
    }
    Some(())
}

pub(super) fn write_bytes(writer: &mut Writer, field: &Field, explicit: bool, bytes: &[u8]) {
    if explicit || !bytes.is_empty() {
        writer.bytes_field(field.number, bytes);
    }
}
