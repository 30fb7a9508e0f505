//! The receivers that read and do not listen: consumers of Kafka topics. All are made before one reads, so that what is
//! wrong with one is an error at start.

use super::receive::Intakes;
use super::start_error::StartError;
use crate::clock::SharedClock;
use crate::config::settings::ReceiverSettings;
#[cfg(feature = "kafka")]
use crate::receivers::KafkaReceiver;
#[cfg(not(feature = "kafka"))]
use crate::receivers::ReceiverError;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A consumer that is made and does not read yet.
pub(super) struct Consumer {
    #[cfg(feature = "kafka")]
    receiver: KafkaReceiver,
}

#[cfg(feature = "kafka")]
pub(super) fn make_all(
    receivers: &[ReceiverSettings],
    into: &Intakes,
    clock: &SharedClock,
) -> Result<Vec<Consumer>, StartError> {
    let consumers = receivers.iter().filter_map(|receiver| {
        let (id, settings) = (&receiver.id, receiver.kafka.clone()?);
        let made = KafkaReceiver::new(id, settings, into.destination(id), clock.clone());
        Some(made.map(|receiver| Consumer { receiver }))
    });
    Ok(consumers.collect::<Result<_, _>>()?)
}

#[cfg(not(feature = "kafka"))]
pub(super) fn make_all(
    receivers: &[ReceiverSettings],
    _: &Intakes,
    _: &SharedClock,
) -> Result<Vec<Consumer>, StartError> {
    match receivers.iter().find(|receiver| receiver.kafka.is_some()) {
        None => Ok(Vec::new()),
        Some(receiver) => Err(StartError::Receiver(ReceiverError::Kafka {
            id: receiver.id.clone(),
            key: "kafka",
            reason: crate::kafka::NOT_BUILT.to_owned(),
        })),
    }
}

impl Consumer {
    /// Reads until `stop`, then finishes what is in flight.
    #[cfg(feature = "kafka")]
    pub(super) fn start(
        self,
        tracker: &TaskTracker,
        stop: CancellationToken,
    ) -> std::io::Result<()> {
        self.receiver.start(tracker, stop)
    }

    #[cfg(not(feature = "kafka"))]
    pub(super) fn start(self, _: &TaskTracker, _: CancellationToken) -> std::io::Result<()> {
        Ok(())
    }
}
