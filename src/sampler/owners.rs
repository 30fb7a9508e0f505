//! Positions and their owners: how the files are called, and what becomes of one whose owner has left the config.
//!
//! Such a position holds nothing. What its owner had not delivered, or not decided, counts as expired, and when the owner
//! comes back it begins like a new one: an exporter at the end of the decision log, an instance at the end of the spans.

use super::delivery::{Delivery, Volume};
use super::recovery::recover;
use super::snapshot::RestartPoint;
use super::stats::SamplerStats;
use crate::log::{Directory, LogError};
use prost::Message;
use std::sync::Arc;

/// Between an instance and an exporter: no id that anyone writes has it.
const BETWEEN: &str = " > ";

pub(crate) fn decide_name(instance: &str) -> String {
    format!("decide/{instance}")
}

pub(crate) fn deliver_name(instance: &str, exporter: &str) -> String {
    format!("deliver/{instance}{BETWEEN}{exporter}")
}

/// Exporters of `instance` that have a position and are not in `known`.
fn exporters_besides(directory: &Directory, instance: &str, known: &[String]) -> Vec<String> {
    let prefix = deliver_name(instance, "");
    let owners = directory.owners().into_iter();
    owners
        .filter_map(|name| name.strip_prefix(&prefix).map(str::to_owned))
        .filter(|exporter| !known.contains(exporter))
        .collect()
}

/// An exporter of an instance, one of which has left the config, and its part of the ledger.
#[derive(Debug, Clone)]
pub struct GoneExporter {
    /// The instance's id.
    pub pipeline: String,
    /// The exporter's id.
    pub exporter: String,
    /// The instance's counters.
    pub stats: Arc<SamplerStats>,
    /// What became of its spans.
    pub delivery: Arc<Delivery>,
}

/// Gives up the positions of the exporters that `instance` no longer has; `kept` spans were kept so far, and the
/// decision log ends at `end`.
pub(super) fn give_up_exporters(
    directory: &Directory,
    instance: &str,
    known: &[String],
    (kept, end): (Volume, u64),
) -> Result<Vec<(String, Arc<Delivery>)>, LogError> {
    let mut gone = Vec::new();
    for exporter in exporters_besides(directory, instance, known) {
        let name = deliver_name(instance, &exporter);
        let position = Arc::new(directory.cursor_file(&name)?);
        let delivery = Delivery::open(&name, position, end);
        let spans = delivery
            .give_up(kept, end)
            .map_err(LogError::io("a position"))?;
        if let Some(spans) = spans {
            tracing::warn!(
                pipeline = instance,
                exporter,
                spans,
                "an exporter has left the config; what it had not delivered counts as expired"
            );
        }
        gone.push((exporter, Arc::new(delivery)));
    }
    Ok(gone)
}

/// Gives up what instances besides `known` have in the directory. To be called when those are open. One that cannot be
/// read stays as it is.
pub fn give_up_instances(directory: &Directory, known: &[&str]) -> Vec<GoneExporter> {
    let mut gone = Vec::new();
    for instance in directory.instances() {
        if known.contains(&instance.as_str()) {
            continue;
        }
        match give_up(directory, &instance) {
            Ok(exporters) => gone.extend(exporters),
            Err(error) => {
                tracing::error!(pipeline = instance, %error, "what a pipeline that has left the config left behind cannot be read");
            }
        }
    }
    gone
}

fn give_up(directory: &Directory, instance: &str) -> Result<Vec<GoneExporter>, LogError> {
    let decisions = directory.decisions(instance)?;
    let file = directory.cursor_file(&decide_name(instance))?;
    let mut recovered = recover(&decisions, &file, &[])?;
    let undecided = recovered.snapshot.expire_undecided();
    if !recovered.point.gone {
        let point = RestartPoint {
            gone: true,
            ..recovered.point
        };
        file.save(&point.encode_to_vec())
            .map_err(LogError::io("a position"))?;
        tracing::warn!(
            pipeline = instance,
            undecided,
            "a pipeline has left the config; its undecided spans count as expired"
        );
    }
    let stats = Arc::new(SamplerStats::default());
    recovered.snapshot.count(&stats);
    let counts = (recovered.snapshot.volume(), decisions.end());
    let exporters = give_up_exporters(directory, instance, &[], counts)?;
    let gone = exporters
        .into_iter()
        .map(|(exporter, delivery)| GoneExporter {
            pipeline: instance.to_owned(),
            exporter,
            stats: stats.clone(),
            delivery,
        });
    Ok(gone.collect())
}
