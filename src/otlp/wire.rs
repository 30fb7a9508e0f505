//! The protobuf wire format, read strictly and written minimally.
//!
//! Invariants: no index outside the message, no panic on any bytes. Groups (wire types 3 and 4) and the unused types 6
//! and 7 are errors: no OTLP message has ever had them. Fields are slices of the request: where one lies is found by its
//! address.

/// Why bytes are not a protobuf message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A length or value reaches past the end.
    #[error("a field reaches past the end of its message")]
    Truncated,
    /// Longer than ten bytes, or over 64 bits.
    #[error("a varint is longer than 64 bits")]
    Varint,
    /// A wire type that OTLP does not have, or another than the field's.
    #[error("a field has a wire type that it cannot have")]
    WireType,
    /// Field number 0 or above 2^29 - 1.
    #[error("a field number is out of range")]
    FieldNumber,
    /// `AnyValue` nested too deep.
    #[error("attribute values are nested deeper than {0} levels")]
    Depth(u32),
}

/// One field's value as it stands on the wire.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    #[inline]
    pub(crate) fn varint(self) -> Result<u64, WireError> {
        if let Self::Varint(value) = self {
            Ok(value)
        } else {
            Err(WireError::WireType)
        }
    }

    #[inline]
    pub(crate) fn fixed64(self) -> Result<u64, WireError> {
        if let Self::Fixed64(value) = self {
            Ok(value)
        } else {
            Err(WireError::WireType)
        }
    }

    #[inline]
    pub(crate) fn fixed32(self) -> Result<u32, WireError> {
        if let Self::Fixed32(value) = self {
            Ok(value)
        } else {
            Err(WireError::WireType)
        }
    }

    #[inline]
    pub(crate) fn bytes(self) -> Result<&'a [u8], WireError> {
        if let Self::Bytes(bytes) = self {
            Ok(bytes)
        } else {
            Err(WireError::WireType)
        }
    }
}

/// Where `part`, a slice of `whole`, begins in it.
#[inline]
pub(crate) fn offset_in(whole: &[u8], part: &[u8]) -> usize {
    part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr())
}

/// Walks the fields of one message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    #[inline]
    pub(crate) fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// What has not been walked.
    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next field's number and value; `None` at the end. Inlined: it is the inside of every loop of the scan.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Result<Option<(u32, Value<'a>)>, WireError> {
        let Some((&first, rest)) = self.rest.split_first() else {
            return Ok(None);
        };
        let tag = if first < 0x80 {
            self.rest = rest;
            u64::from(first)
        } else {
            self.long_varint()?
        };
        if tag < 8 || tag >> 3 > 0x1fff_ffff {
            return Err(WireError::FieldNumber);
        }
        #[allow(clippy::cast_possible_truncation, reason = "at most 29 bits")]
        let number = (tag >> 3) as u32;
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = self.varint()?;
                let split = usize::try_from(length)
                    .ok()
                    .and_then(|length| self.rest.split_at_checked(length));
                let (bytes, rest) = split.ok_or(WireError::Truncated)?;
                self.rest = rest;
                Value::Bytes(bytes)
            }
            5 => Value::Fixed32(u32::from_le_bytes(self.array()?)),
            _ => return Err(WireError::WireType),
        };
        Ok(Some((number, value)))
    }

    #[inline(always)]
    fn varint(&mut self) -> Result<u64, WireError> {
        match self.rest {
            [low, rest @ ..] if *low < 0x80 => {
                self.rest = rest;
                Ok(u64::from(*low))
            }
            [low, high, rest @ ..] if *high < 0x80 => {
                self.rest = rest;
                Ok(u64::from(*low & 0x7f) | u64::from(*high) << 7)
            }
            _ => self.long_varint(),
        }
    }

    #[cold]
    #[inline(never)]
    fn long_varint(&mut self) -> Result<u64, WireError> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or(WireError::Truncated)?;
            self.rest = rest;
            if shift == 63 && byte > 1 {
                return Err(WireError::Varint);
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(WireError::Varint)
    }

    #[inline(always)]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (bytes, rest) = self
            .rest
            .split_first_chunk::<N>()
            .ok_or(WireError::Truncated)?;
        self.rest = rest;
        Ok(*bytes)
    }
}

/// Bytes that `value` takes as a varint.
pub(crate) fn varint_len(value: usize) -> usize {
    let bits = usize::BITS - (value | 1).leading_zeros();
    usize::try_from(bits.div_ceil(7)).unwrap_or(10)
}

/// Bytes of a length-delimited field with a one-byte tag (field numbers 1 to 15).
pub(crate) fn field_len(payload: usize) -> usize {
    1 + varint_len(payload) + payload
}

/// Appends the tag and length of a length-delimited field whose number is at most 15.
pub(crate) fn put_field_header(out: &mut Vec<u8>, number: u8, payload: usize) {
    out.push(number << 3 | 2);
    put_varint(out, payload);
}

fn put_varint(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        #[allow(clippy::cast_possible_truncation, reason = "the low seven bits")]
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    #[allow(clippy::cast_possible_truncation, reason = "below 128")]
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(bytes: &[u8]) -> Result<Option<(u32, String)>, WireError> {
        let mut cursor = Cursor::new(bytes);
        Ok(cursor
            .next()?
            .map(|(number, value)| (number, format!("{value:?}"))))
    }

    #[test]
    fn refuses_what_protobuf_does_not_allow() {
        let cases: &[(&[u8], WireError)] = &[
            (&[0x0a], WireError::Truncated),
            (&[0x0a, 0x05, 1, 2], WireError::Truncated),
            (
                &[
                    0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
                ],
                WireError::Truncated,
            ),
            (
                &[
                    0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02,
                ],
                WireError::Varint,
            ),
            (&[0x08, 0x80], WireError::Truncated),
            (&[0x09, 1, 2, 3], WireError::Truncated),
            (&[0x0d, 1, 2, 3], WireError::Truncated),
            (&[0x0b], WireError::WireType),
            (&[0x0c], WireError::WireType),
            (&[0x0e], WireError::WireType),
            (&[0x0f], WireError::WireType),
            (&[0x00, 0x01], WireError::FieldNumber),
            (
                &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
                WireError::FieldNumber,
            ),
        ];
        for (bytes, expected) in cases {
            assert_eq!(first(bytes).unwrap_err(), *expected, "{bytes:02x?}");
        }
    }

    #[test]
    fn reads_each_wire_type() {
        assert_eq!(first(&[]).unwrap(), None);
        assert_eq!(
            first(&[0x08, 0xac, 0x02]).unwrap(),
            Some((1, "Varint(300)".into()))
        );
        assert_eq!(
            first(&[0x0a, 2, 7, 7]).unwrap(),
            Some((1, "Bytes([7, 7])".into()))
        );
        assert_eq!(
            first(&[0x85, 0x01, 1, 0, 0, 0]).unwrap(),
            Some((16, "Fixed32(1)".into()))
        );
        assert_eq!(
            first(&[0x39, 1, 0, 0, 0, 0, 0, 0, 0]).unwrap(),
            Some((7, "Fixed64(1)".into()))
        );
    }

    #[test]
    fn lengths_equal_what_is_written() {
        for value in [
            0,
            1,
            127,
            128,
            16_383,
            16_384,
            2_097_151,
            2_097_152,
            usize::MAX,
        ] {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            assert_eq!(out.len(), varint_len(value), "{value}");
        }
    }
}
