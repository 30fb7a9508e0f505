//! What `--feature-gates` switches on: the Collector's names for behaviour that is off unless asked for.

/// The gates that mean something here; all off unless set, as in the Collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line, on its own"
)]
pub struct Gates {
    /// `recordpolicy`: kept traces say in their scopes' attributes which policy kept them.
    pub record_policy: bool,
    /// `usetracestate`: randomness is read from `tracestate`, and the threshold is written to it.
    pub use_trace_state: bool,
    /// `metricstatcountspanssampled`: a counter of spans by policy.
    pub count_spans_sampled: bool,
    /// `metricstatcountbytessampled`: a counter of bytes by policy.
    pub count_bytes_sampled: bool,
    /// `tailstorageextension`: the key `tail_storage` may be set.
    pub tail_storage: bool,
}
