//! What is wrong with a config, and where.
//!
//! Invariant: neither the message nor the shown source line holds a value that [`super::secret`] calls secret; whoever
//! builds a [`Diagnostic`] goes through [`super::decoder::Decoder`], which sees to it.

use std::fmt;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The config is refused.
    Error,
    /// The config is taken; something in it has no effect or another one than expected.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

/// One finding. `Display` prints it as compilers do: place, severity, key, message, source line, help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// The file, as it was named on the command line.
    pub file: String,
    /// Line, from 1; 0 when there is no place in a file.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Dotted path of the key, `a.b[0].c`; empty when there is none.
    pub key: String,
    /// What is wrong and what was expected.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The source line, when it holds no secret.
    pub source: Option<String>,
}

/// Characters of a source line shown before and after the place.
const BEFORE: usize = 60;
const AFTER: usize = 60;

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        write!(f, ": {}: ", self.severity)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)?;
        if let Some(source) = &self.source {
            write_source(f, source, self.line, self.column)?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n    help: {help}")?;
        }
        Ok(())
    }
}

fn write_source(f: &mut fmt::Formatter<'_>, source: &str, line: u32, column: u32) -> fmt::Result {
    let at = usize::try_from(column).unwrap_or(1).saturating_sub(1);
    let skipped = at.saturating_sub(BEFORE);
    let shown: String = source
        .chars()
        .skip(skipped)
        .take(BEFORE + AFTER)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    write!(f, "\n{line:>5} | {}", shown.trim_end())?;
    write!(f, "\n      | {:indent$}^", "", indent = at - skipped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_place_key_source_and_help() {
        let shown = Diagnostic {
            severity: Severity::Error,
            file: "config.yaml".into(),
            line: 12,
            column: 3,
            key: "a.b[0]".into(),
            message: "unknown key".into(),
            help: Some("leave it out".into()),
            source: Some("\t bad: 1".into()),
        }
        .to_string();
        assert_eq!(
            shown,
            "config.yaml:12:3: error: a.b[0]: unknown key\n   12 |   bad: 1\n      |   ^\n    help: leave it out"
        );
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let source = "x".repeat(10_000);
        let found = Diagnostic {
            severity: Severity::Warning,
            file: "f".into(),
            line: 1,
            column: 5_000,
            key: String::new(),
            message: "m".into(),
            help: None,
            source: Some(source),
        };
        assert!(found.to_string().len() < 250);
    }
}
