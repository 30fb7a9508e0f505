//! Sends batches as records and waits for every delivery report.
//!
//! Invariants: success means that the brokers have reported every record; a second try of a batch sends only what has
//! not arrived; a record that is too large, for us or (sent alone) for the topic, is cut between spans, and a span that is
//! too large by itself is rejected and counted, never tried for ever.

use super::lanes::Lanes;
use super::parts::{Part, by_trace};
use super::settings::{KafkaExporterSettings, TopicSettings};
use super::unfinished::{Rest, Unfinished};
use crate::clock::SharedClock;
use crate::exporters::encode;
use crate::exporters::error::Problem;
use crate::exporters::transport::{Outgoing, SendError, Sending, Sent, Transport};
use crate::kafka::{Encoding, Failure, Receipt, Record};
use crate::otlp::Signal;
use bytes::Bytes;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

/// Topics of one cluster.
pub(crate) struct KafkaExporter {
    lanes: Lanes,
    traces: Topic,
    logs: Topic,
    unfinished: Unfinished,
}

/// Where batches of one signal go, and how.
struct Topic {
    name: String,
    encoding: Encoding,
    by_trace: bool,
}

/// One try of a batch.
#[derive(Default)]
struct Try {
    open: VecDeque<Part>,
    under_way: VecDeque<(Part, Receipt)>,
    arrived: u64,
    rejected: u64,
    /// Failed, and worth another try; with why the last of them did.
    failed: Vec<Part>,
    failure: Option<Failure>,
    refusal: Option<Failure>,
}

impl KafkaExporter {
    /// Checks the settings; connects with the first batch.
    pub(crate) fn new(
        id: &str,
        settings: &KafkaExporterSettings,
        timeout: Duration,
        clock: SharedClock,
    ) -> Result<Self, Problem> {
        let lanes = Lanes::new(id, settings, timeout, clock)
            .map_err(|misfit| Problem::new(misfit.key, misfit.text))?;
        Ok(Self {
            lanes,
            traces: Topic::of(&settings.traces, settings.partition_traces_by_id),
            logs: Topic::of(&settings.logs, settings.partition_logs_by_trace_id),
            unfinished: Unfinished::default(),
        })
    }

    fn topic(&self, signal: Signal) -> &Topic {
        match signal {
            Signal::Traces => &self.traces,
            Signal::Logs => &self.logs,
        }
    }

    async fn produce(&self, out: Outgoing) -> Result<Sent, SendError> {
        let rest = match self.unfinished.take(&out.request) {
            Some(rest) => rest,
            None => Rest {
                parts: self.parts(&out)?,
                arrived: 0,
                rejected: 0,
            },
        };
        let mut this = Try {
            open: rest.parts.into(),
            arrived: rest.arrived,
            rejected: rest.rejected,
            ..Try::default()
        };
        loop {
            if let Some(part) = this.open.pop_front() {
                match self.send(&part) {
                    Ok(receipt) => this.under_way.push_back((part, receipt)),
                    Err(Failure::Full) if !this.under_way.is_empty() => {
                        this.open.push_front(part);
                        this.settle_oldest().await;
                    }
                    Err(failure) => this.end(part, failure),
                }
            } else if !this.settle_oldest().await {
                break;
            }
        }
        self.outcome(out.request, this)
    }

    fn parts(&self, out: &Outgoing) -> Result<Vec<Part>, SendError> {
        let Some(signal) = out.telemetry.signal() else {
            return Err(SendError::permanent("Kafka: no topic for metrics"));
        };
        if !self.topic(signal).by_trace {
            return Ok(vec![Part::whole(signal, out.request.clone(), out.spans)]);
        }
        by_trace(signal, &out.request).ok_or_else(|| SendError::permanent("Kafka: a damaged batch"))
    }

    fn send(&self, part: &Part) -> Result<Receipt, Failure> {
        let topic = self.topic(part.signal);
        let value = match topic.encoding {
            Encoding::OtlpProto => Cow::Borrowed(&*part.request),
            Encoding::OtlpJson => match encode::to_json(part.signal.into(), &part.request) {
                Ok(text) => Cow::Owned(text.into_bytes()),
                Err(_) => return Err(Failure::UNREADABLE),
            },
        };
        let record = Record {
            topic: &topic.name,
            key: part.key.as_deref(),
            value: &value,
            headers: &[],
        };
        self.lanes.send(&record, part.alone)
    }

    /// What the batch has come to; the rest of one that has not arrived is kept for the next try.
    fn outcome(&self, batch: Bytes, this: Try) -> Result<Sent, SendError> {
        if let Some(failure) = this.failure {
            if this.arrived > 0 || this.rejected > 0 {
                let rest = Rest {
                    parts: this.failed,
                    arrived: this.arrived,
                    rejected: this.rejected,
                };
                self.unfinished.put(batch, rest);
            }
            let reason = failure.reason();
            return Err(match failure {
                Failure::Unusable(_) => SendError::Unusable { reason },
                _ => SendError::retry(reason),
            });
        }
        match this.refusal {
            // Nothing is on its way, so that it can be cut further, down to the trace that is refused.
            Some(refusal) if this.arrived == 0 && refusal != Failure::TooLarge => {
                Err(SendError::permanent(refusal.reason()))
            }
            refusal if this.rejected > 0 => Ok(Sent::Partial {
                rejected: this.rejected,
                reason: refusal.map(Failure::reason).unwrap_or_default(),
            }),
            _ => Ok(Sent::All),
        }
    }
}

impl Topic {
    fn of(settings: &TopicSettings, by_trace: bool) -> Self {
        Self {
            name: settings.topic.clone(),
            encoding: settings.encoding,
            by_trace,
        }
    }
}

impl Try {
    /// Waits for the oldest report; `false` when there is none to wait for.
    async fn settle_oldest(&mut self) -> bool {
        let Some((part, receipt)) = self.under_way.pop_front() else {
            return false;
        };
        match receipt.await {
            Ok(Ok(())) => self.arrived += part.spans,
            Ok(Err(Failure::TooLarge)) if !part.alone => {
                let alone = true;
                self.open.push_front(Part { alone, ..part });
            }
            Ok(Err(failure)) => self.end(part, failure),
            // The producer was made anew, and its queue is gone.
            Err(_) => self.end(part, Failure::GONE),
        }
        true
    }

    /// A part that has not arrived.
    fn end(&mut self, part: Part, failure: Failure) {
        match failure {
            Failure::TooLarge => {
                if let Some([first, second]) = part.halves() {
                    self.open.push_front(second);
                    self.open.push_front(first);
                    return;
                }
                self.rejected += part.spans;
                self.refusal = Some(failure);
            }
            Failure::Permanent(_) => {
                self.rejected += part.spans;
                self.refusal = Some(failure);
            }
            Failure::Full | Failure::Unusable(_) | Failure::Retry(_) => {
                self.failed.push(part);
                self.failure = Some(failure);
            }
        }
    }
}

impl Transport for KafkaExporter {
    fn send(&self, out: Outgoing) -> Sending<'_> {
        Box::pin(self.produce(out))
    }
}

/// Neither brokers nor credentials.
impl fmt::Debug for KafkaExporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KafkaExporter").finish_non_exhaustive()
    }
}
