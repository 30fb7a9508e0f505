//! `tailwater check`.

use super::arguments::ConfigArguments;
use super::refusal::{failed, print};
use super::sources::config;
use std::path::PathBuf;
use std::process::ExitCode;
use tailwater::log::StoreKind;
use tailwater::pipeline;

pub(super) fn check(arguments: &ConfigArguments, directory: Option<PathBuf>) -> ExitCode {
    let mut config = match config(arguments) {
        Ok(config) => config,
        Err(code) => return code,
    };
    if let Some(directory) = directory {
        for pipeline in &mut config.instances {
            pipeline.sampler.log.store = StoreKind::Disk(directory.clone());
        }
    }
    let reports = match pipeline::check(&config) {
        Ok(reports) => reports,
        Err(error) => return failed(&error),
    };
    let mut problems = 0;
    for (pipeline, report) in reports {
        problems += report.problem_count;
        print(&format!(
            "{pipeline}: {} decisions ({} kept), {} late entries, {} proven, {} states proven, {} amendments proven, {} spans, {} undecided, {} damaged, {} problems",
            report.decisions,
            report.keeps,
            report.late,
            report.proven,
            report.states,
            report.amendments,
            report.spans,
            report.undecided,
            report.damaged,
            report.problem_count
        ));
        report
            .problems
            .iter()
            .for_each(|problem| print(&format!("  {problem}")));
    }
    if problems == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
