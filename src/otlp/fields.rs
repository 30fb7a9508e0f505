//! The fields of one protobuf message, in wire order: for paths where speed does not matter.
//!
//! Strict where it stands: a tag, varint or length that does not fit ends the iteration with [`BrokenWire`]. Nested
//! messages are ranges; nobody recurses here.

/// The framing of a message is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("broken protobuf framing")]
pub struct BrokenWire;

/// A field's value as the wire type gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WireValue<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

/// Iterates over a message.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn varint(&mut self) -> Result<u64, BrokenWire> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first().ok_or(BrokenWire)?;
            self.rest = rest;
            // The tenth byte holds the last bit.
            if shift == 63 && *byte > 1 {
                return Err(BrokenWire);
            }
            value |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                return Ok(value);
            }
        }
        Err(BrokenWire)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], BrokenWire> {
        let (head, rest) = self.rest.split_first_chunk().ok_or(BrokenWire)?;
        self.rest = rest;
        Ok(*head)
    }

    fn field(&mut self) -> Result<(u32, WireValue<'a>), BrokenWire> {
        let tag = u32::try_from(self.varint()?).map_err(|_| BrokenWire)?;
        let value = match tag & 7 {
            0 => WireValue::Varint(self.varint()?),
            1 => WireValue::Fixed64(u64::from_le_bytes(self.array()?)),
            5 => WireValue::Fixed32(u32::from_le_bytes(self.array()?)),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| BrokenWire)?;
                let (bytes, rest) = self.rest.split_at_checked(length).ok_or(BrokenWire)?;
                self.rest = rest;
                WireValue::Bytes(bytes)
            }
            _ => return Err(BrokenWire),
        };
        match tag >> 3 {
            0 => Err(BrokenWire),
            number => Ok((number, value)),
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, WireValue<'a>), BrokenWire>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_as_they_stand_and_broken_ones_end_it() {
        let check = |wire: &[u8], expected: &[Result<(u32, WireValue<'_>), BrokenWire>]| {
            assert_eq!(Fields::of(wire).collect::<Vec<_>>(), expected, "{wire:?}");
        };
        check(&[], &[]);
        check(&[0x08, 0x96, 0x01], &[Ok((1, WireValue::Varint(150)))]);
        check(&[0x12, 2, 7, 8], &[Ok((2, WireValue::Bytes(&[7, 8])))]);
        check(&[0x1d, 1, 0, 0, 0], &[Ok((3, WireValue::Fixed32(1)))]);
        check(
            &[0x21, 1, 0, 0, 0, 0, 0, 0, 0],
            &[Ok((4, WireValue::Fixed64(1)))],
        );
        let widest = [0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
        check(&widest, &[Ok((1, WireValue::Varint(u64::MAX)))]);
        check(
            &[0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2],
            &[Err(BrokenWire)],
        );
        check(
            &[0x08, 1, 0x12, 3, 7, 8],
            &[Ok((1, WireValue::Varint(1))), Err(BrokenWire)],
        );
        check(
            &[0x12, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
            &[Err(BrokenWire)],
        );
        for broken in [
            &[0x08][..],
            &[0x00, 1],
            &[0x0b],
            &[0x0c],
            &[0x0e, 1],
            &[0x1d, 1, 2, 3],
            &[0x21, 1],
            &[0x80],
        ] {
            check(broken, &[Err(BrokenWire)]);
        }
    }
}
