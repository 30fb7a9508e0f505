//! The answer of the Collector's `health_check` extension, for probes and scripts that read it.

use super::go_time;
use serde_json::json;
use std::time::Duration;

/// Go's zero time, which the Collector tells while it is not available.
const NEVER: &str = "0001-01-01T00:00:00Z";

/// The body: since when (nanoseconds since the Unix epoch) and for how long it is up; `None`: it is not available.
pub(super) fn body(up: Option<(u64, Duration)>) -> String {
    let body = match up {
        Some((since, uptime)) => json!({
            "status": "Server available",
            "upSince": go_time::rfc3339(since),
            "uptime": go_time::duration(uptime),
        }),
        None => json!({"status": "Server not available", "upSince": NEVER, "uptime": ""}),
    };
    body.to_string()
}
