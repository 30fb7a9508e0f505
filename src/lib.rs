//! Tailwater: tail sampling for LLM inference.

mod clock;
pub mod config;
pub mod log;
pub mod otlp;
pub mod rules;
