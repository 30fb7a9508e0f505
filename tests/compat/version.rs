//! The two Collector releases that are followed.

/// A value of `compat_version`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    /// v0.161.0.
    V0161,
    /// v0.165.1, the default.
    V0165,
}

impl Version {
    pub(crate) fn of(name: &str) -> Self {
        match name {
            "0.161" => Self::V0161,
            "0.165" => Self::V0165,
            other => panic!("no release {other}"),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::V0161 => "0.161",
            Self::V0165 => "0.165",
        }
    }

    /// What `--set` has to say. The default says nothing.
    pub(crate) fn overrides(self, processor: &str) -> Vec<String> {
        match self {
            Self::V0165 => Vec::new(),
            Self::V0161 => vec![format!(
                "processors::{processor}::compat_version=\"{}\"",
                self.name()
            )],
        }
    }
}
