//! Keeps long work (inflating, transcoding) off the threads that serve sockets.

use super::fault::Fault;

/// Above this many bytes read or written, work leaves the reactor's thread: about a millisecond of inflating.
const INLINE_WORK: u64 = 1024 * 1024;

/// Runs `work` here, or on the blocking pool when it is about many bytes.
pub(super) async fn offload<T: Send + 'static>(
    bytes: u64,
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    if bytes <= INLINE_WORK {
        return work();
    }
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or(Err(Fault::Gone))
}
