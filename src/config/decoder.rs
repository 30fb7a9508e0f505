//! The decoder kit, first part: where findings go, and what of a text they may show.
//!
//! The parts: [`Decoder`] collects, [`super::item::Item`] reads one value, [`super::fields::Fields`] the keys of one
//! mapping. A source line is shown only when no secret and no value that nobody knows stands on it.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::diagnostic::{Diagnostic, Severity};
use super::node::{Entry, Node, Place};
use super::settings::Gates;
use super::sources::Sources;

/// Collects the findings of one load.
pub(crate) struct Decoder<'s> {
    pub sources: &'s Sources,
    /// What the command line switches on, for keys that need a gate.
    pub gates: Gates,
    found: RefCell<Vec<Finding>>,
    /// First and last line of values that nobody knows.
    unknown: RefCell<Vec<(Place, u32)>>,
}

struct Finding {
    place: Option<Place>,
    /// It is about an entry in `unknown`, and its source line ends with the key.
    at_key: bool,
    diagnostic: Diagnostic,
}

impl<'s> Decoder<'s> {
    pub(crate) fn new(sources: &'s Sources) -> Self {
        Self {
            sources,
            gates: Gates::default(),
            found: RefCell::default(),
            unknown: RefCell::default(),
        }
    }

    pub(crate) fn error(&self, place: Place, key: &str, message: impl Into<String>) {
        self.record(Severity::Error, place, key, message.into(), None);
    }

    pub(crate) fn error_help(
        &self,
        place: Place,
        key: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.record(
            Severity::Error,
            place,
            key,
            message.into(),
            Some(help.into()),
        );
    }

    pub(crate) fn warning(&self, place: Place, key: &str, message: impl Into<String>) {
        self.record(Severity::Warning, place, key, message.into(), None);
    }

    fn record(
        &self,
        severity: Severity,
        place: Place,
        key: &str,
        message: String,
        help: Option<String>,
    ) {
        let diagnostic = Diagnostic {
            help,
            ..self.sources.diagnostic(severity, place, key, message)
        };
        self.found.borrow_mut().push(Finding {
            place: Some(place),
            at_key: false,
            diagnostic,
        });
    }

    /// A finding about a key whose value is not read. The source line ends with the key: what stands behind a mistyped
    /// key may be what the right key would have hidden.
    pub(crate) fn at_key(
        &self,
        severity: Severity,
        entry: &Entry,
        path: &str,
        message: String,
        help: Option<String>,
    ) {
        self.hide(entry);
        let place = entry.key_place;
        let mut diagnostic = self.sources.diagnostic(severity, place, path, message);
        diagnostic.help = help;
        let end = usize::try_from(place.column).unwrap_or(0) + entry.key.chars().count();
        let source = diagnostic.source.filter(|_| path.ends_with(&entry.key));
        diagnostic.source = source.map(|line| line.chars().take(end).collect());
        self.found.borrow_mut().push(Finding {
            place: Some(place),
            at_key: true,
            diagnostic,
        });
    }

    /// The lines of an entry that nobody reads are shown by no other finding.
    pub(crate) fn hide(&self, entry: &Entry) {
        let last = entry
            .node
            .last_line(entry.key_place)
            .max(entry.key_place.line);
        self.unknown.borrow_mut().push((entry.key_place, last));
    }

    /// A finding without a place in a text.
    pub(crate) fn push(&self, diagnostic: Diagnostic) {
        self.found.borrow_mut().push(Finding {
            place: None,
            at_key: false,
            diagnostic,
        });
    }

    pub(crate) fn has_findings(&self) -> bool {
        !self.found.borrow().is_empty()
    }

    /// All findings in the order of the files.
    pub(crate) fn finish(self) -> Vec<Diagnostic> {
        let unknown = Coverage::of(&self.unknown.into_inner());
        let mut found = self.found.into_inner();
        for finding in &mut found {
            let covered = finding.place.map_or(0, |place| unknown.at(place));
            if covered > i64::from(finding.at_key) {
                finding.diagnostic.source = None;
            }
        }
        found.sort_by_key(|finding| finding.place);
        let mut found: Vec<Diagnostic> = found
            .into_iter()
            .map(|finding| finding.diagnostic)
            .collect();
        found.dedup();
        found
    }
}

/// `a.b`, or `b` at the top.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

/// [`join`] for a key of `parent` as the user typed it: what stands below a secret key or does not look like a key may
/// be a value that slipped, and is not shown.
pub(crate) fn join_typed(parent: &Node, path: &str, key: &str) -> String {
    join(
        path,
        if !parent.secret && looks_like_key(key) {
            key
        } else {
            "<key>"
        },
    )
}

fn looks_like_key(key: &str) -> bool {
    (1..=80).contains(&key.len())
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || "_-./".contains(c))
}

/// How many ranges of lines reach a line: the sum of starts and ends up to it.
struct Coverage {
    steps: BTreeMap<(u16, u32), i64>,
}

impl Coverage {
    fn of(ranges: &[(Place, u32)]) -> Self {
        let mut steps: BTreeMap<(u16, u32), i64> = BTreeMap::new();
        for (first, last) in ranges {
            *steps.entry((first.file, first.line)).or_default() += 1;
            *steps
                .entry((first.file, last.saturating_add(1)))
                .or_default() -= 1;
        }
        let mut sum = 0;
        for step in steps.values_mut() {
            sum += *step;
            *step = sum;
        }
        Self { steps }
    }

    fn at(&self, place: Place) -> i64 {
        self.steps
            .range(..=(place.file, place.line))
            .next_back()
            .map_or(0, |(_, sum)| *sum)
    }
}
