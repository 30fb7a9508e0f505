//! What was typed. `tailwater --config F` is `tailwater run --config F`, as a Collector is started.

use super::{check, erase, run, schema, validate};
use clap::{Args, Parser, Subcommand};
use std::io::{Write, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Parser)]
#[command(
    name = "tailwater",
    disable_version_flag = true,
    about = "Tail sampling for LLM inference: OTLP in, OTLP out, a durable log between"
)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    config: ConfigArguments,
    /// Print the version
    #[arg(short = 'v', short_alias = 'V', long)]
    version: bool,
}

/// Which config.
#[derive(Debug, Args)]
pub(super) struct ConfigArguments {
    /// A config: FILE, yaml:TEXT or env:NAME; several are merged in order, maps key by key, lists replaced
    #[arg(long = "config", value_name = "FILE")]
    pub(super) files: Vec<String>,
    /// Sets one key over the files, for example --set processors.tail_sampling.decision_wait=10s
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(super) overrides: Vec<String>,
    /// The Collector's feature gates: +a,-b,c switches a and c on and b off
    #[arg(
        long = "feature-gates",
        value_name = "GATES",
        allow_hyphen_values = true
    )]
    pub(super) feature_gates: Vec<String>,
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
    /// Write over all that the log of a stopped daemon holds of one trace but ids and times
    Erase {
        #[command(flatten)]
        config: ConfigArguments,
        /// 32 hexadecimal digits
        trace_id: String,
    },
}

pub(crate) fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.version {
        return version();
    }
    match arguments.command {
        None => run::run(&arguments.config),
        Some(Command::Run(config)) => run::run(&config),
        Some(Command::Validate(config)) => validate::validate(&config),
        Some(Command::Schema) => schema::schema(),
        Some(Command::Check { config, directory }) => check::check(&config, directory),
        Some(Command::Erase { config, trace_id }) => erase::erase(&config, &trace_id),
    }
}

/// In the words of a Collector, which callers may look for.
fn version() -> ExitCode {
    let line = concat!("tailwater version ", env!("CARGO_PKG_VERSION"));
    match writeln!(stdout(), "{line}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
