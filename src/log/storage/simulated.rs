//! A file system that fails: short writes, full disks, I/O errors, failed syncs, and crashes in the middle of anything.
//!
//! It keeps two images of every file and of the directory: what the operating system has and what the disk has. A killed
//! process leaves the first. A loss of power leaves the second and an arbitrary choice of the 512-byte sectors, and a
//! prefix of the renames, that were not synced. After a crash every call fails until [`SimulatedStorage::restart`].

use super::{Storage, StorageFile};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, IoSlice};
use std::ops::Range;
use std::sync::Arc;

const SECTOR: usize = 512;

/// What goes wrong at one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The write takes some bytes and says so.
    Short,
    /// No space left.
    NoSpace,
    /// An I/O error; a write has put some of its bytes somewhere before it. After a failed sync the system takes its
    /// pages for clean: they are lost with the power.
    Io,
    /// The process dies in the middle of the call.
    Crash,
}

/// How the machine comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outage {
    /// Only the process died.
    Process,
    /// The power went.
    Power,
}

/// A small generator: the same seed, the same disaster.
#[derive(Debug)]
struct Chance(u64);

impl Chance {
    /// A number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound.max(1)
    }
}

#[derive(Debug)]
struct World {
    /// Name to file, as the running system sees it.
    names: BTreeMap<String, usize>,
    /// The directory on the disk, and what was done to it since.
    durable_names: BTreeMap<String, usize>,
    renames: Vec<Change>,
    files: Vec<Contents>,
    /// Bytes that cannot be read any more.
    spoiled: Vec<(usize, Range<u64>)>,
    chance: Chance,
    /// Faults by the number of the call that they strike.
    plan: BTreeMap<u64, Fault>,
    calls: u64,
    /// Set when the process has died: calls of the old process fail for ever.
    crashed: bool,
    generation: u64,
}

#[derive(Debug, Clone)]
enum Change {
    Insert(String, usize),
    Rename(String, String),
    Remove(String),
}

#[derive(Debug, Clone)]
struct Contents {
    now: Vec<u8>,
    durable: Vec<u8>,
    /// Sectors that the disk may or may not have.
    dirty: std::collections::BTreeSet<usize>,
}

/// Handles to the same simulated directory.
#[derive(Debug, Clone)]
pub(crate) struct SimulatedStorage {
    world: Arc<Mutex<World>>,
    generation: u64,
}

impl SimulatedStorage {
    pub(crate) fn new(seed: u64) -> Self {
        let world = World {
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            renames: Vec::new(),
            files: Vec::new(),
            spoiled: Vec::new(),
            chance: Chance(seed),
            plan: BTreeMap::new(),
            calls: 0,
            crashed: false,
            generation: 0,
        };
        Self {
            world: Arc::new(Mutex::new(world)),
            generation: 0,
        }
    }

    /// Lets `fault` strike the `after`th changing call from now.
    pub(crate) fn plan(&self, after: u64, fault: Fault) {
        let mut world = self.world.lock();
        let call = world.calls + after;
        world.plan.insert(call, fault);
    }

    /// Makes the sectors that hold these bytes of a file unreadable.
    pub(crate) fn spoil(&self, name: &str, bytes: Range<u64>) {
        let mut world = self.world.lock();
        let index = world.names[name];
        let sector = SECTOR as u64;
        world.spoiled.push((
            index,
            bytes.start / sector * sector..bytes.end.next_multiple_of(sector),
        ));
    }

    /// Forgets planned faults.
    pub(crate) fn calm(&self) {
        self.world.lock().plan.clear();
    }

    pub(crate) fn has_crashed(&self) -> bool {
        self.world.lock().crashed
    }

    /// Changing calls so far.
    pub(crate) fn calls(&self) -> u64 {
        self.world.lock().calls
    }

    /// The machine after an outage: what the next process finds. Handles of the old one stay dead.
    pub(crate) fn restart(&self, outage: Outage) -> Self {
        let mut guard = self.world.lock();
        let world = &mut *guard;
        if outage == Outage::Power {
            let kept = world.chance.below(world.renames.len() as u64 + 1) as usize;
            let mut names = std::mem::take(&mut world.durable_names);
            world
                .renames
                .iter()
                .take(kept)
                .for_each(|change| change.apply(&mut names));
            world.names = names.clone();
            world.durable_names = names;
            world.renames.clear();
            for file in &mut world.files {
                file.lose_power(&mut world.chance);
            }
        }
        world.crashed = false;
        world.plan.clear();
        world.generation += 1;
        let generation = world.generation;
        drop(guard);
        Self {
            world: Arc::clone(&self.world),
            generation,
        }
    }

    fn read<T>(&self, act: impl FnOnce(&mut World) -> io::Result<T>) -> io::Result<T> {
        let mut world = self.world.lock();
        if world.crashed || world.generation != self.generation {
            return Err(io::Error::other("the process is dead"));
        }
        act(&mut world)
    }

    /// A call that a fault may strike. `act` is told which.
    fn change<T>(
        &self,
        act: impl FnOnce(&mut World, Option<Fault>) -> io::Result<T>,
    ) -> io::Result<T> {
        self.read(|world| {
            world.calls += 1;
            let fault = world.plan.remove(&world.calls);
            let result = act(world, fault);
            if fault == Some(Fault::Crash) {
                world.crashed = true;
                return Err(io::Error::other("the process dies"));
            }
            result
        })
    }

    /// A change of the directory: done, not done, or (in a crash) one of the two.
    fn change_names(&self, change: Change) -> io::Result<()> {
        self.change(|world, fault| {
            match fault {
                Some(Fault::NoSpace) => return Err(ErrorKind::StorageFull.into()),
                Some(Fault::Io) => return Err(io::Error::other("input/output error")),
                Some(Fault::Crash) if world.chance.below(2) == 0 => return Ok(()),
                _ => {}
            }
            if let Change::Rename(from, _) | Change::Remove(from) = &change
                && !world.names.contains_key(from)
            {
                return Err(ErrorKind::NotFound.into());
            }
            change.apply(&mut world.names);
            world.renames.push(change);
            Ok(())
        })
    }
}

impl Change {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            Self::Insert(name, file) => drop(names.insert(name.clone(), *file)),
            Self::Rename(from, to) => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
            Self::Remove(name) => drop(names.remove(name)),
        }
    }
}

impl Contents {
    fn put(&mut self, offset: usize, bytes: &[u8]) {
        let end = (offset + bytes.len()).min(self.now.len());
        if bytes.is_empty() || offset >= end {
            return;
        }
        self.now[offset..end].copy_from_slice(&bytes[..end - offset]);
        self.dirty.extend(offset / SECTOR..end.div_ceil(SECTOR));
    }

    fn lose_power(&mut self, chance: &mut Chance) {
        for sector in std::mem::take(&mut self.dirty) {
            if chance.below(2) == 0 {
                let range = sector * SECTOR..((sector + 1) * SECTOR).min(self.now.len());
                self.durable[range.clone()].copy_from_slice(&self.now[range]);
            }
        }
        self.now.clone_from(&self.durable);
    }

    fn sync(&mut self) {
        self.dirty.clear();
        self.durable.clone_from(&self.now);
    }
}

impl Storage for SimulatedStorage {
    fn create(&self, name: &str, size: u64) -> io::Result<Arc<dyn StorageFile>> {
        let index = self.read(|world| {
            let zeros = vec![0; size as usize];
            world.files.push(Contents {
                now: zeros.clone(),
                durable: zeros,
                dirty: Default::default(),
            });
            Ok(world.files.len() - 1)
        })?;
        self.change_names(Change::Insert(name.to_owned(), index))?;
        Ok(Arc::new(SimulatedFile {
            storage: self.clone(),
            index,
        }))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        let index = self.read(|world| {
            world
                .names
                .get(name)
                .copied()
                .ok_or(ErrorKind::NotFound.into())
        })?;
        Ok(Arc::new(SimulatedFile {
            storage: self.clone(),
            index,
        }))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.read(|world| Ok(world.names.keys().cloned().collect()))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.change_names(Change::Rename(from.to_owned(), to.to_owned()))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.change_names(Change::Remove(name.to_owned()))
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.change(|world, fault| match fault {
            Some(Fault::Io | Fault::NoSpace) => Err(io::Error::other("input/output error")),
            Some(Fault::Crash) => Ok(()),
            _ => {
                world.renames.clear();
                world.durable_names = world.names.clone();
                Ok(())
            }
        })
    }

    fn child(&self, _name: &str) -> io::Result<Arc<dyn Storage>> {
        Err(ErrorKind::Unsupported.into())
    }

    fn sync_may_stall(&self) -> bool {
        false
    }
}

#[derive(Debug)]
struct SimulatedFile {
    storage: SimulatedStorage,
    index: usize,
}

impl StorageFile for SimulatedFile {
    fn write_at(&self, parts: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        let bytes: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        let offset = offset as usize;
        self.storage.change(|world, fault| {
            let some = world.chance.below(bytes.len() as u64) as usize;
            let file = &mut world.files[self.index];
            match fault {
                None => {
                    file.put(offset, &bytes);
                    Ok(bytes.len())
                }
                Some(Fault::Short) => {
                    let taken = some.max(1);
                    file.put(offset, &bytes[..taken]);
                    Ok(taken)
                }
                Some(Fault::NoSpace) => Err(ErrorKind::StorageFull.into()),
                Some(Fault::Io) => {
                    // Any part of it, not only the first.
                    file.put(offset + some / 2, &bytes[some / 2..some]);
                    Err(io::Error::other("input/output error"))
                }
                // A killed process leaves a prefix.
                Some(Fault::Crash) => {
                    file.put(offset, &bytes[..some]);
                    Ok(some)
                }
            }
        })
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.storage.read(|world| {
            let wanted = offset..offset + buffer.len() as u64;
            if world.spoiled.iter().any(|(i, bad)| {
                *i == self.index && bad.start < wanted.end && wanted.start < bad.end
            }) {
                return Err(io::Error::other("input/output error"));
            }
            let file = &world.files[self.index].now;
            let from = (offset as usize).min(file.len());
            let length = buffer.len().min(file.len() - from);
            buffer[..length].copy_from_slice(&file[from..from + length]);
            Ok(length)
        })
    }

    fn sync(&self) -> io::Result<()> {
        self.storage.change(|world, fault| match fault {
            Some(Fault::Io | Fault::NoSpace) => {
                // The pages count as clean from now on; whether they reached the disk nobody knows.
                let World { files, chance, .. } = world;
                let file = &mut files[self.index];
                let running = file.now.clone();
                file.lose_power(chance);
                file.now = running;
                Err(io::Error::other("input/output error"))
            }
            Some(Fault::Crash) => Ok(()),
            _ => {
                world.files[self.index].sync();
                Ok(())
            }
        })
    }

    fn size(&self) -> io::Result<u64> {
        self.storage
            .read(|world| Ok(world.files[self.index].now.len() as u64))
    }
}
