//! Tail sampling over the log: intake, skeletons, timers, the decision log, late spans, restart.
//!
//! Requests enter by [`Intake`]; a [`Sampler`] reads them back in log order, decides at ticks and writes entries; exporters
//! read those by [`KeptReader`]. The decision log is the authority: what stands there is never decided again.

mod backlog;
mod batch;
mod check;
mod check_amended;
mod check_waiting;
mod checkpoint;
mod collector_table;
mod coverage;
mod deciding;
mod delivery;
mod effects;
mod ending;
mod entry;
mod evidence;
mod folding;
mod front;
mod handle;
mod head_coin;
mod histogram;
mod intake;
mod kept;
mod left;
mod links;
mod lru;
mod memory;
mod metering;
mod named;
mod ordered_tick;
mod owners;
mod packed;
mod pages;
mod partition;
mod passing;
mod position_ring;
mod pulse;
mod recovery;
mod replay;
mod restore;
mod scanned;
mod service_modes;
mod settings;
mod skeletons;
mod snapshot;
mod sources;
mod stats;
mod stop_signal;
mod strict;
#[cfg(feature = "kafka")]
mod sum;
#[cfg(test)]
mod tests;
mod timers;
mod trace_features;
mod trail;
mod undecided;
mod untraced;
mod waiting;
mod warm;
mod worker;

pub use check::{CheckReport, Checked, check};
pub use collector_table::TableLimits;
pub use delivery::{Delivered, DeliveredRecords, Delivery};
pub use evidence::Evidence;
pub use handle::{OpenSampler, Sampler, Shared};
pub use histogram::Histogram;
pub use intake::Intake;
pub use kept::{Kept, KeptReader};
pub use owners::{GoneExporter, give_up_instances};
#[cfg(feature = "kafka")]
pub(crate) use owners::{decide_name, deliver_name};
pub use pulse::Pulse;
pub use scanned::Scanned;
pub use service_modes::{ServiceMode, ServiceModes};
pub use settings::{Idle, SamplerSettings, Sharers, Strict};
pub use sources::Sources;
pub use stats::{RecordStats, SamplerStats};
