//! Waiting for something to become true, with an end.

use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long a test waits for what must come; machines of CI are slow and shared.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until `holds`; fails with what was waited for.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    until_async(what, async || holds()).await;
}

/// [`until`] for what must be asked for over the network.
pub(crate) async fn until_async(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(
            Instant::now() < end,
            "waited {} s in vain: {what}",
            PATIENCE.as_secs()
        );
        sleep(Duration::from_millis(20)).await;
    }
}
