//! Lists of actions on attributes. Which keys go with which action is as strict as in the Collector.

use super::super::fields::Fields;
use super::super::item::Item;
use super::super::leaves::compiles;
use super::super::nearest::nearest;
use super::literal;
use crate::processors::{ActionKind, ActionSettings, ConvertTo, ValueSource};
use crate::rules::go_regex;

const ACTIONS: [&str; 7] = [
    "insert", "update", "upsert", "delete", "hash", "extract", "convert",
];
const TYPES: [(&str, ConvertTo); 3] = [
    ("int", ConvertTo::Int),
    ("double", ConvertTo::Double),
    ("string", ConvertTo::Text),
];

/// The actions below `key`; there must be one at least.
pub(super) fn list(fields: &mut Fields<'_>, key: &'static str) -> Option<Vec<ActionSettings>> {
    let list = fields.require(key, "a list of actions")?;
    let items = list.list();
    if list.list_is_empty() {
        list.error("expected at least one action");
    }
    let actions: Vec<_> = items.iter().filter_map(action).collect();
    (!actions.is_empty() && actions.len() == items.len()).then_some(actions)
}

/// What an action may be given.
struct Given<'a> {
    value: Option<Item<'a>>,
    from_attribute: Option<Item<'a>>,
    default: Option<Item<'a>>,
    pattern: Option<Item<'a>>,
    converted_type: Option<Item<'a>>,
    from_context: bool,
}

fn action(item: &Item<'_>) -> Option<ActionSettings> {
    let mut fields = item.fields()?;
    let key = fields
        .get("key")
        .map_or(Some(String::new()), |item| item.string());
    let from_context = fields.rest().any(|entry| entry.key == "from_context");
    fields.not_yet(
        "from_context",
        "leave it out: the log keeps spans, not the request that brought them",
    );
    let given = Given {
        value: fields.get("value"),
        from_attribute: fields.get("from_attribute"),
        default: fields.get("default_value"),
        pattern: fields.get("pattern"),
        converted_type: fields.get("converted_type"),
        from_context,
    };
    let name = name(&fields.require("action", "one of insert, update and so on")?)?;
    let key = key?;
    let needs_key = !(matches!(name, "delete" | "hash") && given.pattern.is_some());
    if key.is_empty() && needs_key {
        item.error("missing: expected a `key`");
        return None;
    }
    let kind = match name {
        "insert" => ActionKind::Insert(given.source(item, name)?),
        "update" => ActionKind::Update(given.source(item, name)?),
        "upsert" => ActionKind::Upsert(given.source(item, name)?),
        "delete" => ActionKind::Delete(given.optional_pattern(name)?),
        "hash" => ActionKind::Hash(given.optional_pattern(name)?),
        "extract" => ActionKind::Extract(given.groups(item)?),
        _ => ActionKind::Convert(given.converted(item)?),
    };
    Some(ActionSettings { key, kind })
}

/// Letter case does not count, as in the Collector.
fn name(item: &Item<'_>) -> Option<&'static str> {
    let text = item.string()?.to_ascii_lowercase();
    let known = ACTIONS.into_iter().find(|known| *known == text);
    if known.is_none() {
        match nearest(&text, ACTIONS) {
            Some(close) => item.error(format!("unknown action; did you mean `{close}`?")),
            None => item.error_help(
                format!("unknown action{}", item.shown()),
                format!("known actions: `{}`", ACTIONS.join("`, `")),
            ),
        }
    }
    known
}

impl Given<'_> {
    fn source(&self, item: &Item<'_>, name: &str) -> Option<ValueSource> {
        let free = refuse(&self.pattern, "pattern", name)
            & refuse(&self.converted_type, "converted_type", name);
        let from = self.from_attribute.as_ref().map(Item::string);
        let from_attribute = match from {
            Some(from) => Some(from?).filter(|key| !key.is_empty()),
            None => None,
        };
        match (&self.value, &from_attribute) {
            (Some(_), Some(_)) => {
                item.error("expected `value` or `from_attribute`, found both");
                return None;
            }
            (None, None) if self.default.is_none() => {
                if !self.from_context {
                    item.error("missing: expected `value`, `from_attribute` or `default_value`");
                }
                return None;
            }
            _ => {}
        }
        let literal = |given: &Option<Item<'_>>| match given {
            Some(item) => literal::decode(item).map(Some),
            None => Some(None),
        };
        let (value, default) = (literal(&self.value), literal(&self.default));
        free.then_some(ValueSource {
            value: value?,
            from_attribute,
            default: default?,
        })
    }

    fn has_no_source(&self, name: &str) -> bool {
        if let Some(default) = &self.default {
            default.warning(format!("has no effect: `{name}` takes no value"));
        }
        refuse(&self.value, "value", name) & refuse(&self.from_attribute, "from_attribute", name)
    }

    fn optional_pattern(&self, name: &str) -> Option<Option<String>> {
        let free = self.has_no_source(name) & refuse(&self.converted_type, "converted_type", name);
        let pattern = match &self.pattern {
            Some(item) => Some(pattern(item)?).filter(|text| !text.is_empty()),
            None => None,
        };
        free.then_some(pattern)
    }

    /// A pattern all of whose groups have names, one at least.
    fn groups(&self, item: &Item<'_>) -> Option<String> {
        let free = self.has_no_source("extract")
            & refuse(&self.converted_type, "converted_type", "extract");
        let Some(at) = &self.pattern else {
            item.error("missing: `extract` needs a `pattern`");
            return None;
        };
        let text = pattern(at)?;
        let Ok(regex) = go_regex::compile(&text) else {
            at.error("not a valid regular expression: it is too large");
            return None;
        };
        let names: Vec<Option<&str>> = regex.capture_names().skip(1).collect();
        let plain = |name: &Option<&str>| {
            name.is_some_and(|name| {
                let mut bytes = name.bytes();
                bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            })
        };
        if names.is_empty() || !names.iter().all(plain) {
            at.error_help(
                "expected groups that all have a name of letters, digits and `_`, one at least",
                "write `(?P<name>...)`, and `(?:...)` for a group that is no attribute",
            );
            return None;
        }
        free.then_some(text)
    }

    fn converted(&self, item: &Item<'_>) -> Option<ConvertTo> {
        let free = self.has_no_source("convert") & refuse(&self.pattern, "pattern", "convert");
        let Some(at) = &self.converted_type else {
            item.error("missing: `convert` needs a `converted_type`");
            return None;
        };
        let to = at.one_of(&TYPES)?;
        free.then_some(to)
    }
}

fn pattern(item: &Item<'_>) -> Option<String> {
    let text = item.string()?;
    compiles(item, &text).then_some(text)
}

/// An error when a key is there that the action does not use.
fn refuse(given: &Option<Item<'_>>, key: &str, name: &str) -> bool {
    if let Some(item) = given {
        item.error(format!("`{name}` does not use `{key}`"));
    }
    given.is_none()
}
