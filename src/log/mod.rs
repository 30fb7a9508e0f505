//! The buffer: an append-only log of accepted spans, with a cache of recent payload in front of it.
//!
//! Knows no rule and no trace: a frame is a request, a piece is bytes with a place ([`Ref`]). On the disk: [`Directory`]
//! (lock, partitions, positions), in it [`Stream`]s of segments. The daemon talks to the [`Log`] trait.

mod checksum;
mod errors;
mod frame;
mod piece;
mod refs;
mod settings;
mod storage;
mod stream;

pub use errors::{AppendError, LogError, ReadError};
pub use frame::{FRAME_HEADER, FrameMeta, OutFrame, Signal, StoredFrame};
pub use piece::{BadPiece, PIECE_HEADER, Pieces, StoredPiece, pieces, write_piece_header};
pub use refs::Ref;
pub use settings::{Durability, LogSettings, MemorySettings, OnFull, StoreKind};
pub use stream::{SegmentInfo, Stream, StreamReader, StreamSettings};
