//! Doubly linked lists through a slab, so that a trace leaves its timer or its service's queue in one step.

use super::pages::NONE;

/// A slot's neighbours in one list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Links {
    pub(crate) before: u32,
    pub(crate) after: u32,
}

impl Default for Links {
    fn default() -> Self {
        Self {
            before: NONE,
            after: NONE,
        }
    }
}

/// The two ends of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct List {
    pub(crate) first: u32,
    pub(crate) last: u32,
}

impl Default for List {
    fn default() -> Self {
        Self {
            first: NONE,
            last: NONE,
        }
    }
}

impl List {
    /// Appends `slot`; `links` finds a slot's neighbours (of this list).
    pub(crate) fn push(
        &mut self,
        slot: u32,
        mut links: impl FnMut(u32, &mut dyn FnMut(&mut Links)),
    ) {
        let last = self.last;
        links(slot, &mut |own| {
            *own = Links {
                before: last,
                after: NONE,
            }
        });
        if last == NONE {
            self.first = slot;
        } else {
            links(last, &mut |neighbour| neighbour.after = slot);
        }
        self.last = slot;
    }

    /// Takes `slot`, which must be in this list, out.
    pub(crate) fn remove(
        &mut self,
        slot: u32,
        mut links: impl FnMut(u32, &mut dyn FnMut(&mut Links)),
    ) {
        let mut own = Links::default();
        links(slot, &mut |links| own = std::mem::take(links));
        if own.before == NONE {
            self.first = own.after;
        } else {
            links(own.before, &mut |neighbour| neighbour.after = own.after);
        }
        if own.after == NONE {
            self.last = own.before;
        } else {
            links(own.after, &mut |neighbour| neighbour.before = own.before);
        }
    }
}
