//! Reads the config files and prints what is wrong with them.

use super::arguments::ConfigArguments;
use std::io::{IsTerminal, Write, stderr};
use std::process::ExitCode;
use tailwater::config::{Config, Diagnostic, Severity, Source, load};

/// EX_CONFIG of sysexits(3).
const CONFIG_ERROR: u8 = 78;

/// The checked config; warnings are printed. What is wrong is printed too, and the exit code told.
pub(super) fn config(arguments: &ConfigArguments) -> Result<Config, ExitCode> {
    if arguments.files.is_empty() {
        print("tailwater: no config: give --config FILE");
        return Err(ExitCode::from(CONFIG_ERROR));
    }
    let mut sources = Vec::new();
    for file in &arguments.files {
        match Source::read(file) {
            Ok(source) => sources.push(source),
            Err(diagnostic) => {
                report(&[*diagnostic]);
                return Err(ExitCode::from(CONFIG_ERROR));
            }
        }
    }
    match load(&sources, &arguments.overrides, &|name| {
        std::env::var(name).ok()
    }) {
        Ok(loaded) => {
            report(&loaded.warnings);
            Ok(loaded.config)
        }
        Err(diagnostics) => {
            report(&diagnostics);
            Err(ExitCode::from(CONFIG_ERROR))
        }
    }
}

fn report(diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics {
        print(&diagnostic.to_string());
    }
    let errors = diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error)
        .count();
    if errors > 1 && stderr().is_terminal() {
        print(&format!("{errors} errors"));
    }
}

/// Writes a line to standard error. A closed terminal is no reason to fail.
pub(super) fn print(text: &str) {
    let _ = writeln!(stderr(), "{text}");
}
