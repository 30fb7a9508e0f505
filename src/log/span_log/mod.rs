//! The embedded span log: one writing thread in front of a [`Stream`](super::Stream), a live window behind it.
//!
//! A request waits in the queue, is written together with its neighbours, and is then in the cache, in the window and
//! answered, in this order. The writer is the only one that gives stamps, takes segments and gives them back.

mod core;
mod feed;
mod handle;
mod holds;
mod intake;
mod log_time;
mod queue;
mod retention;
#[cfg(test)]
mod tests;
mod window;
mod writer;

pub use handle::{OpenAt, SpanLog};
