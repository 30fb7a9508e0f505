//! Where singular length-delimited fields lie in a message.

use super::wire::{Cursor, offset_in};
use std::ops::Range;

/// The range of the last occurrence of each field; empty where there is none, or where the framing breaks first.
pub(crate) fn singular_fields<const N: usize>(
    message: &[u8],
    numbers: [u32; N],
) -> [Range<usize>; N] {
    let mut found = [const { 0..0 }; N];
    let mut cursor = Cursor::new(message);
    while let Ok(Some((number, value))) = cursor.next() {
        let slot = numbers
            .iter()
            .zip(&mut found)
            .find(|(other, _)| **other == number);
        if let (Some((_, slot)), Ok(bytes)) = (slot, value.bytes()) {
            let start = offset_in(message, bytes);
            *slot = start..start + bytes.len();
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_last_of_each() {
        let message = [0x0a, 1, 7, 0x12, 2, 8, 8, 0x0a, 2, 9, 9, 0x1a, 0];
        assert_eq!(singular_fields(&message, [1, 3, 4]), [9..11, 13..13, 0..0]);
        assert_eq!(singular_fields(&[0x0a, 9], [1, 2]), [0..0, 0..0]);
    }
}
