//! Differences that stay, each with its reason. What is listed here and differs no more is a failure, too.

/// One row: in which runs (by name; none: in all), which case, the beginning of the line that tells the difference.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) runs: &'static [&'static str],
    pub(crate) case: &'static str,
    pub(crate) difference: &'static str,
    #[allow(dead_code, reason = "for who reads it")]
    pub(crate) reason: &'static str,
}

const fn row(case: &'static str, difference: &'static str, reason: &'static str) -> Accepted {
    Accepted {
        runs: &[],
        case,
        difference,
        reason,
    }
}

const NO_BOUNDS: &str = "the Collector starts and crashes with a nil pointer at the first decision";
const WRAPS: &str =
    "the Collector wraps the number around to the most negative one, which keeps every trace";
const STALLS: &str = "the Collector takes no more traces for good, and no longer ends at SIGTERM";

/// A policy that the file of a case is read without, since it would be refused: what it alone says is accepted below.
pub(crate) const LEFT_OUT: &[(&str, &str)] = &[("ottl-functions", "c052")];
const CLOCK: &str = "`Now() > start_time` is an error when the file is read: a decision is a function of the trace alone, so that a \
     replay gives it again and a checker can prove it";

pub(crate) const ACCEPTED: &[Accepted] = &[
    row(
        "config-duration-negative",
        "outcome: refused, want ran",
        "a negative wait is a slip; the Collector waits a second",
    ),
    row(
        "config-duration-without-unit",
        "outcome: refused, want ran",
        "the Collector reads nanoseconds and waits a second",
    ),
    row(
        "config-percentage-nan",
        "outcome: refused, want crashed",
        "the Collector panics at start",
    ),
    row(
        "config-span-count-too-large",
        "outcome: refused, want ran",
        WRAPS,
    ),
    row(
        "config-threshold-too-large",
        "outcome: refused, want ran",
        WRAPS,
    ),
    row(
        "numeric-no-bounds",
        "outcome: refused, want crashed",
        NO_BOUNDS,
    ),
    row(
        "numeric-no-bounds-idle",
        "outcome: refused, want ran",
        NO_BOUNDS,
    ),
    row("block-on-overflow", "trace 2f1d", STALLS),
    row("block-on-overflow", "trace 5c7e", STALLS),
    row("block-on-overflow", "trace 6e6a", STALLS),
    row("block-on-overflow", "trace 71f4", STALLS),
    row("block-on-overflow", "trace 9222", STALLS),
    row("block-on-overflow", "trace eb82", STALLS),
    row("block-on-overflow", "failed sends", STALLS),
    row("block-on-overflow", "metric ", STALLS),
    row("ottl-functions", "votes 0 of c052", CLOCK),
    row("ottl-functions", "votes 1 of c052", CLOCK),
    row(
        "ottl-functions",
        "metric count_traces_sampled{decision=\"sampled\",policy=\"c052\"",
        CLOCK,
    ),
    row(
        "ottl-functions",
        "metric sampling_policy_execution_count{policy=\"c052\"",
        CLOCK,
    ),
];

impl Accepted {
    fn is_of(&self, run: &str, case: &str) -> bool {
        self.case == case && (self.runs.is_empty() || self.runs.contains(&run))
    }
}

/// Takes away what is accepted; adds what is accepted in vain.
pub(crate) fn unexplained(run: &str, case: &str, found: &[String]) -> Vec<String> {
    let rows: Vec<&Accepted> = ACCEPTED.iter().filter(|row| row.is_of(run, case)).collect();
    let explains = |row: &Accepted, line: &String| line.starts_with(row.difference);
    let in_vain = rows
        .iter()
        .filter(|row| !found.iter().any(|line| explains(row, line)))
        .map(|row| format!("accepted, but not so any more: {}", row.difference));
    found
        .iter()
        .filter(|line| !rows.iter().any(|row| explains(row, line)))
        .cloned()
        .chain(in_vain)
        .collect()
}
