//! The three lists of a pipeline, read and marked as used.

use super::catalogue::Section;
use super::item::Item;
use super::pipelines::{Declarations, Used, references};

/// Ids that are declared, each once.
pub(crate) struct Lists {
    pub(crate) receivers: Vec<String>,
    pub(crate) processors: Vec<String>,
    pub(crate) exporters: Vec<String>,
    /// Those of receivers and exporters that are not there, or empty.
    pub(crate) missing: Vec<&'static str>,
}

/// Reads them; `None` when the pipeline is no mapping.
pub(crate) fn lists(item: &Item<'_>, known: &Declarations, used: &mut Used) -> Option<Lists> {
    let mut fields = item.fields()?;
    let mut list = |key| fields.get(key).map(|item| item.list()).unwrap_or_default();
    let (receivers, processors, exporters) =
        (list("receivers"), list("processors"), list("exporters"));
    let ends = [("receivers", &receivers), ("exporters", &exporters)];
    let missing = ends.into_iter().filter(|(_, items)| items.is_empty());
    let missing = missing.map(|(key, _)| key).collect();
    let lists = Lists {
        missing,
        receivers: references(&receivers, &known.receivers, Section::Receivers),
        processors: references(&processors, &known.processors, Section::Processors),
        exporters: references(&exporters, &known.exporters, Section::Exporters),
    };
    used.receivers.extend(lists.receivers.iter().cloned());
    used.processors.extend(lists.processors.iter().cloned());
    used.exporters.extend(lists.exporters.iter().cloned());
    Some(lists)
}
