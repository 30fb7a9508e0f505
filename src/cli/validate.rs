//! `tailwater validate`.

use super::arguments::ConfigArguments;
use super::refusal::print;
use super::sources::config;
use std::process::ExitCode;

pub(super) fn validate(arguments: &ConfigArguments) -> ExitCode {
    match config(arguments) {
        Ok(_) => {
            print("the config is valid");
            ExitCode::SUCCESS
        }
        Err(code) => code,
    }
}
