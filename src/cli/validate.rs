//! `tailwater validate`.

use super::arguments::ConfigArguments;
use super::sources::{config, print};
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
