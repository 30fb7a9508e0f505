//! Checked settings of thinning.

use super::pattern::SpanPattern;

/// One entry of `thinning`. The first whose pattern a span meets counts.
#[derive(Debug, Clone, PartialEq)]
pub struct ThinningRule {
    /// Which spans.
    pub spans: SpanPattern,
    /// What is done with them.
    pub thin: Thin,
    /// Names of policies whose traces leave whole, as far as this rule goes.
    pub unless_kept_by: Vec<String>,
}

/// What is done with spans.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Thin {
    /// So many percent of them stay, 0 to 100: a coin by trace and span id.
    Keep(f64),
    /// Siblings of one name become one span when there are at least so many of them; at least 2.
    Fold(usize),
}
