//! Reads the config that a command line names and prints what is wrong with it.

use super::arguments::ConfigArguments;
use super::refusal::{print, refuse_config};
use std::io::{IsTerminal, stderr};
use std::process::ExitCode;
use tailwater::config::{Config, Diagnostic, Layers, Severity, Source, load_layers};

/// The checked config; warnings are printed. What is wrong is printed too, and the exit code told.
pub(super) fn config(arguments: &ConfigArguments) -> Result<Config, ExitCode> {
    if arguments.files.is_empty() {
        return Err(refuse_config(&["no config: give --config FILE".to_owned()]));
    }
    let env = |name: &str| std::env::var(name).ok();
    let mut sources = Vec::new();
    for file in &arguments.files {
        match Source::locate(file, &env) {
            Ok(source) => sources.push(source),
            Err(diagnostic) => return Err(refuse_config(&[diagnostic.to_string()])),
        }
    }
    let layers = Layers {
        sources: &sources,
        overrides: &arguments.overrides,
        feature_gates: &arguments.feature_gates,
    };
    match load_layers(layers, &env) {
        Ok(loaded) => {
            report(loaded.warnings.iter());
            Ok(loaded.config)
        }
        Err(found) => Err(refused(&found)),
    }
}

fn refused(found: &[Diagnostic]) -> ExitCode {
    let is_error = |found: &&Diagnostic| found.severity == Severity::Error;
    report(found.iter().filter(|found| !is_error(found)));
    let errors: Vec<String> = found
        .iter()
        .filter(is_error)
        .map(ToString::to_string)
        .collect();
    let code = refuse_config(&errors);
    if errors.len() > 1 && stderr().is_terminal() {
        print(&format!("{} errors", errors.len()));
    }
    code
}

fn report<'d>(diagnostics: impl Iterator<Item = &'d Diagnostic>) {
    diagnostics.for_each(|diagnostic| print(&diagnostic.to_string()));
}
