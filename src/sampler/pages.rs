//! Slots in pages: memory grows by a page at a time, never by doubling, and a slot's number is its name.

/// Slots of one page: 256 skeletons are about 40 KiB.
const PAGE: usize = 256;

/// No slot.
pub(crate) const NONE: u32 = u32::MAX;

/// A slab of `T`.
#[derive(Debug)]
pub(crate) struct Pages<T> {
    pages: Vec<Box<[T]>>,
    free: Vec<u32>,
}

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Self {
            pages: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T: Default + Clone> Pages<T> {
    /// Puts a value in; its slot.
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if self.free.is_empty() {
            let first = self.pages.len() * PAGE;
            self.pages.push(vec![T::default(); PAGE].into());
            self.free.extend(
                (first..first + PAGE)
                    .rev()
                    .filter_map(|slot| u32::try_from(slot).ok()),
            );
        }
        let slot = self.free.pop().unwrap_or(NONE);
        if let Some(place) = self.get_mut(slot) {
            *place = value;
        }
        slot
    }

    /// Takes the value out. The slot must be in use.
    pub(crate) fn remove(&mut self, slot: u32) -> T {
        let value = self.get_mut(slot).map(std::mem::take).unwrap_or_default();
        self.free.push(slot);
        value
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<&T> {
        let slot = slot as usize;
        self.pages.get(slot / PAGE)?.get(slot % PAGE)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        let slot = slot as usize;
        self.pages.get_mut(slot / PAGE)?.get_mut(slot % PAGE)
    }

    /// Slots in use.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.pages.len() * PAGE - self.free.len()
    }
}
