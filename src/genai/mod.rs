//! What is known of LLM telemetry, as data.

mod text_keys;

pub use text_keys::TEXT_KEYS;
