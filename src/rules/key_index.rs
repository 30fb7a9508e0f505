//! Finds an attribute's key among those that anyone asks for. Nearly every attribute of every span is one that nobody
//! asks for: it costs one load and no comparing.

/// Slots: four for each of the sixty keys or so that there are.
const SLOTS: usize = 256;
const NONE: u32 = u32::MAX;

/// Numbers of keys by length and two of their bytes.
#[derive(Debug)]
pub(super) struct KeyIndex {
    first: [u32; SLOTS],
    /// Of each key: its bytes, and the next number in its slot.
    keys: Vec<(Box<[u8]>, u32)>,
}

#[inline]
fn slot(key: &[u8]) -> usize {
    // Dotted names differ in their last byte and in the middle far more often than in their first bytes.
    let last = key.last().copied().unwrap_or_default();
    let middle = key.get(key.len() / 2).copied().unwrap_or_default();
    let sum = key.len() + 31 * usize::from(last) + 7 * usize::from(middle);
    sum % SLOTS
}

impl KeyIndex {
    /// Of different keys; each is known by its number.
    pub(super) fn new<'a>(keys: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut out = Self {
            first: [NONE; SLOTS],
            keys: Vec::new(),
        };
        for (key, number) in keys.zip(0..) {
            let next = std::mem::replace(&mut out.first[slot(key)], number);
            out.keys.push((key.into(), next));
        }
        out
    }

    #[inline]
    pub(super) fn find(&self, key: &[u8]) -> Option<usize> {
        let mut number = self.first[slot(key)];
        while let Some((other, next)) = self.keys.get(number as usize) {
            if **other == *key {
                return Some(number as usize);
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
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn equals_a_list(keys in proptest::collection::btree_set("[a-c.]{0,4}", 0..60), asked in "[a-c.]{0,4}") {
            let keys: Vec<String> = BTreeSet::into_iter(keys).collect();
            let index = KeyIndex::new(keys.iter().map(|key| key.as_bytes()));
            for key in keys.iter().chain([&asked]) {
                prop_assert_eq!(index.find(key.as_bytes()), keys.iter().position(|other| other == key));
            }
        }
    }
}
