//! Actions on attributes, in their order: what `attributes` does with those of spans, and `resource` with a resource's.

use super::attribute_list::AttributeList;
use super::convert::{convert, hashed};
use super::literal::{Literal, text_value};
use super::settings::{ActionKind, ActionSettings, ConvertTo, ValueSource};
use crate::otlp::{AnyValue, WireError, any_value};
use crate::rules::go_regex;
use regex::bytes::Regex;

pub(super) struct Actions(Vec<Action>);

struct Action {
    key: Box<[u8]>,
    work: Work,
}

enum Work {
    Insert(Source),
    Update(Source),
    Upsert(Source),
    Delete(Option<Regex>),
    Hash(Option<Regex>),
    Extract(Regex),
    Convert(ConvertTo),
}

/// Values are `AnyValue` messages.
struct Source {
    value: Option<Vec<u8>>,
    from_attribute: Option<Box<[u8]>>,
    default: Option<Vec<u8>>,
}

impl Actions {
    /// `None` when an expression is none.
    pub(super) fn new(settings: &[ActionSettings]) -> Option<Self> {
        let actions = settings.iter().map(|settings| {
            Some(Action {
                key: settings.key.as_bytes().into(),
                work: Work::new(&settings.kind)?,
            })
        });
        Some(Self(actions.collect::<Option<_>>()?))
    }

    /// `owner` with its attributes (field `number`) changed; `None`: they are not.
    pub(super) fn apply(&self, owner: &[u8], number: u8) -> Result<Option<Vec<u8>>, WireError> {
        let mut attributes = AttributeList::read(owner, number)?;
        self.0
            .iter()
            .for_each(|action| action.apply(&mut attributes));
        Ok(attributes.finish())
    }
}

impl Work {
    fn new(kind: &ActionKind) -> Option<Self> {
        let pattern = |text: &Option<String>| match text {
            Some(text) => go_regex::compile(text).ok().map(Some),
            None => Some(None),
        };
        Some(match kind {
            ActionKind::Insert(source) => Self::Insert(Source::new(source)),
            ActionKind::Update(source) => Self::Update(Source::new(source)),
            ActionKind::Upsert(source) => Self::Upsert(Source::new(source)),
            ActionKind::Delete(text) => Self::Delete(pattern(text)?),
            ActionKind::Hash(text) => Self::Hash(pattern(text)?),
            ActionKind::Extract(text) => Self::Extract(go_regex::compile(text).ok()?),
            ActionKind::Convert(to) => Self::Convert(*to),
        })
    }
}

impl Source {
    fn new(settings: &ValueSource) -> Self {
        Self {
            value: settings.value.as_ref().map(Literal::encode),
            from_attribute: settings
                .from_attribute
                .as_ref()
                .map(|key| key.as_bytes().into()),
            default: settings.default.as_ref().map(Literal::encode),
        }
    }

    fn value(&self, attributes: &AttributeList<'_>) -> Option<Vec<u8>> {
        let copied = || attributes.value(self.from_attribute.as_deref()?);
        self.value
            .clone()
            .or_else(copied)
            .or_else(|| self.default.clone())
    }
}

impl Action {
    fn apply(&self, attributes: &mut AttributeList<'_>) {
        let key = &*self.key;
        match &self.work {
            Work::Insert(source) => self.put(source, attributes, |there| !there),
            Work::Update(source) => self.put(source, attributes, |there| there),
            Work::Upsert(source) => self.put(source, attributes, |_| true),
            Work::Delete(pattern) => {
                attributes.remove(key);
                if let Some(pattern) = pattern {
                    attributes.remove_where(|key| pattern.is_match(key));
                }
            }
            Work::Hash(pattern) => {
                attributes.update(key, |value| Some(hashed(value)));
                if let Some(pattern) = pattern {
                    attributes.update_where(|key| pattern.is_match(key), |v| Some(hashed(v)));
                }
            }
            Work::Extract(pattern) => extract(pattern, key, attributes),
            Work::Convert(to) => attributes.update(key, |value| convert(value, *to)),
        }
    }

    /// `wanted` says whether the value is written when the attribute is there, or not.
    fn put(
        &self,
        source: &Source,
        attributes: &mut AttributeList<'_>,
        wanted: impl Fn(bool) -> bool,
    ) {
        if wanted(attributes.has(&self.key))
            && let Some(value) = source.value(attributes)
        {
            attributes.set(&self.key, &value);
        }
    }
}

/// Groups that took no part in the match are empty texts.
fn extract(pattern: &Regex, key: &[u8], attributes: &mut AttributeList<'_>) {
    let Some(message) = attributes.value(key) else {
        return;
    };
    let Ok(AnyValue::Str(text)) = any_value(&message, 0) else {
        return;
    };
    let Some(groups) = pattern.captures(text) else {
        return;
    };
    for (name, group) in pattern.capture_names().zip(groups.iter()) {
        if let Some(name) = name {
            let text = group.map_or(&[][..], |group| group.as_bytes());
            attributes.set(name.as_bytes(), &text_value(text));
        }
    }
}
