//! Whether a pipeline is ready, and why not.

use parking_lot::RwLock;
use std::sync::Arc;

/// The state that `/readyz` tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// Not all parts run yet.
    Starting,
    /// Spans are taken and decided.
    Ready,
    /// A part has failed; the text says which, and what to do.
    Failed(String),
    /// No more spans are taken.
    Stopping,
}

/// A shared [`Readiness`].
#[derive(Debug, Clone)]
pub struct Health(Arc<RwLock<Readiness>>);

impl Default for Health {
    fn default() -> Self {
        Self(Arc::new(RwLock::new(Readiness::Starting)))
    }
}

impl Health {
    /// The state now.
    #[must_use]
    pub fn get(&self) -> Readiness {
        self.0.read().clone()
    }

    pub(crate) fn set(&self, readiness: Readiness) {
        *self.0.write() = readiness;
    }
}
