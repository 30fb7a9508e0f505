//! The metrics page: every family filled from its source, then printed.

use super::families;
use super::page::Page;
use super::sources::Sources;
use super::spelling::Spelling;
use parking_lot::Mutex;

/// The metrics of one pipeline process.
pub struct Metrics {
    sources: Sources,
    /// Filling and printing is one step: two scrapes at once would each print half of the other's.
    page: Mutex<Page>,
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metrics")
            .field("sources", &self.sources)
            .finish_non_exhaustive()
    }
}

impl Metrics {
    /// The metrics of these parts.
    #[must_use]
    pub fn new(sources: Sources, spelling: Spelling) -> Self {
        Self {
            sources,
            page: Mutex::new(Page::new(spelling)),
        }
    }

    /// The page in Prometheus' text format, version 0.0.4. Reads a few bytes of a file and may wait for a write to the
    /// log: not for an async thread.
    #[must_use]
    pub fn render(&self) -> String {
        let page = self.page.lock();
        families::fill(&page, &self.sources);
        page.render()
    }
}
