//! The checker over all pipelines of a config.

use super::build::{compile, idle, sources};
use super::chains::{Chains, modes_of, rule_sets};
use super::start_error::StartError;
use crate::config::settings::Config;
use crate::log::{Directory, Services};
use crate::rules::layout;
use crate::sampler::{CheckReport, Checked};

/// Checks the log that `config` names; it must not be in use. One report for each pipeline.
///
/// # Errors
/// When the rules do not compile or the directory cannot be opened.
pub fn check(config: &Config) -> Result<Vec<(String, CheckReport)>, StartError> {
    let (programs, atoms) = compile(config)?;
    let Some(first) = config.instances.first() else {
        return Ok(Vec::new());
    };
    let (memory, _) = first.sampler.memory.resolve(None);
    let services = Services::new(&memory);
    let modes = modes_of(config, &services);
    let directory = Directory::open(&first.sampler.log)?;
    directory.expect_instances(config.instances.len());
    let mut reports = Vec::new();
    let layout = layout(rule_sets(config));
    let rules = rule_sets(config);
    for ((pipeline, program), rules) in config.instances.iter().zip(&programs).zip(rules) {
        let chains = Chains::of(pipeline)?;
        let checked = Checked {
            id: &pipeline.name,
            sources: sources(pipeline),
            program,
            rules,
            layout,
            front: &chains.front,
            atoms: &atoms,
            services: &services,
            modes: &modes,
            decision_wait: pipeline.sampler.decision_wait.as_secs().max(1),
            idle: idle(&pipeline.sampler),
        };
        reports.push((
            pipeline.name.clone(),
            crate::sampler::check(&directory, &checked)?,
        ));
    }
    Ok(reports)
}
