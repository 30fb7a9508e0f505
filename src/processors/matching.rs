//! `include` and `exclude`: which spans a processor means, by their properties.

use super::literal::Literal;
use super::number;
use super::patterns::Texts;
use super::settings::{MatchRule, MatchSettings};
use crate::otlp::{AnyValue, WireError, key_value, raw_fields};
use crate::rules::ottl::{SpanView, attribute_text};

/// What a resource without `service.name` is called where names are compared.
const NO_SERVICE: &[u8] = b"<nil-service-name>";

/// A [`MatchRule`] that can be asked.
pub(super) struct Matching {
    include: Option<Properties>,
    exclude: Option<Properties>,
}

struct Properties {
    services: Option<Texts>,
    names: Option<Texts>,
    kinds: Option<Texts>,
    attributes: Vec<Attribute>,
    resources: Vec<Attribute>,
    libraries: Vec<(Texts, Option<Texts>)>,
}

struct Attribute {
    key: Box<[u8]>,
    value: Wanted,
}

enum Wanted {
    Any,
    Exactly(Literal),
    Matching(Texts),
}

impl Matching {
    /// `None` when an expression is none.
    pub(super) fn new(rule: &MatchRule) -> Option<Self> {
        let properties = |settings: &Option<MatchSettings>| match settings {
            Some(settings) => Properties::new(settings).map(Some),
            None => Some(None),
        };
        Some(Self {
            include: properties(&rule.include)?,
            exclude: properties(&rule.exclude)?,
        })
    }

    /// The span is meant.
    pub(super) fn means(&self, view: &SpanView<'_>) -> Result<bool, WireError> {
        if let Some(include) = &self.include
            && !include.matches(view)?
        {
            return Ok(false);
        }
        match &self.exclude {
            Some(exclude) => Ok(!exclude.matches(view)?),
            None => Ok(true),
        }
    }
}

impl Properties {
    fn new(settings: &MatchSettings) -> Option<Self> {
        let texts = |texts: &[String]| Texts::new(texts, settings.regexp);
        let list = |list: &[String]| match list {
            [] => Some(None),
            list => texts(list).map(Some),
        };
        let attributes = |wanted: &[(String, Option<Literal>)]| {
            let attribute = |(key, value): &(String, Option<Literal>)| {
                let value = match value {
                    None => Wanted::Any,
                    Some(Literal::Text(text)) if settings.regexp => {
                        Wanted::Matching(texts(std::slice::from_ref(text))?)
                    }
                    Some(literal) => Wanted::Exactly(literal.clone()),
                };
                let key = key.as_bytes().into();
                Some(Attribute { key, value })
            };
            wanted.iter().map(attribute).collect::<Option<Vec<_>>>()
        };
        let libraries = settings.libraries.iter().map(|library| {
            let version = match &library.version {
                Some(version) => Some(texts(std::slice::from_ref(version))?),
                None => None,
            };
            Some((texts(std::slice::from_ref(&library.name))?, version))
        });
        Some(Self {
            services: list(&settings.services)?,
            names: list(&settings.span_names)?,
            kinds: list(&settings.span_kinds)?,
            attributes: attributes(&settings.attributes)?,
            resources: attributes(&settings.resources)?,
            libraries: libraries.collect::<Option<_>>()?,
        })
    }

    fn matches(&self, view: &SpanView<'_>) -> Result<bool, WireError> {
        if let Some(services) = &self.services {
            let service = find(view.resource, 1, b"service.name")?.map(attribute_text);
            if !services.matches(service.as_deref().unwrap_or(NO_SERVICE)) {
                return Ok(false);
            }
        }
        if let Some(names) = &self.names
            && !names.matches(text(view.span, 5)?)
        {
            return Ok(false);
        }
        if let Some(kinds) = &self.kinds
            && !kinds.matches(kind_name(view.span)?)
        {
            return Ok(false);
        }
        for (name, version) in &self.libraries {
            let named = name.matches(text(view.scope, 1)?);
            let Some(version) = version else {
                if named {
                    continue;
                }
                return Ok(false);
            };
            if !named || !version.matches(text(view.scope, 2)?) {
                return Ok(false);
            }
        }
        Ok(all(&self.resources, view.resource, 1)? && all(&self.attributes, view.span, 9)?)
    }
}

/// All wanted attributes are among those in field `number` of `owner`.
fn all(wanted: &[Attribute], owner: &[u8], number: u32) -> Result<bool, WireError> {
    for attribute in wanted {
        let Some(value) = find(owner, number, &attribute.key)? else {
            return Ok(false);
        };
        let is = match &attribute.value {
            Wanted::Any => true,
            Wanted::Exactly(literal) => literal.is(value),
            Wanted::Matching(texts) => match value {
                AnyValue::Str(text) => texts.matches(text),
                AnyValue::Bool(value) => texts.matches(value.to_string().as_bytes()),
                AnyValue::Int(value) => texts.matches(value.to_string().as_bytes()),
                AnyValue::Double(value) => texts.matches(number::plain(value).as_bytes()),
                AnyValue::Empty | AnyValue::Array(_) | AnyValue::Map(_) | AnyValue::Bytes(_) => {
                    false
                }
            },
        };
        if !is {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The value of the first attribute with this key.
pub(super) fn find<'a>(
    owner: &'a [u8],
    number: u32,
    key: &[u8],
) -> Result<Option<AnyValue<'a>>, WireError> {
    for field in raw_fields(owner) {
        if let Some(message) = field?.message(number) {
            let (name, value) = key_value(message, 0)?;
            if name == key {
                return Ok(Some(value));
            }
        }
    }
    Ok(None)
}

/// A field of text or bytes: the last one counts.
pub(super) fn text(message: &[u8], number: u32) -> Result<&[u8], WireError> {
    let mut found = &[][..];
    for field in raw_fields(message) {
        found = field?.message(number).unwrap_or(found);
    }
    Ok(found)
}

fn kind_name(span: &[u8]) -> Result<&'static [u8], WireError> {
    const NAMES: [&str; 6] = [
        "SPAN_KIND_UNSPECIFIED",
        "SPAN_KIND_INTERNAL",
        "SPAN_KIND_SERVER",
        "SPAN_KIND_CLIENT",
        "SPAN_KIND_PRODUCER",
        "SPAN_KIND_CONSUMER",
    ];
    let mut kind = 0;
    for field in raw_fields(span) {
        let field = field?;
        if field.number == 6 {
            kind = field.value.varint()?;
        }
    }
    let name = usize::try_from(kind).ok().and_then(|kind| NAMES.get(kind));
    Ok(name.copied().unwrap_or_default().as_bytes())
}
