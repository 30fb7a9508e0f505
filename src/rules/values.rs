//! Attribute values as small numbers, so that a skeleton holds a percentile key in a few bytes.
//!
//! Bounded: after [`LIMIT`] values all new ones share the id [`OTHER`]. Ids live as long as the process; what outlives
//! it (snapshots) is written as text.

use dashmap::DashMap;
use parking_lot::RwLock;
use std::sync::Arc;

/// Values kept apart; more keys than this make percentiles meaningless long before memory ends.
const LIMIT: usize = 65_536;
/// Bytes of a value that are looked at. OTLP's usual attribute length limit; longer ones share their beginning.
const MAX_LEN: usize = 256;

/// No span had the key.
pub(crate) const ABSENT: u32 = 0;
/// The value came after the table was full.
pub(crate) const OTHER: u32 = 1;

/// The table, shared by all threads of a pipeline.
#[derive(Debug)]
pub struct ValueIds {
    ids: DashMap<Box<[u8]>, u32, foldhash::fast::RandomState>,
    texts: RwLock<Vec<Arc<str>>>,
}

impl Default for ValueIds {
    fn default() -> Self {
        Self {
            ids: DashMap::default(),
            texts: RwLock::new(vec!["".into(), "(other)".into()]),
        }
    }
}

impl ValueIds {
    /// The id of `value`, a new one while there is room.
    pub(crate) fn id(&self, value: &[u8]) -> u32 {
        let value = value.get(..MAX_LEN).unwrap_or(value);
        if let Some(id) = self.ids.get(value) {
            return *id;
        }
        let mut texts = self.texts.write();
        if texts.len() >= LIMIT {
            return OTHER;
        }
        // Another thread may have come first: the entry decides, under the lock that hands out numbers.
        *self.ids.entry(value.into()).or_insert_with(|| {
            texts.push(String::from_utf8_lossy(value).into());
            u32::try_from(texts.len() - 1).unwrap_or(OTHER)
        })
    }

    /// The value of an id, as text.
    pub(crate) fn text(&self, id: u32) -> Arc<str> {
        self.texts
            .read()
            .get(id as usize)
            .cloned()
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_stable_and_bounded() {
        let ids = ValueIds::default();
        let first = ids.id(b"gpt-4");
        assert_eq!(ids.id(b"gpt-4"), first);
        assert_eq!(&*ids.text(first), "gpt-4");
        for i in 0..LIMIT {
            ids.id(i.to_string().as_bytes());
        }
        assert_eq!(ids.id(b"one more"), OTHER);
        assert_eq!(ids.id(b"gpt-4"), first);
    }
}
