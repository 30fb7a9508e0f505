//! What can be wrong with an exporter when it is built.
//!
//! Every one is for the user to put right in the config or on the machine; none is worth an automatic retry. Texts name
//! the key, never a value: an endpoint may hold a password.

/// An exporter that cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum ExporterError {
    /// A setting that cannot be used.
    #[error("exporter {id}: {key}: {problem}")]
    Setting {
        /// The exporter's id.
        id: String,
        /// The key below it, dotted.
        key: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// The machine says no: a file that cannot be read or written.
    #[error("exporter {id}: {key}: {what}: {source}")]
    Io {
        /// The exporter's id.
        id: String,
        /// The key below it that names the file, dotted.
        key: &'static str,
        /// What was tried.
        what: String,
        /// The answer of the operating system.
        source: std::io::Error,
    },
}

/// A problem below `build`, before it is known whose.
#[derive(Debug)]
pub(crate) struct Problem {
    key: &'static str,
    text: String,
    source: Option<std::io::Error>,
}

impl Problem {
    pub(crate) fn new(key: &'static str, text: impl Into<String>) -> Self {
        Self {
            key,
            text: text.into(),
            source: None,
        }
    }

    pub(crate) fn io(key: &'static str, what: impl Into<String>, source: std::io::Error) -> Self {
        Self {
            key,
            text: what.into(),
            source: Some(source),
        }
    }

    pub(crate) fn of(self, id: &str) -> ExporterError {
        let (id, key) = (id.to_owned(), self.key);
        match self.source {
            None => ExporterError::Setting {
                id,
                key,
                problem: self.text,
            },
            Some(source) => ExporterError::Io {
                id,
                key,
                what: self.text,
                source,
            },
        }
    }
}
