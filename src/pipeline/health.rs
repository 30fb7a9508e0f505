//! Whether a pipeline is ready, and why not.

use crate::admin::Observe;
use crate::sampler::Pulse;
use parking_lot::RwLock;
use std::sync::{Arc, OnceLock};

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
pub struct Health {
    state: Arc<RwLock<Readiness>>,
    /// Workers by pipeline: one that has ended by itself is a failure.
    workers: Arc<OnceLock<Vec<(String, Pulse)>>>,
    /// What keeps it from deciding or taking spans at the moment, and may pass.
    trouble: Arc<RwLock<Option<String>>>,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            state: Arc::new(RwLock::new(Readiness::Starting)),
            workers: Arc::default(),
            trouble: Arc::default(),
        }
    }
}

impl Health {
    /// The state now.
    #[must_use]
    pub fn get(&self) -> Readiness {
        let state = self.state.read().clone();
        if state != Readiness::Ready {
            return state;
        }
        let ended = self
            .workers
            .get()
            .into_iter()
            .flatten()
            .find(|(_, pulse)| pulse.has_ended());
        if let Some((pipeline, _)) = ended {
            return Readiness::Failed(format!("the worker of {pipeline} has ended; restart"));
        }
        self.trouble.read().clone().map_or(state, Readiness::Failed)
    }

    /// What is wrong, or that nothing is any more.
    #[cfg_attr(not(feature = "kafka"), allow(dead_code))]
    pub(crate) fn trouble(&self, trouble: Option<String>) {
        *self.trouble.write() = trouble;
    }

    pub(crate) fn set(&self, readiness: Readiness) {
        *self.state.write() = readiness;
    }

    /// These must run for as long as it is ready. Told once.
    pub(crate) fn watch(&self, workers: Vec<(String, Pulse)>) {
        drop(self.workers.set(workers));
    }
}

impl Observe for Health {
    fn ready(&self) -> Result<(), String> {
        match self.get() {
            Readiness::Ready => Ok(()),
            Readiness::Starting => Err("starting".to_owned()),
            Readiness::Stopping => Err("stopping".to_owned()),
            Readiness::Failed(reason) => Err(reason),
        }
    }
}
