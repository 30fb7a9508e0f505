//! The command line. Exit codes are those of sysexits(3): 78 for a config with errors, 1 for everything else.

// Payload buffers of a few kilobytes to megabytes are made on one thread and freed on another; mimalloc gives that
// memory back to the system where glibc keeps it (ARCHITECTURE.md, "Crates").
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
