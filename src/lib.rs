//! Tailwater: tail sampling for LLM inference.

pub mod clock;
pub mod log;
pub mod otlp;
pub mod rules;
pub mod sampler;
pub mod receivers;
