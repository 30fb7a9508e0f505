//! `tailwater schema`.

use std::io::{Write, stdout};
use std::process::ExitCode;

pub(super) fn schema() -> ExitCode {
    match stdout().write_all(tailwater::config::json_schema().as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
