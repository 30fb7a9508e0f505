//! The `debug` exporter: what it is given, printed. The one exporter, beside `file`, that shows payload, by design.
//!
//! Of the batches of one second the first `sampling_initial` are printed, then each `sampling_thereafter`-th; the others
//! count as sent all the same. A batch that cannot be printed is given up: a console that is gone must not hold the log.

use super::debug_text;
use super::settings::{DebugSettings, Verbosity};
use super::transport::{Outgoing, SendError, Sending, Sent, Transport};
use crate::clock::{Nanos, SECOND, SharedClock};
use parking_lot::Mutex;
use std::fmt;
use std::io::Write;
use std::sync::Arc;
use tokio_util::task::TaskTracker;

/// Where the text goes.
pub(crate) type Output = Box<dyn Write + Send>;

/// Prints to one output.
pub(crate) struct DebugExporter {
    id: String,
    verbosity: Verbosity,
    sampling: Mutex<Sampling>,
    output: Arc<Mutex<Output>>,
    tracker: TaskTracker,
    clock: SharedClock,
}

impl DebugExporter {
    pub(crate) fn new(
        id: &str,
        settings: &DebugSettings,
        output: Output,
        tracker: &TaskTracker,
        clock: SharedClock,
    ) -> Self {
        Self {
            id: id.to_owned(),
            verbosity: settings.verbosity,
            sampling: Mutex::new(Sampling::new(settings)),
            output: Arc::new(Mutex::new(output)),
            tracker: tracker.clone(),
            clock,
        }
    }

    async fn print(&self, out: Outgoing) -> Result<Sent, SendError> {
        if !self.sampling.lock().takes(self.clock.monotonic()) {
            return Ok(Sent::All);
        }
        let (id, verbosity, now, output) = (
            self.id.clone(),
            self.verbosity,
            self.clock.unix(),
            self.output.clone(),
        );
        // A console may block for as long as nobody reads it.
        let printed = self.tracker.spawn_blocking(move || {
            let text = debug_text::of(&out, &id, verbosity, now);
            let mut output = output.lock();
            output
                .write_all(text.as_bytes())
                .and_then(|()| output.flush())
        });
        match printed.await {
            Ok(Ok(())) => Ok(Sent::All),
            Ok(Err(_)) => Err(SendError::permanent("debug: the output cannot be written")),
            Err(_) => Err(SendError::retry("debug: not printed (stopping)")),
        }
    }
}

impl Transport for DebugExporter {
    fn send(&self, out: Outgoing) -> Sending<'_> {
        Box::pin(self.print(out))
    }
}

impl fmt::Debug for DebugExporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DebugExporter")
            .field("id", &self.id)
            .field("verbosity", &self.verbosity)
            .finish_non_exhaustive()
    }
}

/// zap's sampler, which the Collector prints through.
#[derive(Debug)]
struct Sampling {
    initial: u64,
    thereafter: u64,
    second: Nanos,
    seen: u64,
}

impl Sampling {
    fn new(settings: &DebugSettings) -> Self {
        Self {
            initial: settings.sampling_initial,
            thereafter: settings.sampling_thereafter,
            second: 0,
            seen: 0,
        }
    }

    fn takes(&mut self, now: Nanos) -> bool {
        let second = now / SECOND;
        if second != self.second {
            (self.second, self.seen) = (second, 0);
        }
        self.seen += 1;
        match self.seen.checked_sub(self.initial) {
            None | Some(0) => true,
            Some(beyond) => self.thereafter > 0 && beyond % self.thereafter == 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_second_and_then_each_mth() {
        let check = |initial: u64, thereafter: u64, expected: &[u64]| {
            let settings = DebugSettings {
                sampling_initial: initial,
                sampling_thereafter: thereafter,
                ..DebugSettings::new()
            };
            let mut sampling = Sampling::new(&settings);
            for second in 5..8 {
                let taken: Vec<u64> = (1..=10)
                    .filter(|n| sampling.takes(second * SECOND + n))
                    .collect();
                assert_eq!(taken, expected, "{initial} {thereafter}");
            }
        };
        check(2, 1, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        check(2, 3, &[1, 2, 5, 8]);
        check(3, 0, &[1, 2, 3]);
        check(0, 4, &[4, 8]);
        check(0, 0, &[]);
    }
}
