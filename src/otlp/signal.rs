//! Which kind of OTLP message a request is. Their outer levels have the same field numbers: resources, scopes, leaves.

/// The kinds that are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Signal {
    /// `TracesData`, of spans.
    #[default]
    Traces = 1,
    /// `LogsData`, of log records.
    Logs = 2,
}
