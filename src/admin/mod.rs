//! What an operator sees of a running process: its own metrics, and whether it is well.
//!
//! All metrics stand in one table ([`INVENTORY`]); at a scrape each family is filled from the counters of the other
//! modules ([`Sources`]). Nothing here decides or changes anything, and nothing imports the pipeline: it hands over
//! [`Sources`] and an [`Observe`].
//!
//! Invariant: label values are ids of the config, names of services (a thousand at most) and words of the table's own;
//! no text of a span can get here.

mod board;
mod families;
mod go_time;
mod health_check;
mod histograms;
mod inventory;
mod metrics;
mod observe;
mod openmetrics;
mod page;
mod reference;
mod routes;
mod server;
mod sources;
mod spelling;

pub use inventory::{Appears, INVENTORY, Kind, Metric};
pub use metrics::Metrics;
pub use observe::Observe;
pub use openmetrics::Format;
pub use reference::reference;
pub use sources::{ExporterSource, MemoryCaps, ReceiverSource, SamplerSource, Samplers, Sources};
pub use spelling::Spelling;

pub(crate) use board::Board;
pub(crate) use routes::{health_routes, metrics_routes};
pub(crate) use server::Server;
