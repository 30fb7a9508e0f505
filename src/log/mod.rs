//! The buffer: an append-only log of accepted spans, with a cache of recent payload in front of it.
mod refs;
mod settings;
pub use refs::Ref;
pub use settings::{Durability, LogSettings, MemorySettings, OnFull, StoreKind};
