//! A small value that is replaced in one step: positions with their counts, the log's own settings.
//!
//! Two slots of 64 KiB, written in turn. Slot header, 24 bytes little endian: magic u32, CRC32C of the rest of the header
//! and the value u32, generation u64, length u32, reserved u32. A crash while one is written leaves the other.

use super::checksum::crc32c_of;
use super::errors::LogError;
use super::settings::Durability;
use super::storage::{Storage, StorageFile, read_full, write_all};
use parking_lot::Mutex;
use std::io::{self, IoSlice};
use std::sync::Arc;

/// Bytes of a slot, header included: a cursor's counts per partition and policy fit many times over.
const SLOT: u64 = 64 * 1024;
const HEADER: usize = 24;
/// "TWc1", little endian.
const MAGIC: u32 = 0x3163_5754;

/// The longest value, in bytes.
pub const CURSOR_MAX: usize = SLOT as usize - HEADER;

/// A file that holds one value.
#[derive(Debug)]
pub struct CursorFile {
    file: Arc<dyn StorageFile>,
    durability: Durability,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    generation: u64,
    value: Option<Vec<u8>>,
}

impl CursorFile {
    /// Opens or creates the file `name`.
    pub(crate) fn open(
        storage: &dyn Storage,
        name: &str,
        durability: Durability,
    ) -> Result<Self, LogError> {
        let what = "opening a position";
        let file = match storage.open(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let file = storage.create(name, 2 * SLOT).map_err(LogError::io(what))?;
                storage.sync_dir().map_err(LogError::io(what))?;
                file
            }
            other => other.map_err(LogError::io(what))?,
        };
        let slots = [0, 1].map(|slot| read_slot(&*file, slot));
        let state = slots
            .into_iter()
            .flatten()
            .max_by_key(|state| state.generation)
            .unwrap_or_default();
        Ok(Self {
            file,
            durability,
            state: Mutex::new(state),
        })
    }

    /// The value that was saved last; `None` when there never was one (or both slots are damaged).
    #[must_use]
    pub fn load(&self) -> Option<Vec<u8>> {
        self.state.lock().value.clone()
    }

    /// Replaces the value. With `fsync` it survives the loss of power when this returns; with `os` the death of the
    /// process.
    ///
    /// # Errors
    /// The store's, or `InvalidInput` over [`CURSOR_MAX`] bytes; the old value stays.
    pub fn save(&self, value: &[u8]) -> io::Result<()> {
        if value.len() > CURSOR_MAX {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a position over 64 KiB",
            ));
        }
        let mut state = self.state.lock();
        let generation = state.generation + 1;
        let header = encode(generation, value);
        let mut parts = [IoSlice::new(&header), IoSlice::new(value)];
        write_all(&*self.file, &mut parts, generation % 2 * SLOT)
            .map_err(|failure| failure.error)?;
        if self.durability == Durability::Fsync {
            self.file.sync()?;
        }
        *state = State {
            generation,
            value: Some(value.to_vec()),
        };
        Ok(())
    }
}

fn encode(generation: u64, value: &[u8]) -> [u8; HEADER] {
    let mut out = [0; HEADER];
    out[0..4].copy_from_slice(&MAGIC.to_le_bytes());
    out[8..16].copy_from_slice(&generation.to_le_bytes());
    out[16..20].copy_from_slice(&u32::try_from(value.len()).unwrap_or(u32::MAX).to_le_bytes());
    let crc = crc32c_of(&[&out[8..], value]);
    out[4..8].copy_from_slice(&crc.to_le_bytes());
    out
}

/// The slot's value; `None` when it was never written whole.
fn read_slot(file: &dyn StorageFile, slot: u64) -> Option<State> {
    let mut header = [0; HEADER];
    if read_full(file, &mut header, slot * SLOT).ok()? < HEADER {
        return None;
    }
    let [
        m0,
        m1,
        m2,
        m3,
        _,
        _,
        _,
        _,
        g @ ..,
        l0,
        l1,
        l2,
        l3,
        _,
        _,
        _,
        _,
    ] = header;
    let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    if u32::from_le_bytes([m0, m1, m2, m3]) != MAGIC || length > CURSOR_MAX {
        return None;
    }
    let generation = u64::from_le_bytes(g);
    let mut value = vec![0; length];
    let read = read_full(file, &mut value, slot * SLOT + HEADER as u64).ok()?;
    (read == length && encode(generation, &value) == header).then_some(State {
        generation,
        value: Some(value),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::storage::MemoryStorage;
    use crate::log::storage::simulated::{Fault, Outage, SimulatedStorage};

    fn open(storage: &MemoryStorage) -> CursorFile {
        CursorFile::open(storage, "c", Durability::Os).unwrap()
    }

    #[test]
    fn the_last_value_is_found_again() {
        let storage = MemoryStorage::default();
        assert_eq!(open(&storage).load(), None);
        for n in 0..5u8 {
            let value = vec![n; usize::from(n) * 100];
            open(&storage).save(&value).unwrap();
            assert_eq!(open(&storage).load(), Some(value));
        }
        let cursor = open(&storage);
        cursor.save(&vec![1; CURSOR_MAX]).unwrap();
        assert!(cursor.save(&vec![1; CURSOR_MAX + 1]).is_err());
        assert_eq!(cursor.load().map(|v| v.len()), Some(CURSOR_MAX));
    }

    #[test]
    fn a_torn_save_leaves_the_value_before_it() {
        for torn in 0..HEADER as u64 + 10 {
            let storage = MemoryStorage::default();
            let cursor = open(&storage);
            cursor.save(b"generation one").unwrap();
            cursor.save(b"generation two").unwrap();
            let file = storage.open("c").unwrap();
            file.write_at(&[IoSlice::new(&[0xee])], torn).unwrap();
            assert_eq!(
                open(&storage).load().as_deref(),
                Some(&b"generation one"[..]),
                "byte {torn}"
            );
        }
    }

    #[test]
    fn a_crash_leaves_the_last_value_or_the_one_under_way() {
        for (durability, outage) in [
            (Durability::Os, Outage::Process),
            (Durability::Fsync, Outage::Power),
        ] {
            for call in 1..40 {
                let storage = SimulatedStorage::new(call);
                drop(CursorFile::open(&storage, "c", durability).unwrap());
                storage.plan(call, Fault::Crash);
                let mut saved = None;
                let mut under_way = None;
                let opened = CursorFile::open(&storage, "c", durability);
                for n in 0..20u8 {
                    let value = vec![n; 1000 + usize::from(n)];
                    match opened.as_ref().map(|cursor| cursor.save(&value)) {
                        Ok(Ok(())) => saved = Some(value),
                        _ => {
                            under_way = Some(value);
                            break;
                        }
                    }
                }
                let found = CursorFile::open(&storage.restart(outage), "c", durability)
                    .unwrap()
                    .load();
                assert!(
                    found == saved || found == under_way,
                    "call {call}, {outage:?}"
                );
            }
        }
    }
}
