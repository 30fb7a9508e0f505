//! Finds a key among the few hundred that the table names. Nearly every attribute of every span is none of them: it costs
//! two loads, a multiplication and no comparing.

/// Four slots and more for each key that there is, so that a strange key mostly meets an empty one.
const BITS: u32 = 10;
const SLOTS: usize = 1 << BITS;
const NONE: u16 = u16::MAX;

/// Numbers of keys by length, first and last bytes.
#[derive(Debug)]
pub(super) struct KeyIndex {
    first: Box<[u16; SLOTS]>,
    /// Of each key: its bytes, and the next number in its slot.
    keys: Vec<(Box<[u8]>, u16)>,
}

impl Default for KeyIndex {
    fn default() -> Self {
        Self {
            first: Box::new([NONE; SLOTS]),
            keys: Vec::new(),
        }
    }
}

/// Up to eight bytes as a number.
#[inline]
fn word(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |word, byte| word << 8 | u64::from(*byte))
}

#[inline(always)]
fn slot(key: &[u8]) -> usize {
    let (head, tail) = match (key.first_chunk(), key.last_chunk()) {
        (Some(head), Some(tail)) => (u64::from_le_bytes(*head), u64::from_le_bytes(*tail)),
        _ => (word(key), 0),
    };
    let mixed =
        (head ^ tail.rotate_left(29) ^ key.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    #[allow(clippy::cast_possible_truncation, reason = "BITS bits are left")]
    let slot = (mixed >> (64 - BITS)) as usize;
    slot % SLOTS
}

impl KeyIndex {
    /// The number of `key`, a new one when it is not there; `None` when there are too many.
    pub(super) fn add(&mut self, key: &[u8]) -> Option<usize> {
        if let Some(number) = self.find(key) {
            return Some(number);
        }
        let number = u16::try_from(self.keys.len()).ok().filter(|n| *n != NONE)?;
        let next = std::mem::replace(&mut self.first[slot(key)], number);
        self.keys.push((key.into(), next));
        Some(usize::from(number))
    }

    #[inline]
    pub(super) fn find(&self, key: &[u8]) -> Option<usize> {
        let mut number = self.first[slot(key)];
        while let Some((other, next)) = self.keys.get(usize::from(number)) {
            if **other == *key {
                return Some(usize::from(number));
            }
            number = *next;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_a_list(
            keys in proptest::collection::btree_set("[a-c.]{0,12}", 0..80),
            asked in "[a-c.]{0,12}",
        ) {
            let keys: Vec<String> = keys.into_iter().collect();
            let mut index = KeyIndex::default();
            for (number, key) in keys.iter().enumerate() {
                prop_assert_eq!(index.add(key.as_bytes()), Some(number));
            }
            for key in keys.iter().chain([&asked]) {
                prop_assert_eq!(index.find(key.as_bytes()), keys.iter().position(|other| other == key));
            }
        }
    }
}
