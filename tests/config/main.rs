//! The config as a user meets it.

#![allow(clippy::unwrap_used, reason = "all of it is a test")]

mod answers;
mod canary;
#[path = "../../src/cases.rs"]
mod cases;
mod command_line;
mod layers;
mod schema;
mod values;

/// The environment of these tests.
fn env(name: &str) -> Option<String> {
    match name {
        "CANARY" => Some("canary-env".to_owned()),
        "COLLECTOR" => Some("collector.example".to_owned()),
        "POLICIES" => Some("[{name: all, type: always_sample}]".to_owned()),
        "PORT" => Some("4317".to_owned()),
        "TOKEN" => Some("canary-token".to_owned()),
        _ => None,
    }
}

/// No variable at all.
fn no_env(_: &str) -> Option<String> {
    None
}
