//! Tailwater: tail sampling for LLM inference.

pub mod admin;
pub mod clock;
pub mod config;
pub mod exporters;
pub mod genai;
pub mod log;
pub mod otlp;
pub mod pipeline;
pub mod processors;
pub mod receivers;
pub mod redaction;
pub mod rules;
pub mod sampler;
pub mod thinning;
