//! Tailwater: tail sampling for LLM inference.

pub mod admin;
#[cfg(test)]
mod cases;
mod client_tls;
pub mod clock;
pub mod config;
pub mod exporters;
pub mod genai;
pub mod kafka;
pub mod log;
pub mod otlp;
pub mod pipeline;
pub mod processors;
pub mod receivers;
pub mod redaction;
pub mod rules;
pub mod sampler;
mod secret;
pub mod thinning;
