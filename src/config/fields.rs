//! The decoder kit, third part: [`Fields`], the keys of one mapping.
//!
//! Invariant: every key of the mapping is either asked for or reported. Whatever was not asked for by the time the
//! `Fields` goes out of scope is an unknown key; it cannot be forgotten.

use std::time::Duration;

use super::decoder::{join, join_typed};
use super::diagnostic::Severity;
use super::item::Item;
use super::nearest::nearest;
use super::node::{Entry, Value};

/// A mapping whose keys are known.
pub(crate) struct Fields<'a> {
    item: Item<'a>,
    entries: &'a [Entry],
    known: Vec<&'static str>,
    /// Those of `known` that are refused.
    later: Vec<&'static str>,
    /// Unknown ones that are ignored, with a warning.
    ignored: Vec<&'a str>,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(item: Item<'a>, entries: &'a [Entry]) -> Self {
        Self {
            item,
            entries,
            known: Vec::new(),
            later: Vec::new(),
            ignored: Vec::new(),
        }
    }

    /// The mapping itself.
    pub(crate) fn item(&self) -> &Item<'a> {
        &self.item
    }

    fn entry(&mut self, key: &'static str) -> Option<&'a Entry> {
        self.known.push(key);
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The value of a key, null included.
    pub(crate) fn get_or_null(&mut self, key: &'static str) -> Option<Item<'a>> {
        let path = join(&self.item.path, key);
        let decoder = self.item.decoder;
        self.entry(key).map(|entry| Item {
            decoder,
            node: &entry.node,
            path,
        })
    }

    /// The value of a key; nothing when it is absent or null.
    pub(crate) fn get(&mut self, key: &'static str) -> Option<Item<'a>> {
        self.get_or_null(key).filter(|item| !item.node.is_null())
    }

    /// The value of a key that must be there.
    pub(crate) fn require(&mut self, key: &'static str, what: &str) -> Option<Item<'a>> {
        let found = self.get(key);
        if found.is_none() {
            let path = join(&self.item.path, key);
            self.item.decoder.error(
                self.item.node.place,
                &path,
                format!("missing: expected {what}"),
            );
        }
        found
    }

    pub(crate) fn string(&mut self, key: &'static str) -> Option<String> {
        self.get(key)?.string()
    }

    pub(crate) fn boolean(&mut self, key: &'static str) -> Option<bool> {
        self.get(key)?.boolean()
    }

    pub(crate) fn u64(&mut self, key: &'static str) -> Option<u64> {
        self.get(key)?.u64()
    }

    pub(crate) fn i64(&mut self, key: &'static str) -> Option<i64> {
        self.get(key)?.i64()
    }

    pub(crate) fn duration(&mut self, key: &'static str) -> Option<Duration> {
        self.get(key)?.duration()
    }

    pub(crate) fn strings(&mut self, key: &'static str) -> Vec<String> {
        self.get(key).map(|item| item.strings()).unwrap_or_default()
    }

    pub(crate) fn one_of<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        self.get(key)?.one_of(words)
    }

    /// The fields of a mapping below a key.
    pub(crate) fn fields(&mut self, key: &'static str) -> Option<Fields<'a>> {
        self.get(key)?.fields()
    }

    /// A key that is taken and changes nothing: a warning that says why.
    pub(crate) fn no_effect(&mut self, key: &'static str, why: &str) {
        self.at_key(
            key,
            Severity::Warning,
            format!("has no effect: {why}"),
            None,
        );
    }

    fn at_key(
        &mut self,
        key: &'static str,
        severity: Severity,
        message: String,
        help: Option<String>,
    ) {
        let path = join(&self.item.path, key);
        let decoder = self.item.decoder;
        if let Some(entry) = self.entry(key).filter(|entry| !entry.node.is_null()) {
            decoder.at_key(severity, entry, &path, message, help);
        }
    }

    /// A key that is taken silently, because what it asks for holds anyway.
    pub(crate) fn accept(&mut self, keys: &[&'static str]) {
        self.known.extend_from_slice(keys);
    }

    /// A key of the Collector that we do not honour: an error that says what to do.
    pub(crate) fn not_yet(&mut self, key: &'static str, help: &str) {
        self.later.push(key);
        self.at_key(
            key,
            Severity::Error,
            "not supported yet".to_owned(),
            Some(help.to_owned()),
        );
    }

    /// Keys that have not been asked for yet.
    pub(crate) fn rest(&self) -> impl Iterator<Item = &'a Entry> {
        self.entries
            .iter()
            .filter(|entry| !self.known.contains(&entry.key.as_str()))
            .filter(|entry| !self.ignored.contains(&entry.key.as_str()))
    }

    /// Ignores unknown keys with a mapping below, each with a warning.
    pub(crate) fn ignore_blocks(&mut self, message: impl Fn(&str) -> String) {
        let blocks = self
            .rest()
            .filter(|entry| matches!(entry.node.value, Value::Map(_)));
        let blocks: Vec<&Entry> = blocks.collect();
        for entry in blocks {
            let path = join(&self.item.path, &entry.key);
            let message = message(&entry.key);
            self.item
                .decoder
                .at_key(Severity::Warning, entry, &path, message, None);
            self.ignored.push(&entry.key);
        }
    }

    /// Takes every key, so that none is reported as unknown.
    pub(crate) fn take_rest(&mut self) {
        self.rest().for_each(|entry| self.item.decoder.hide(entry));
        self.entries = &[];
    }

    fn report_unknown(&self, entry: &Entry) {
        let close = nearest(&entry.key, self.known.iter().copied());
        // `salt hunter2` for `salt: hunter2` is a key without a value.
        let slipped = entry.node.is_null() && close.is_none();
        let key = if slipped { "" } else { &entry.key };
        let path = join_typed(self.item.node, &self.item.path, key);
        let message = match close {
            Some(close) => format!("unknown key; did you mean `{close}`?"),
            None if self.known.is_empty() => "unknown key; no key is expected here".to_owned(),
            None => "unknown key".to_owned(),
        };
        let help = (close.is_none() && !self.known.is_empty()).then(|| {
            let mut known = self.known.clone();
            known.sort_unstable();
            known.dedup();
            format!("known here: `{}`", known.join("`, `"))
        });
        self.item
            .decoder
            .at_key(Severity::Error, entry, &path, message, help);
    }
}

impl Drop for Fields<'_> {
    fn drop(&mut self) {
        #[cfg(test)]
        asked::record(&self.item.path, &self.known, &self.later);
        for entry in self.rest() {
            self.report_unknown(entry);
        }
    }
}

/// What the decoder asked for, for the test that compares the schema with it.
#[cfg(test)]
pub(crate) mod asked {
    use std::cell::RefCell;

    /// A path and the keys that are taken there.
    pub(crate) type Asked = Vec<(String, Vec<&'static str>)>;

    thread_local! {
        static ASKED: RefCell<Asked> = const { RefCell::new(Vec::new()) };
    }

    /// Runs something and gives what it asked for.
    pub(crate) fn while_running<T>(run: impl FnOnce() -> T) -> (T, Asked) {
        ASKED.with_borrow_mut(Vec::clear);
        let out = run();
        (out, ASKED.take())
    }

    pub(crate) fn record(path: &str, known: &[&'static str], later: &[&'static str]) {
        let taken = known
            .iter()
            .filter(|key| !later.contains(key))
            .copied()
            .collect();
        ASKED.with_borrow_mut(|asked| asked.push((path.to_owned(), taken)));
    }
}
