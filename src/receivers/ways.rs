//! Where a receiver's requests go, by what they are of.

use crate::otlp::{PassOn, Signal, Telemetry};
use std::fmt;
use std::sync::Arc;

/// Where requests of one kind go.
#[derive(Clone, Default)]
pub enum Way {
    /// No pipeline takes them: they are refused unread.
    #[default]
    Closed,
    /// Into the log.
    Log(Signal),
    /// Past the log.
    Past(Arc<dyn PassOn>),
}

/// The ways of one receiver.
#[derive(Debug, Clone, Default)]
pub struct Ways {
    /// Of `TraceService`.
    pub traces: Way,
    /// Of `LogsService`.
    pub logs: Way,
    /// Of `MetricsService`.
    pub metrics: Way,
}

impl Ways {
    /// Traces are taken, and nothing else.
    #[must_use]
    pub fn traces() -> Self {
        Self {
            traces: Way::Log(Signal::Traces),
            ..Self::default()
        }
    }

    /// The way of a request.
    #[must_use]
    pub fn of(&self, telemetry: Telemetry) -> &Way {
        match telemetry {
            Telemetry::Traces => &self.traces,
            Telemetry::Logs => &self.logs,
            Telemetry::Metrics => &self.metrics,
        }
    }

    /// A pipeline takes such requests.
    #[must_use]
    pub fn take(&self, telemetry: Telemetry) -> bool {
        !matches!(self.of(telemetry), Way::Closed)
    }
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "Closed",
            Self::Log(_) => "Log",
            Self::Past(_) => "Past",
        })
    }
}
