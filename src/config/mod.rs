//! YAML to checked settings; errors with a place in the file.
//!
//! [`load`] merges config files and `--set` overrides, expands `${env:NAME}` and gives a [`Config`] or every
//! [`Diagnostic`] of the run. Stages: text to a located tree (`yaml`), merge, expand, then a decoder kit (`decoder`,
//! `item`, `fields`) that records every error and goes on, then what holds between components (`service`, `shared`).
//!
//! Invariants: no key is silently ignored; no secret value is in a diagnostic (`secret`); no input panics.

mod batch;
mod buffer;
mod call_rules;
mod catalogue;
mod cgroup;
mod component;
mod conditions;
mod decoder;
mod delivery;
mod diagnostic;
mod duplicates;
mod endpoint;
mod expand;
mod extensions;
mod fields;
mod gates;
mod go_duration;
mod item;
mod kafka_client;
mod kafka_exporter;
mod kafka_log;
mod kafka_producer;
mod kafka_receiver;
mod keywords;
mod late_evidence;
mod leaves;
mod limiting;
mod load;
mod local_exporter;
mod logs_pipelines;
mod long_traces;
mod memory;
mod merge;
mod nearest;
mod node;
mod otlp_exporter;
mod otlp_receiver;
mod own_keys;
mod pipeline_lists;
mod pipelines;
mod policies;
mod processors;
mod redact;
mod relay_pipelines;
mod routes;
mod schema;
mod secret;
mod service;
mod services;
pub mod settings;
mod shared;
mod size;
mod sources;
mod tail_sampling;
mod telemetry;
mod thinning;
mod tls;
mod yaml;

pub use cgroup::{memory_limit, memory_limit_below};
pub use diagnostic::{Diagnostic, Severity};
pub use load::{Layers, Loaded, Source, load, load_layers};
pub use schema::{json_schema, rules_reference};
pub use settings::Config;
