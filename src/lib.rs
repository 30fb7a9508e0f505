//! Tailwater: tail sampling for LLM inference.

mod clock;
pub mod exporters;
pub mod log;
pub mod otlp;
