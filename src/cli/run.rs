//! `tailwater run`: start the pipeline, wait for a signal, stop in bounded time.

use super::arguments::ConfigArguments;
use super::logging;
use super::refusal::failed;
use super::sources::config;
use std::process::ExitCode;
use std::time::Duration;
use tailwater::config::Config;
use tailwater::pipeline::{Pipeline, StartError};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How long exporters may go on at stop: with 30 s of grace (Kubernetes' default) half is left for everything else.
const PATIENCE: Duration = Duration::from_secs(15);

pub(super) fn run(arguments: &ConfigArguments) -> ExitCode {
    let config = match config(arguments) {
        Ok(config) => config,
        Err(code) => return code,
    };
    logging::start(&config.telemetry);
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    match runtime.block_on(serve(&config)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

async fn serve(config: &Config) -> Result<(), StartError> {
    let (mut terminate, mut interrupt) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    );
    let pipeline = Pipeline::start(config).await?;
    tracing::info!(version = env!("CARGO_PKG_VERSION"), "ready");
    either(&mut terminate, &mut interrupt).await;
    tracing::info!("stopping; a second signal ends at once");
    tokio::select! {
        () = pipeline.stop(PATIENCE) => tracing::info!("stopped"),
        () = either(&mut terminate, &mut interrupt) => tracing::warn!("ended before the last deliveries; the log keeps them"),
    }
    Ok(())
}

async fn either(terminate: &mut Signal, interrupt: &mut Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
