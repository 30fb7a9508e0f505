//! Keeps long work (inflating, transcoding) off the threads that serve sockets.

use super::fault::Fault;

/// Above this many bytes, inflating and transcoding leave the reactor's thread: about a millisecond of work.
const INLINE_WORK: usize = 256 * 1024;

/// Runs `work` here, or on the blocking pool when there is much of it.
pub(super) async fn offload<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    if bytes <= INLINE_WORK {
        return work();
    }
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(Fault::Gone))
}
