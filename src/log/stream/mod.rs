//! A stream: frames in a row of segment files; one writer at a time, any number of readers.
//!
//! Used for the spans and for each instance's decision log. Invariants: a position, once given, names the same bytes for
//! ever; a frame is visible whole or not at all, and only when the set durability holds for it; stamps never step back;
//! nothing is ever written below the end but by an erasure (`rewrite`). What a position means and when it may go is the owner's business.

mod append;
mod handle;
#[cfg(test)]
mod model;
mod reader;
mod recover;
mod rewrite;
mod roll;
mod scan;
mod sealer;
mod segment;
#[cfg(test)]
mod tests;

pub use handle::{SegmentInfo, Stream, StreamSettings};
pub use reader::StreamReader;
pub(crate) use rewrite::{frame_with, put_frame, wipe_unused, write};
