//! What an `undecided` entry says: the state of a trace that has been waiting, and the pieces that it is folded from.
//!
//! An entry is whole (`earlier` is 0) or goes on where the ones before it ended; its state is always that of all pieces.

use super::packed::PackedRef;
use crate::log::Ref;
use crate::otlp::TraceId;
use crate::rules::StateSnapshot;
use prost::Message;

/// The body of an `undecided` entry.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Checkpoint {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) id: Vec<u8>,
    /// Who is charged, by name: numbers are the process's.
    #[prost(string, tag = "2")]
    pub(crate) service: String,
    /// Log time of the first piece, whole seconds.
    #[prost(uint32, tag = "3")]
    pub(crate) first_second: u32,
    #[prost(uint32, tag = "4")]
    pub(crate) last_second: u32,
    /// The tick that decides it, whole seconds.
    #[prost(uint32, tag = "5")]
    pub(crate) due: u32,
    #[prost(bool, tag = "6")]
    pub(crate) root_seen: bool,
    /// Payload bytes of all pieces.
    #[prost(uint64, tag = "7")]
    pub(crate) bytes: u64,
    /// Pieces that the entries before this one name.
    #[prost(uint32, tag = "8")]
    pub(crate) earlier: u32,
    /// What the state's words mean: see `rules::layout`.
    #[prost(uint32, tag = "9")]
    pub(crate) layout: u32,
    #[prost(message, optional, tag = "10")]
    pub(crate) state: Option<StateSnapshot>,
    /// Positions of the further pieces, each but the first as the distance from the one before it.
    #[prost(uint64, repeated, tag = "11")]
    pub(super) positions: Vec<u64>,
    #[prost(uint32, repeated, tag = "12")]
    pub(super) offsets: Vec<u32>,
    #[prost(uint32, repeated, tag = "13")]
    pub(super) lengths: Vec<u32>,
    #[prost(uint32, repeated, tag = "14")]
    pub(super) spans: Vec<u32>,
}

impl Checkpoint {
    pub(crate) fn trace(&self) -> Option<TraceId> {
        TraceId::from_slice(&self.id)
    }

    /// Names these pieces.
    pub(crate) fn set_places(&mut self, places: &[PackedRef]) {
        let mut last = 0;
        for packed in places {
            let place = packed.place();
            self.positions.push(place.position.wrapping_sub(last));
            last = place.position;
            self.offsets.push(place.offset);
            self.lengths.push(place.length);
            self.spans.push(packed.raw());
        }
    }

    /// The pieces it names, in log order.
    pub(crate) fn places(&self) -> impl Iterator<Item = PackedRef> + '_ {
        let mut position = 0_u64;
        let fields = self
            .positions
            .iter()
            .zip(&self.offsets)
            .zip(&self.lengths)
            .zip(&self.spans);
        fields.map(move |(((step, offset), length), spans)| {
            position = position.wrapping_add(*step);
            let place = Ref {
                position,
                offset: *offset,
                length: *length,
            };
            PackedRef::new(place, *spans)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn names_what_it_was_given(places in proptest::collection::vec((0_u64..1 << 54, 0_u32..1 << 26, 0_u32..1 << 27, 0_u32..1 << 21), 0..9)) {
            let places: Vec<_> = places
                .into_iter()
                .map(|(position, offset, length, spans)| PackedRef::new(Ref { position, offset, length }, spans))
                .collect();
            let mut checkpoint = Checkpoint::default();
            checkpoint.set_places(&places);
            let read = Checkpoint::decode(&checkpoint.encode_to_vec()[..]).unwrap();
            prop_assert_eq!(read.places().collect::<Vec<_>>(), places);
        }
    }
}
