//! Stopping in bounded time: take no more, finish what was taken, decide or leave what is undecided, export what can be.

use super::health::Readiness;
use super::running::Pipeline;
use std::time::Duration;
use tokio::time::timeout;

impl Pipeline {
    /// The workers of owned partitions write their last entries.
    #[cfg(feature = "kafka")]
    async fn stop_fleet(&mut self) -> Option<super::fleet::Fleet> {
        let fleet = self.fleet.take()?;
        let stopped = tokio::task::spawn_blocking(move || {
            fleet.stop_workers();
            fleet
        });
        stopped.await.ok()
    }

    /// Stops. Receivers refuse new requests at once and finish those in flight; workers write their last entries;
    /// exporters go on to the end of the decision log for at most `patience`. What they have not delivered then stays
    /// in the log for the next start (but for a memory buffer, where it is lost with the process).
    pub async fn stop(mut self, patience: Duration) {
        self.health.set(Readiness::Stopping);
        self.stop_intake.cancel();
        self.receivers.close();
        self.receivers.wait().await;
        let (log, mut samplers) = (
            self.shared.inlet.clone(),
            std::mem::take(&mut self.samplers),
        );
        // A worker still reads the log while it stops, so the log ends last.
        let stopped = tokio::task::spawn_blocking(move || {
            for sampler in &mut samplers {
                if !sampler.stop() {
                    tracing::error!(pipeline = sampler.id, "a worker had failed");
                }
            }
            samplers
        });
        let samplers = stopped.await;
        #[cfg(feature = "kafka")]
        let fleet = self.stop_fleet().await;
        self.last.cancel();
        self.exporters.close();
        let delivered = async {
            #[cfg(feature = "kafka")]
            if let Some(fleet) = &fleet {
                fleet.wait_for_cursors().await;
            }
            self.exporters.wait().await;
        };
        if timeout(patience, delivered).await.is_err() {
            tracing::warn!("exporters have not delivered everything; the log keeps it");
            self.abandon.cancel();
            #[cfg(feature = "kafka")]
            if let Some(fleet) = &fleet {
                fleet.abandon();
                fleet.wait_for_cursors().await;
            }
            self.exporters.wait().await;
        }
        #[cfg(feature = "kafka")]
        if let Some(fleet) = fleet
            && tokio::task::spawn_blocking(move || fleet.leave())
                .await
                .is_err()
        {
            tracing::error!("leaving the group failed");
        }
        if tokio::task::spawn_blocking(move || log.stop())
            .await
            .is_err()
        {
            tracing::error!("stopping the log failed");
        }
        drop(samplers);
        self.admin.stop().await;
    }
}
