//! What the `tailwater` command does, one file for each subcommand.

mod arguments;
mod check;
mod erase;
mod logging;
mod refusal;
mod run;
mod schema;
mod sources;
mod validate;

pub(crate) use arguments::main;
