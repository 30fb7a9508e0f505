//! The table's text to lines of words, each with its place.
//!
//! A line is a section (`[keys]`), a comment (`#`), or words apart by blanks; a word with `=` behind the fixed ones, or one
//! of the marks without, is an option. `~` in a word stands for a blank.

/// A line that cannot be read, by its place and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{source_name}:{line}:{column}: {what}")]
pub struct TableError {
    /// Which text.
    pub source_name: &'static str,
    /// From 1.
    pub line: usize,
    /// From 1, in bytes.
    pub column: usize,
    /// What is wrong, without the value.
    pub what: &'static str,
}

/// One line under its section.
#[derive(Debug, Clone)]
pub(super) struct Line<'a> {
    pub(super) section: &'a str,
    words: Vec<(usize, &'a str)>,
    source_name: &'static str,
    number: usize,
    length: usize,
}

impl<'a> Line<'a> {
    /// The word at `index`.
    pub(super) fn word(&self, index: usize) -> Result<&'a str, TableError> {
        self.words
            .get(index)
            .map(|(_, word)| *word)
            .ok_or_else(|| self.wrong(index, "a word is missing"))
    }

    /// The words from `index` on.
    pub(super) fn words_from(&self, index: usize) -> impl Iterator<Item = (usize, &'a str)> {
        self.words
            .iter()
            .enumerate()
            .skip(index)
            .map(|(index, (_, word))| (index, *word))
    }

    /// What `read` makes of the word at `index`.
    pub(super) fn read<T>(
        &self,
        index: usize,
        what: &'static str,
        read: impl FnOnce(&'a str) -> Option<T>,
    ) -> Result<T, TableError> {
        read(self.word(index)?).ok_or_else(|| self.wrong(index, what))
    }

    /// An error at the word.
    pub(super) fn wrong(&self, index: usize, what: &'static str) -> TableError {
        TableError {
            source_name: self.source_name,
            line: self.number,
            column: self.words.get(index).map_or(self.length, |(at, _)| *at) + 1,
            what,
        }
    }
}

/// The lines of one text that say something.
pub(super) fn lines<'a>(
    source_name: &'static str,
    text: &'a str,
) -> Result<Vec<Line<'a>>, TableError> {
    let mut section = "";
    let mut out = Vec::new();
    for (number, text) in text.lines().enumerate() {
        let bare = text.trim();
        if bare.is_empty() || bare.starts_with('#') {
            continue;
        }
        let line = Line {
            section,
            words: words(text),
            source_name,
            number: number + 1,
            length: text.len(),
        };
        // A placeholder may look like a section: only a lone lower-case word in brackets is one.
        match bare
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            Some(name) if name.bytes().all(|byte| byte.is_ascii_lowercase()) => section = name,
            _ if section.is_empty() => {
                return Err(line.wrong(0, "a line stands before any section"));
            }
            _ => out.push(line),
        }
    }
    Ok(out)
}

fn words(line: &str) -> Vec<(usize, &str)> {
    line.split_ascii_whitespace()
        .map(|word| (word.as_ptr().addr() - line.as_ptr().addr(), word))
        .collect()
}

/// A word's meaning: `~` stands for a blank.
pub(super) fn spaced(word: &str) -> Box<[u8]> {
    word.replace('~', " ").into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_their_place() {
        let text = "# note\n[keys]\n\n a.b   input_tokens  \n";
        let lines = lines("test", text).unwrap();
        assert_eq!(lines.len(), 1);
        assert_eq!(
            (lines[0].section, lines[0].word(1)),
            ("keys", Ok("input_tokens"))
        );
        let error = lines[0].wrong(1, "wrong");
        assert_eq!(error.to_string(), "test:4:8: wrong");
        let missing = lines[0].word(2).unwrap_err();
        assert_eq!(missing.to_string(), "test:4:22: a word is missing");
    }

    #[test]
    fn a_line_needs_a_section() {
        let error = lines("test", "a b").unwrap_err();
        assert_eq!(
            error.to_string(),
            "test:1:1: a line stands before any section"
        );
    }
}
