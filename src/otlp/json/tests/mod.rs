//! Both directions against tables, recorded requests and `opentelemetry-proto` as the oracle.

mod generated;
mod recorded;
mod table;
