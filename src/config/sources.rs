//! The texts of one load: config files, and `--set` overrides as one-line files of their own.

use std::path::{Path, PathBuf};

use super::diagnostic::{Diagnostic, Severity};
use super::node::Place;

/// One text and which of its lines may be shown.
struct Text {
    name: String,
    directory: PathBuf,
    lines: Vec<String>,
    hidden: Vec<bool>,
}

/// All texts, by the index in [`Place::file`].
#[derive(Default)]
pub(crate) struct Sources {
    texts: Vec<Text>,
}

impl Sources {
    /// Adds a text whose lines are hidden until [`Self::show`] says which may be seen. Those of a text that is no YAML stay
    /// hidden: nobody knows what is a key in it.
    pub(crate) fn add(&mut self, name: &str, directory: &Path, text: &str) -> u16 {
        let lines: Vec<String> = text.lines().map(ToOwned::to_owned).collect();
        let hidden = vec![true; lines.len()];
        self.texts.push(Text {
            name: name.to_owned(),
            directory: directory.to_owned(),
            lines,
            hidden,
        });
        u16::try_from(self.texts.len() - 1).unwrap_or(u16::MAX)
    }

    /// Sets which lines are hidden.
    pub(crate) fn show(&mut self, file: u16, hidden: Vec<bool>) {
        if let Some(text) = self.texts.get_mut(usize::from(file)) {
            text.hidden = hidden;
        }
    }

    /// Where relative paths in a place's file begin.
    pub(crate) fn directory(&self, place: Place) -> &Path {
        self.texts
            .get(usize::from(place.file))
            .map_or(Path::new(""), |text| &text.directory)
    }

    /// The name that messages use for a place's file.
    pub(crate) fn name(&self, place: Place) -> &str {
        self.texts
            .get(usize::from(place.file))
            .map_or("config", |text| &text.name)
    }

    /// `line 7`, or `other.yaml line 7` seen from another file.
    pub(crate) fn describe(&self, place: Place, seen_from: Place) -> String {
        if place.file == seen_from.file {
            format!("line {}", place.line)
        } else {
            format!("{} line {}", self.name(place), place.line)
        }
    }

    /// A finding at a place, with its source line if that may be seen.
    pub(crate) fn diagnostic(
        &self,
        severity: Severity,
        place: Place,
        key: &str,
        message: String,
    ) -> Diagnostic {
        let source = self.line(place).map(ToOwned::to_owned);
        let file = self.name(place).to_owned();
        let (line, column) = (place.line, place.column);
        Diagnostic {
            severity,
            file,
            line,
            column,
            key: key.to_owned(),
            message,
            help: None,
            source,
        }
    }

    fn line(&self, place: Place) -> Option<&str> {
        let text = self.texts.get(usize::from(place.file))?;
        let at = usize::try_from(place.line).ok()?.checked_sub(1)?;
        let hidden = text.hidden.get(at).copied().unwrap_or(true);
        text.lines
            .get(at)
            .filter(|_| !hidden)
            .map(|line| without_comment(line))
            .filter(|line| !line.trim().is_empty())
    }
}

/// A comment may be a value that was switched off.
fn without_comment(line: &str) -> &str {
    let starts = |(at, _): &(usize, &str)| {
        line.get(..*at)
            .is_none_or(|before| before.ends_with([' ', '\t']) || *at == 0)
    };
    let end = line
        .match_indices('#')
        .find(starts)
        .map_or(line.len(), |(at, _)| at);
    line.get(..end).unwrap_or_default()
}
