//! `tailwater erase`.

use super::arguments::ConfigArguments;
use super::refusal::{failed, print};
use super::sources::config;
use std::process::ExitCode;
use tailwater::otlp::TraceId;
use tailwater::pipeline;

pub(super) fn erase(arguments: &ConfigArguments, trace: &str) -> ExitCode {
    let Some(trace) = TraceId::from_hex(trace) else {
        return failed(&"expected a trace id: 32 hexadecimal digits, not all of them 0");
    };
    let config = match config(arguments) {
        Ok(config) => config,
        Err(code) => return code,
    };
    let erased = match pipeline::erase(&config, trace) {
        Ok(erased) => erased,
        Err(error) => return failed(&error),
    };
    print(&format!(
        "trace {trace}: {} spans and log records in {} pieces erased",
        erased.spans, erased.pieces
    ));
    if erased.damaged == 0 {
        return ExitCode::SUCCESS;
    }
    print(&format!(
        "{} stretches of the log are damaged: there may be more in them",
        erased.damaged
    ));
    ExitCode::FAILURE
}
