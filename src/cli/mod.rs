//! What the `tailwater` command does, one file for each subcommand.

mod arguments;
mod check;
mod logging;
mod run;
mod sources;
mod validate;

pub(crate) use arguments::main;
