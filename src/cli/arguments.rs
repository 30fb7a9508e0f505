//! What was typed. `tailwater --config F` is `tailwater run --config F`, as a Collector is started.

use super::{check, run, schema, validate};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Parser)]
#[command(
    name = "tailwater",
    version,
    about = "Tail sampling for LLM inference: OTLP in, OTLP out, a durable log between"
)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    config: ConfigArguments,
}

/// Which config.
#[derive(Debug, Args)]
pub(super) struct ConfigArguments {
    /// A config file; several are merged in order, maps key by key, lists replaced
    #[arg(long = "config", value_name = "FILE")]
    pub(super) files: Vec<String>,
    /// Sets one key over the files, for example --set processors.tail_sampling.decision_wait=10s
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(super) overrides: Vec<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the daemon (the default)
    Run(ConfigArguments),
    /// Check a config and say all that is wrong with it; exits with 78 when something is
    Validate(ConfigArguments),
    /// Print the JSON schema of the config, for editors
    Schema,
    /// Prove the log of a stopped daemon: every decision follows from its records
    Check {
        #[command(flatten)]
        config: ConfigArguments,
        /// The buffer's directory, when it is not the config's
        directory: Option<PathBuf>,
    },
}

pub(crate) fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.command {
        None => run::run(&arguments.config),
        Some(Command::Run(config)) => run::run(&config),
        Some(Command::Validate(config)) => validate::validate(&config),
        Some(Command::Schema) => schema::schema(),
        Some(Command::Check { config, directory }) => check::check(&config, directory),
    }
}
