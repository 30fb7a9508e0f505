//! How a start that cannot be ends: what is printed, and the exit code.
//!
//! Where `TAILWATER_COMPAT=strict` lets the daemon stand in for a Collector, its callers see what they saw from that one:
//! `Error: ` and the text, and 1. Otherwise a faulty config is told apart by its own code.

use std::io::{Write, stderr};
use std::process::ExitCode;

/// EX_CONFIG of sysexits(3).
const CONFIG_ERROR: u8 = 78;

/// Prints why the config is refused; gives the exit code.
pub(super) fn refuse_config(errors: &[String]) -> ExitCode {
    let text = errors.join("\n");
    if as_the_collector() {
        print(&format!("Error: {text}"));
        return ExitCode::FAILURE;
    }
    print(&text);
    ExitCode::from(CONFIG_ERROR)
}

/// Prints why the daemon does not start, or has ended; gives the exit code.
pub(super) fn failed(error: &dyn std::fmt::Display) -> ExitCode {
    let who = if as_the_collector() {
        "Error"
    } else {
        "tailwater"
    };
    print(&format!("{who}: {error}"));
    ExitCode::FAILURE
}

/// The file may say `compat` too, but one that cannot be read says nothing.
fn as_the_collector() -> bool {
    std::env::var_os("TAILWATER_COMPAT").is_some_and(|compat| compat == "strict")
}

/// Writes a line to standard error. A closed terminal is no reason to fail.
pub(super) fn print(text: &str) {
    let _ = writeln!(stderr(), "{text}");
}
