//! The buffer: an append-only log of accepted spans, with a cache of recent payload in front of it.
//!
//! Knows no rule and no trace: a frame is a request, a piece is bytes with a place ([`Ref`]). On the disk: [`Directory`]
//! (lock, partitions, positions), in it [`Stream`]s of segments. The daemon talks to the [`Log`] trait.

mod account;
mod api;
mod cache;
mod checksum;
mod cursor_file;
mod decisions;
mod directory;
mod erase;
mod errors;
mod frame;
#[cfg(feature = "kafka")]
mod kafka;
mod lock;
mod names;
mod piece;
mod record;
mod refs;
mod services;
mod settings;
mod span_log;
mod stats;
mod storage;
mod stream;

pub use account::Account;
pub(crate) use account::HEADROOM_PART;
pub use api::{Append, Appended, Block, Fed, Feed, Inlet, Log};
pub use cursor_file::{CURSOR_MAX, CursorFile};
pub use decisions::{DecisionLog, FrameReader, Position, PositionStore};
pub use directory::Directory;
pub use erase::{Erased, Scrub, erase};
pub use errors::{AppendError, LogError, ReadError};
pub use frame::{FRAME_HEADER, FrameMeta, OutFrame, Signal, StoredFrame};
#[cfg(feature = "kafka")]
pub(crate) use kafka::{
    GroupStats, KafkaBudgets, KafkaLog, OwnedPartition, PARTITIONS_MAX, Partitions,
};
pub use piece::{BadPiece, PIECE_HEADER, Pieces, StoredPiece, pieces, write_piece_header};
pub use record::{RECORD, record_piece};
pub use refs::Ref;
pub(crate) use services::{OTHER_SERVICES, SERVICE_NAME_MAX};
pub use services::{ServiceId, Services};
pub use settings::{Durability, LogSettings, MemorySettings, OnFull, StoreKind};
pub use span_log::{OpenAt, SpanLog};
pub use stats::{LogStats, SharedLog};
pub use stream::{SegmentInfo, Stream, StreamReader, StreamSettings};
