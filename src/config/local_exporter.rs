//! The exporters `file` and `debug`.

use super::component::ComponentId;
use super::delivery;
use super::fields::Fields;
use super::item::Item;
use super::redact;
use crate::exporters::{
    DebugOutput, DebugSettings, ExporterKind, ExporterSettings, FileFormat, FileSettings,
    RotationSettings, Verbosity,
};

/// Decodes `file`.
pub(crate) fn decode_file(id: &ComponentId, item: &Item<'_>) -> Option<ExporterSettings> {
    let mut fields = item.fields()?;
    let path = fields
        .require("path", "the path of a file")
        .and_then(|item| file_path(&item));
    let mut file = FileSettings::new(path.clone().unwrap_or_default());
    let append = fields.get("append");
    if let Some(append) = append.as_ref().and_then(Item::boolean) {
        file.append = append;
    }
    if let Some(format) = fields.one_of(
        "format",
        &[("json", FileFormat::Json), ("proto", FileFormat::Proto)],
    ) {
        file.format = format;
    }
    if let Some(compression) = fields.get("compression") {
        file.zstd = compression
            .one_of(&[("zstd", true), ("", false)])
            .unwrap_or(false);
    }
    file.rotation = fields
        .get_or_null("rotation")
        .and_then(|item| rotation(&item));
    let create = fields.boolean("create_directory").unwrap_or(false);
    let permissions = fields
        .get("directory_permissions")
        .map_or(Some(0o755), |item| octal(&item));
    file.create_directory = permissions.filter(|_| create);
    fields.no_effect(
        "flush_interval",
        "every request is written before it counts as delivered",
    );
    fields.not_yet("encoding", "use `format: json` or `format: proto`");
    if let Some(mut group) = fields.fields("group_by") {
        group.accept(&["resource_attribute", "max_open_files"]);
        if group.boolean("enabled") == Some(true) {
            group
                .item()
                .error_help("not supported yet", "use one `file` exporter");
        }
    }
    let settings = finish(id, ExporterKind::File(file), &mut fields);
    path.map(|_| settings)
}

fn file_path(item: &Item<'_>) -> Option<String> {
    let path = item.string()?;
    if path.is_empty() {
        item.error("expected the path of a file, found an empty string");
        return None;
    }
    Some(path)
}

fn octal(item: &Item<'_>) -> Option<u32> {
    let text = item.string()?;
    let mode = u32::from_str_radix(&text, 8)
        .ok()
        .filter(|mode| *mode <= 0o777);
    if mode.is_none() {
        item.error(format!(
            "expected permissions in octal digits such as `\"0755\"`{}",
            item.shown()
        ));
    }
    mode
}

fn rotation(item: &Item<'_>) -> Option<RotationSettings> {
    let mut fields = item.fields()?;
    let defaults = RotationSettings::new();
    let small = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    Some(RotationSettings {
        max_megabytes: fields
            .u64("max_megabytes")
            .filter(|n| *n > 0)
            .unwrap_or(defaults.max_megabytes),
        max_days: fields.u64("max_days").filter(|n| *n > 0).map(small),
        max_backups: fields
            .u64("max_backups")
            .map_or(defaults.max_backups, small),
        localtime: fields.boolean("localtime").unwrap_or(defaults.localtime),
    })
}

/// Decodes `debug`.
pub(crate) fn decode_debug(id: &ComponentId, item: &Item<'_>) -> Option<ExporterSettings> {
    let mut fields = item.fields()?;
    let mut debug = DebugSettings::new();
    let levels = [
        ("basic", Verbosity::Basic),
        ("normal", Verbosity::Normal),
        ("detailed", Verbosity::Detailed),
    ];
    debug.verbosity = fields
        .one_of("verbosity", &levels)
        .unwrap_or(debug.verbosity);
    debug.sampling_initial = fields
        .u64("sampling_initial")
        .unwrap_or(debug.sampling_initial);
    debug.sampling_thereafter = fields
        .u64("sampling_thereafter")
        .unwrap_or(debug.sampling_thereafter);
    fields.no_effect(
        "use_internal_logger",
        "what is exported is printed, never logged",
    );
    if let Some(paths) = fields.get("output_paths") {
        let known = [
            ("stdout", DebugOutput::Stdout),
            ("stderr", DebugOutput::Stderr),
        ];
        let chosen: Vec<DebugOutput> = paths
            .list()
            .iter()
            .filter_map(|item| item.one_of(&known))
            .collect();
        if chosen.len() > 1 {
            paths.error_help(
                "more than one path is not supported yet",
                "use one `debug` exporter for each",
            );
        }
        debug.output = chosen.first().copied().unwrap_or(debug.output);
    }
    Some(finish(id, ExporterKind::Debug(debug), &mut fields))
}

fn finish(id: &ComponentId, kind: ExporterKind, fields: &mut Fields<'_>) -> ExporterSettings {
    let mut settings = ExporterSettings::new(id.text.clone(), kind);
    settings.retry = delivery::retry(fields);
    settings.queue = delivery::queue(fields);
    settings.redact = redact::decode(fields);
    settings
}
