//! `include` and `exclude`.

use super::super::fields::Fields;
use super::super::item::Item;
use super::super::leaves::compiles;
use super::literal;
use crate::processors::{Library, Literal, MatchRule, MatchSettings};

/// `SPAN_KIND_UNSPECIFIED` is not among those that the Collector takes.
const KINDS: [&str; 5] = [
    "SPAN_KIND_INTERNAL",
    "SPAN_KIND_SERVER",
    "SPAN_KIND_CLIENT",
    "SPAN_KIND_PRODUCER",
    "SPAN_KIND_CONSUMER",
];

pub(super) fn rule(fields: &mut Fields<'_>) -> Option<MatchRule> {
    let mut properties = |key| match fields.get(key) {
        Some(item) => decode(&item).map(Some),
        None => Some(None),
    };
    let (include, exclude) = (properties("include"), properties("exclude"));
    Some(MatchRule {
        include: include?,
        exclude: exclude?,
    })
}

fn decode(item: &Item<'_>) -> Option<MatchSettings> {
    let mut fields = item.fields()?;
    let regexp = fields
        .require("match_type", "`strict` or `regexp`")
        .and_then(|item| item.one_of(&[("strict", false), ("regexp", true)]));
    if let Some(mut cache) = fields.fields("regexp") {
        // Matches are not slow enough to be remembered.
        cache.accept(&["cacheenabled", "cachemaxnumentries"]);
    }
    let is_regexp = regexp.unwrap_or(false);
    let services = texts(&mut fields, "services", is_regexp);
    let span_names = texts(&mut fields, "span_names", is_regexp);
    let span_kinds = kinds(&mut fields, is_regexp);
    let attributes = attributes(&mut fields, "attributes", is_regexp);
    let resources = self::attributes(&mut fields, "resources", is_regexp);
    let libraries = libraries(&mut fields, is_regexp);
    let settings = MatchSettings {
        regexp: regexp?,
        services: services?,
        span_names: span_names?,
        span_kinds: span_kinds?,
        attributes: attributes?,
        resources: resources?,
        libraries: libraries?,
    };
    let nothing = MatchSettings {
        regexp: settings.regexp,
        ..MatchSettings::default()
    };
    if settings == nothing {
        item.error(
            "expected at least one of `services`, `span_names`, `span_kinds`, `attributes`, `resources`, `libraries`",
        );
        return None;
    }
    Some(settings)
}

fn items<'a>(fields: &mut Fields<'a>, key: &'static str) -> Vec<Item<'a>> {
    fields.get(key).map(|item| item.list()).unwrap_or_default()
}

/// All items, or `None` when one is wrong.
fn all<T>(items: &[Item<'_>], read: impl Fn(&Item<'_>) -> Option<T>) -> Option<Vec<T>> {
    let out: Vec<T> = items.iter().filter_map(read).collect();
    (out.len() == items.len()).then_some(out)
}

fn text(item: &Item<'_>, regexp: bool) -> Option<String> {
    let text = item.string()?;
    (!regexp || compiles(item, &text)).then_some(text)
}

fn texts(fields: &mut Fields<'_>, key: &'static str, regexp: bool) -> Option<Vec<String>> {
    all(&items(fields, key), |item| text(item, regexp))
}

fn kinds(fields: &mut Fields<'_>, regexp: bool) -> Option<Vec<String>> {
    let kinds = KINDS.map(|kind| (kind, kind));
    all(&items(fields, "span_kinds"), |item| {
        if regexp {
            return text(item, true);
        }
        item.one_of(&kinds).map(str::to_owned)
    })
}

fn attributes(
    fields: &mut Fields<'_>,
    key: &'static str,
    regexp: bool,
) -> Option<Vec<(String, Option<Literal>)>> {
    all(&items(fields, key), |item| {
        let mut fields = item.fields()?;
        let key = fields
            .require("key", "the attribute to look at")
            .and_then(|item| item.string());
        let value = match fields.get("value") {
            Some(item) if regexp => Some(Literal::Text(text(&item, true)?)),
            Some(item) => Some(literal::decode(&item)?),
            None => None,
        };
        let key = key?;
        if key.is_empty() {
            item.error("the `key` is empty");
            return None;
        }
        Some((key, value))
    })
}

fn libraries(fields: &mut Fields<'_>, regexp: bool) -> Option<Vec<Library>> {
    all(&items(fields, "libraries"), |item| {
        let mut fields = item.fields()?;
        let name = fields
            .get("name")
            .map_or(Some(String::new()), |item| text(&item, regexp));
        let version = match fields.get("version") {
            Some(item) => text(&item, regexp).map(Some),
            None => Some(None),
        };
        Some(Library {
            name: name?,
            version: version?,
        })
    })
}
