//! An exact least-recently-used map: what is in it decides traces, so nothing is evicted late or by estimate.

use hashbrown::HashMap;
use std::collections::BTreeMap;

/// Keys of 64 bits; a read counts as a use.
#[derive(Debug)]
pub(crate) struct Lru<V> {
    values: HashMap<u64, (V, u64), foldhash::fast::RandomState>,
    /// Keys by their last use.
    uses: BTreeMap<u64, u64>,
    now: u64,
    capacity: usize,
}

impl<V: Copy> Lru<V> {
    /// `capacity` is at least 1.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            values: HashMap::default(),
            uses: BTreeMap::new(),
            now: 0,
            capacity: capacity.max(1),
        }
    }

    pub(crate) fn get(&mut self, key: u64) -> Option<V> {
        self.now += 1;
        let (value, used) = self.values.get_mut(&key)?;
        self.uses.remove(used);
        *used = self.now;
        self.uses.insert(self.now, key);
        Some(*value)
    }

    pub(crate) fn insert(&mut self, key: u64, value: V) {
        self.now += 1;
        if let Some((_, used)) = self.values.insert(key, (value, self.now)) {
            self.uses.remove(&used);
        }
        self.uses.insert(self.now, key);
        if self.values.len() > self.capacity
            && let Some((_, oldest)) = self.uses.pop_first()
        {
            self.values.remove(&oldest);
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_a_list(capacity in 1..5_usize, steps in proptest::collection::vec((any::<bool>(), 0..8_u64), 0..100)) {
            let mut lru = Lru::new(capacity);
            // Most recent last.
            let mut model: Vec<(u64, usize)> = Vec::new();
            for (step, (insert, key)) in steps.into_iter().enumerate() {
                let at = model.iter().position(|(other, _)| *other == key);
                let found = at.map(|at| model.remove(at));
                if insert {
                    lru.insert(key, step);
                    model.push((key, step));
                    if model.len() > capacity {
                        model.remove(0);
                    }
                } else {
                    prop_assert_eq!(lru.get(key), found.map(|(_, value)| value));
                    model.extend(found);
                }
                prop_assert_eq!(lru.len(), model.len());
            }
        }
    }
}
