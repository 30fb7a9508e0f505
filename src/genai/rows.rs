//! The table's lines as typed rows, checked one by one.
//!
//! Leaves to `compile` what concerns several lines: numbers of dialects, ranks, look-ups.

use super::lines::{Line, TableError, lines, spaced};
use super::words::{Concept, Finish, Form, Kind, Operation, Stand, TextField};

const STRANGER: &str = "no such dialect";

/// What must hold for a dialect; alternatives within one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Condition {
    Key(Vec<Box<[u8]>>),
    Scope(Vec<Box<[u8]>>),
    Name(Vec<Box<[u8]>>),
    Value(Box<[u8]>, Box<[u8]>),
    Server,
}

#[derive(Debug, Clone)]
pub(super) struct DialectRow {
    pub(super) dialect: Box<str>,
    pub(super) stand: Stand,
    pub(super) kind: Kind,
    /// No key tells another kind.
    pub(super) fixed: bool,
    pub(super) conditions: Vec<Condition>,
    /// The conditions as written.
    pub(super) text: String,
}

#[derive(Debug, Clone)]
pub(super) struct KindRow {
    pub(super) key: Box<str>,
    /// `None` is every other value.
    pub(super) value: Option<Box<[u8]>>,
    pub(super) kind: Kind,
    pub(super) operation: Option<Operation>,
    pub(super) stream: Option<bool>,
    pub(super) only: Vec<Box<str>>,
    /// What to say when one of these is not there.
    pub(super) stranger: TableError,
}

/// Steps inside JSON text.
pub(super) type Path = Vec<Box<[u8]>>;

/// Where a key row looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Site {
    Attribute(Box<[u8]>),
    Leaf(Box<[u8]>, Path),
    Event(Box<[u8]>),
    /// Event, key, and the path inside JSON text, if any.
    EventAttribute(Box<[u8]>, Box<[u8]>, Path),
    Name(Box<[u8]>),
}

#[derive(Debug, Clone)]
pub(super) struct KeyRow {
    pub(super) site: Site,
    /// The key as written.
    pub(super) text: Box<str>,
    pub(super) concept: Concept,
    pub(super) form: Form,
    pub(super) priority: u16,
    /// Dialects it is for, or (with `except`) not for; empty is all.
    pub(super) only: Vec<Box<str>>,
    pub(super) except: bool,
    /// What to say when one of these is not there.
    pub(super) stranger: TableError,
    pub(super) group: Option<Box<str>>,
    pub(super) named: Option<Box<[u8]>>,
    pub(super) since: Option<Box<str>>,
    pub(super) until: Option<Box<str>>,
    /// From documentation alone.
    pub(super) doc: bool,
}

#[derive(Debug, Clone)]
pub(super) struct TextRow {
    pub(super) key: Box<str>,
    pub(super) field: TextField,
    pub(super) since: Option<Box<str>>,
    pub(super) until: Option<Box<str>>,
}

/// All rows of one or more texts.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    pub(super) dialects: Vec<DialectRow>,
    pub(super) gateways: Vec<Box<[u8]>>,
    pub(super) kinds: Vec<KindRow>,
    pub(super) finish: Vec<(Box<str>, Finish)>,
    /// `None` is no information.
    pub(super) providers: Vec<(Box<str>, Option<Box<str>>)>,
    pub(super) placeholders: Vec<Box<str>>,
    pub(super) keys: Vec<KeyRow>,
    pub(super) texts: Vec<TextRow>,
}

impl Rows {
    /// Adds the rows of `text` behind those that are there.
    pub(super) fn add(&mut self, source_name: &'static str, text: &str) -> Result<(), TableError> {
        for line in &lines(source_name, text)? {
            match line.section {
                "dialects" => self.dialects.push(dialect(line)?),
                "gateways" => self.gateways.push(spaced(line.word(0)?)),
                "kinds" => self.kinds.push(kind(line)?),
                "finish" => {
                    let class = line.read(1, "no class of finish reasons", Finish::of)?;
                    self.finish.push((line.word(0)?.into(), class));
                }
                "providers" => {
                    let provider = Some(line.word(1)?).filter(|word| *word != "-");
                    self.providers
                        .push((line.word(0)?.into(), provider.map(Into::into)));
                }
                "placeholders" => self.placeholders.push(line.word(0)?.into()),
                "keys" => self.keys.push(key(line)?),
                "texts" => self.texts.push(text_key(line)?),
                _ => return Err(line.wrong(0, "no such section")),
            }
        }
        Ok(())
    }
}

fn dialect(line: &Line<'_>) -> Result<DialectRow, TableError> {
    let conditions = line
        .words_from(3)
        .map(|(index, word)| condition(word).ok_or_else(|| line.wrong(index, "no such condition")))
        .collect::<Result<Vec<_>, _>>()?;
    if conditions.is_empty() {
        return Err(line.wrong(3, "a condition is missing"));
    }
    Ok(DialectRow {
        dialect: line.word(0)?.into(),
        stand: line.read(1, "no such layer", Stand::of)?,
        kind: line.read(2, "no such kind", |word| {
            Kind::of(word.trim_end_matches('!'))
        })?,
        fixed: line.word(2)?.ends_with('!'),
        text: line
            .words_from(3)
            .map(|(_, word)| word)
            .collect::<Vec<_>>()
            .join(" "),
        conditions,
    })
}

fn condition(word: &str) -> Option<Condition> {
    let (site, list) = word.split_once(':')?;
    let all = || list.split(',').map(spaced).collect();
    match site {
        "key" => Some(Condition::Key(all())),
        "scope" => Some(Condition::Scope(all())),
        "name" => Some(Condition::Name(all())),
        "value" => {
            let (key, value) = list.split_once('=')?;
            Some(Condition::Value(spaced(key), spaced(value)))
        }
        "span" if list == "server" => Some(Condition::Server),
        _ => None,
    }
}

fn kind(line: &Line<'_>) -> Result<KindRow, TableError> {
    let key = line.word(0)?;
    let mut row = KindRow {
        key: key.into(),
        value: Some(line.word(1)?).filter(|word| *word != "*").map(|word| {
            if key == "name" {
                // Names of spans are compared as they stand.
                spaced(word)
            } else {
                spaced(&word.to_ascii_lowercase())
            }
        }),
        stranger: line.wrong(4, STRANGER),
        kind: line.read(2, "no such kind", Kind::of)?,
        operation: line.read(3, "no such operation", |word| match word {
            "-" => Some(None),
            word => Operation::of(word).map(Some),
        })?,
        stream: None,
        only: Vec::new(),
    };
    for (index, word) in line.words_from(4) {
        match word.split_once('=') {
            Some(("stream", "true")) => row.stream = Some(true),
            Some(("stream", "false")) => row.stream = Some(false),
            Some(("if", list)) => row.only = list.split(',').map(Into::into).collect(),
            _ => return Err(line.wrong(index, "no such option")),
        }
    }
    Ok(row)
}

fn key(line: &Line<'_>) -> Result<KeyRow, TableError> {
    let text = line.word(0)?;
    let mut row = KeyRow {
        site: site(text),
        text: text.into(),
        concept: line.read(1, "no such concept", Concept::of)?,
        form: line.read(2, "no such form", Form::of)?,
        priority: line.read(3, "a priority is a number up to 65535", |word| {
            word.parse().ok()
        })?,
        only: Vec::new(),
        except: false,
        stranger: line.wrong(4, STRANGER),
        group: None,
        named: None,
        since: None,
        until: None,
        doc: false,
    };
    for (index, word) in line.words_from(4) {
        match word.split_once('=') {
            Some(("if", list)) => {
                row.except = list.starts_with('!');
                let list = list.trim_start_matches('!');
                row.only = list.split(',').map(Into::into).collect();
            }
            Some(("group", name)) => row.group = Some(name.into()),
            Some(("named", name)) => row.named = Some(spaced(name)),
            Some(("since", version)) => row.since = Some(version.into()),
            Some(("until", version)) => row.until = Some(version.into()),
            None if word == "doc" => row.doc = true,
            _ => return Err(line.wrong(index, "no such option")),
        }
    }
    if !row.form.fits(row.concept) {
        return Err(line.wrong(2, "the concept is not written in this form"));
    }
    let scores = [Concept::ScoreName, Concept::ScoreValue, Concept::ScoreLabel];
    if scores.contains(&row.concept) && row.group.is_none() {
        return Err(line.wrong(1, "an evaluation needs a group"));
    }
    Ok(row)
}

fn site(text: &str) -> Site {
    if let Some(event) = text.strip_prefix("event:") {
        return match event.split_once('@') {
            Some((name, key)) => {
                let (key, path) = leaf(key);
                Site::EventAttribute(spaced(name), key, path)
            }
            None => Site::Event(spaced(event)),
        };
    }
    if let Some(name) = text.strip_prefix("name:") {
        return Site::Name(spaced(name));
    }
    match leaf(text) {
        (key, path) if path.is_empty() => Site::Attribute(key),
        (key, path) => Site::Leaf(key, path),
    }
}

fn leaf(text: &str) -> (Box<[u8]>, Path) {
    match text.split_once('#') {
        Some((key, path)) => (spaced(key), path.split('.').map(spaced).collect()),
        None => (spaced(text), Path::new()),
    }
}

fn text_key(line: &Line<'_>) -> Result<TextRow, TableError> {
    let mut row = TextRow {
        key: line.word(0)?.into(),
        field: line.read(1, "no such field of text", TextField::of)?,
        since: None,
        until: None,
    };
    for (index, word) in line.words_from(2) {
        match word.split_once('=') {
            Some(("since", version)) => row.since = Some(version.into()),
            Some(("until", version)) => row.until = Some(version.into()),
            _ => return Err(line.wrong(index, "no such option")),
        }
    }
    Ok(row)
}

impl Form {
    /// Whether `concept` can be written so.
    fn fits(self, concept: Concept) -> bool {
        use Concept as C;
        match self {
            Self::Kind => concept == C::Kind,
            Self::Str => matches!(
                concept,
                C::Provider
                    | C::RequestModel
                    | C::ResponseModel
                    | C::Tool
                    | C::ConversationId
                    | C::ResponseId
                    | C::ScoreName
                    | C::ScoreLabel
                    | C::ErrorType
            ),
            Self::Strs => concept == C::FinishReason,
            Self::Type => concept == C::ErrorType,
            Self::Bool => matches!(concept, C::Stream | C::CacheHit | C::Error),
            Self::Int => matches!(
                concept,
                C::InputTokens
                    | C::OutputTokens
                    | C::CachedTokens
                    | C::CacheWriteTokens
                    | C::ReasoningTokens
            ),
            Self::Float => concept == C::ScoreValue,
            Self::S | Self::Ms | Self::Us | Self::Ns | Self::Rust | Self::Iso | Self::Offset => {
                concept.is_time()
            }
            Self::Span => concept.is_time(),
            Self::Rate => concept == C::TimePerOutputToken,
            Self::Mark => matches!(concept, C::Exception | C::Error),
            Self::Level | Self::Http => concept == C::Error,
        }
    }
}

impl Concept {
    fn is_time(self) -> bool {
        matches!(
            self,
            Self::Ttft
                | Self::TimePerOutputToken
                | Self::Queue
                | Self::QueueStart
                | Self::QueueEnd
                | Self::Prefill
                | Self::Decode
        )
    }
}
