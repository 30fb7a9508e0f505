//! Tailwater inside another tokio process: no socket, no second process, the same rules and the same durable log.
//!
//! `cargo run --example embed -- CONFIG REQUEST.pb` submits one `ExportTraceServiceRequest` as protobuf and stops.

#![allow(clippy::print_stderr, reason = "a command that tells what it did")]

use std::error::Error;
use std::time::Duration;
use tailwater::config::{Source, load};
use tailwater::otlp::Accepted;
use tailwater::pipeline::Pipeline;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let [config, request] = std::env::args()
        .skip(1)
        .collect::<Vec<_>>()
        .try_into()
        .map_err(|_| "CONFIG REQUEST.pb")?;
    let accepted = embed(&config, std::fs::read(request)?).await?;
    eprintln!(
        "{} spans accepted, {} rejected",
        accepted.spans, accepted.rejected
    );
    Ok(())
}

pub(crate) async fn embed(config: &str, request: Vec<u8>) -> Result<Accepted, Box<dyn Error>> {
    let source = Source::read(config).map_err(|wrong| wrong.to_string())?;
    let loaded = load(&[source], &[], &|name| std::env::var(name).ok());
    let config = loaded
        .map_err(|wrong| {
            wrong
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("\n")
        })?
        .config;

    let pipeline = Pipeline::start(&config).await?;
    // Acknowledged means: in the log, as for a request that came over the network.
    let accepted = pipeline.submit(request.into()).await;
    // Undecided traces stay in a log on disk for the next start; one in memory decides them now.
    pipeline.stop(Duration::from_secs(30)).await;
    Ok(accepted?)
}
