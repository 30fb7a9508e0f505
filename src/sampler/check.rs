//! Proves a stopped log: every decision follows from the records and what its entry says it saw.
//!
//! For each entry the pieces between its first and last are folded anew; skeleton + what the entry carries must give its
//! verdict. The state that an `undecided` entry gives is that of the pieces it names, and the trace's decision has all of
//! these. One decision for each life of a trace, every piece in at most one entry, late pieces as their decision, and
//! for the evidence `complete` no piece left out that came before its tick.

use super::check_amended::AmendedCheck;
use super::check_waiting::WaitingCheck;
use super::entry::{BatchMeta, Decision, Entries, Entry, Extent, address};
use super::evidence::Evidence;
use super::packed::PackedRef;
use super::recovery::seconds;
use super::scanned::{Scanned, ScannedPiece, Scanning};
use super::service_modes::ServiceModes;
use super::settings::Idle;
use super::sources::Sources;
use crate::log::{Directory, FrameMeta, LogError, ReadError, Services, Signal, Stream, pieces};
use crate::otlp::TraceId;
use crate::processors::Chain;
use crate::rules::{Atoms, Features, Fold, ObserverScratch, Program, Recorded, State, Verdict};
use hashbrown::{HashMap, HashSet};

/// Problems that are written out; all are counted.
const SHOWN: usize = 50;

/// What the checker found.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct CheckReport {
    /// Decisions, late pieces not counted.
    pub decisions: u64,
    /// Of these, keeps.
    pub keeps: u64,
    /// Entries of late pieces.
    pub late: u64,
    /// Decisions whose verdict was computed again: all records were there, under the same rules.
    pub proven: u64,
    /// Undecided states that were computed again: all records were there, under the same rules.
    pub states: u64,
    /// Pieces that the mode of their service has decided, under the same rules.
    pub passed: u64,
    /// Amendments whose records were all there.
    pub amendments: u64,
    /// Spans of this pipeline in the log.
    pub spans: u64,
    /// Log records of this pipeline in the log.
    pub records: u64,
    /// Spans and log records that no entry names.
    pub undecided: u64,
    /// Frames and pieces that could not be read.
    pub damaged: u64,
    /// What is wrong, first ones in words.
    pub problems: Vec<String>,
    /// How much is wrong.
    pub problem_count: u64,
}

/// What to check against.
#[derive(Debug)]
pub struct Checked<'a> {
    /// The pipeline's id.
    pub id: &'a str,
    /// Receivers that feed it.
    pub sources: Sources,
    /// Its rules...
    pub program: &'a Program,
    /// ...and their fingerprint: entries of other rule sets are not proven.
    pub rules: u32,
    /// What the words of a state mean; states of other layouts are not proven.
    pub layout: u32,
    /// Processors that spans pass on their way to the rules.
    pub front: &'a Chain,
    /// The table that the program was compiled against.
    pub atoms: &'a Atoms,
    /// For scanning again.
    pub services: &'a Services,
    /// Services that are not sampled at the tail.
    pub modes: &'a ServiceModes,
    /// Whole seconds.
    pub decision_wait: u64,
    /// In place of it.
    pub idle: Option<Idle>,
}

struct Line {
    decision: Decision,
    extent: Extent,
    keep: bool,
    /// Places of a keep: (position, offset).
    places: HashSet<(u64, u32)>,
    rules: u32,
    fold: Fold,
    words: Vec<u64>,
    features: Option<Features>,
    spans: u64,
    records: u64,
    /// Of these, spans that the processors left for the rules.
    seen: u64,
    first_second: Option<u32>,
}

struct Checker<'a> {
    checked: &'a Checked<'a>,
    lines: Vec<Line>,
    by_trace: HashMap<TraceId, Vec<usize>>,
    waiting: WaitingCheck,
    /// Traces of which pieces were erased: their records say no more what they said.
    erased: HashSet<TraceId>,
    amended: AmendedCheck,
    report: CheckReport,
    whole: bool,
}

/// Checks one pipeline of a directory that no daemon has open.
///
/// # Errors
/// When the directory cannot be opened.
pub fn check(directory: &Directory, checked: &Checked<'_>) -> Result<CheckReport, LogError> {
    let decisions = directory.decisions(checked.id)?;
    let spans = directory.spans()?;
    let mut checker = Checker {
        checked,
        lines: Vec::new(),
        by_trace: HashMap::new(),
        waiting: WaitingCheck::default(),
        erased: HashSet::new(),
        amended: AmendedCheck::default(),
        report: CheckReport::default(),
        // Entries that retention took cannot be asked.
        whole: decisions
            .segments()
            .first()
            .is_none_or(|segment| segment.base == 0),
    };
    checker.read_decisions(&decisions);
    checker.waiting.end(checked.program);
    checker.read_spans(&spans);
    checker.prove(spans.start());
    let wrong = std::mem::take(&mut checker.waiting).prove(checked, spans.start());
    checker.report.states = wrong.proven;
    let erased = std::mem::take(&mut checker.erased);
    for trace in wrong.traces.iter().filter(|trace| !erased.contains(*trace)) {
        checker.problem(|| format!("trace {trace}: its state is not that of the pieces it names"));
    }
    let amended = std::mem::take(&mut checker.amended).prove(checked, spans.start());
    checker.report.amendments = amended.proven;
    for (trace, problem) in amended.problems {
        checker.problem(|| format!("trace {trace}: {problem}"));
    }
    Ok(checker.report)
}

impl Checker<'_> {
    fn problem(&mut self, text: impl FnOnce() -> String) {
        self.report.problem_count += 1;
        if self.report.problems.len() < SHOWN {
            self.report.problems.push(text());
        }
    }

    fn read_decisions(&mut self, stream: &Stream) {
        let mut reader = stream.reader(stream.start());
        loop {
            match reader.next() {
                Ok(Some(frame)) => match BatchMeta::unpack(&frame.meta) {
                    Some(meta) => {
                        for entry in Entries::new(&frame.body) {
                            self.take_entry(entry, meta.rules);
                        }
                    }
                    None => self.report.damaged += 1,
                },
                Ok(None) => return,
                Err(error) => {
                    self.report.damaged += 1;
                    if !matches!(error, ReadError::Damaged { .. } | ReadError::Gone { .. }) {
                        return;
                    }
                }
            }
        }
    }

    fn take_entry(&mut self, entry: Entry, rules: u32) {
        let (decision, extent, keep, places) = match entry {
            Entry::Keep(decision, _, refs) if decision.evidence == Evidence::Amendment => {
                return self.take_amendment(&decision, &refs, rules);
            }
            Entry::Keep(decision, _, refs) => {
                let places = refs
                    .iter()
                    .map(|place| (place.place().position, place.place().offset))
                    .collect();
                let extent = decision.extent(&refs);
                (decision, extent, true, places)
            }
            Entry::Drop(decision, extent) => (decision, extent, false, HashSet::new()),
            Entry::Undecided(entry) => return self.waiting.take(*entry),
            Entry::Snapshot(_) | Entry::Limits(_) => return,
        };
        let trace = decision.trace;
        let names = |position, offset| {
            if keep {
                places.contains(&(position, offset))
            } else {
                (extent.first..=extent.last).contains(&position)
            }
        };
        let apart = decision.evidence.is_apart();
        if decision.evidence != Evidence::Late
            && !apart
            && !self.waiting.decide(trace, self.checked.program, names)
        {
            self.problem(|| format!("trace {trace}: its decision leaves out what it had before"));
        }
        let earlier = self
            .by_trace
            .get(&trace)
            .into_iter()
            .flatten()
            .filter_map(|line| self.lines.get(*line))
            .rfind(|line| !line.decision.evidence.is_apart());
        if decision.evidence == Evidence::Late {
            self.report.late += 1;
            let amended = self.amended.is_amended(trace);
            let (known, agrees) = (
                earlier.is_some(),
                earlier.is_none_or(|line| (line.keep || amended) == keep),
            );
            if !known && self.whole {
                self.problem(|| format!("trace {trace}: a late piece without a decision"));
            } else if !agrees {
                self.problem(|| {
                    format!("trace {trace}: a late piece does not follow its decision")
                });
            }
        } else if !apart {
            self.amended.decided(trace);
            self.report.decisions += 1;
            self.report.keeps += u64::from(keep);
        }
        let words = vec![0; self.checked.program.state_words()];
        let (fold, spans, records, seen, first_second) = (Fold::default(), 0, 0, 0, None);
        self.by_trace
            .entry(trace)
            .or_default()
            .push(self.lines.len());
        self.lines.push(Line {
            decision,
            extent,
            keep,
            places,
            rules,
            fold,
            words,
            features: None,
            spans,
            records,
            seen,
            first_second,
        });
    }

    fn take_amendment(&mut self, decision: &Decision, refs: &[PackedRef], rules: u32) {
        let lines = self.by_trace.get(&decision.trace).into_iter().flatten();
        let earlier = lines
            .filter_map(|line| self.lines.get(*line))
            .rfind(|line| !line.decision.evidence.is_apart());
        let dropped = match earlier {
            Some(line) => !line.keep && line.decision.policy.is_none(),
            None => !self.whole,
        };
        let words = self.checked.program.state_words();
        self.amended.take(decision, refs, (rules, words), dropped);
    }

    fn read_spans(&mut self, stream: &Stream) {
        let mut reader = stream.reader(stream.start());
        let mut scratch = ObserverScratch::default();
        loop {
            match reader.next() {
                Ok(Some(frame)) => {
                    let Some(meta) = FrameMeta::unpack(&frame.meta) else {
                        self.report.damaged += 1;
                        continue;
                    };
                    if !self.checked.sources.feed(&meta) {
                        continue;
                    }
                    let with = &mut Scanning {
                        front: self.checked.front,
                        atoms: self.checked.atoms,
                        services: self.checked.services,
                        scratch: &mut scratch,
                    };
                    let (scanned, damaged) = Scanned::from_stored((meta.signal, &frame.body), with);
                    self.report.damaged += damaged;
                    let erased = pieces(&frame.body).flatten().filter(|piece| piece.erased);
                    let erased: HashSet<u32> = erased.map(|piece| piece.offset).collect();
                    let own = |piece: &&ScannedPiece| erased.contains(&piece.offset);
                    let traces = scanned.pieces.iter().filter(own).map(|piece| piece.trace);
                    self.erased.extend(traces);
                    self.take_frame(frame.position, seconds(frame.stamp), &scanned);
                }
                Ok(None) => return,
                Err(error) => {
                    self.report.damaged += 1;
                    if !matches!(error, ReadError::Damaged { .. } | ReadError::Gone { .. }) {
                        return;
                    }
                }
            }
        }
    }

    fn take_frame(&mut self, position: u64, second: u32, scanned: &Scanned) {
        for piece in &scanned.pieces {
            let spans = piece.spans.start as usize..piece.spans.end as usize;
            let place = (position, piece.offset);
            let (checked, facts) = (self.checked, &scanned.facts);
            self.waiting.fold(
                piece.trace,
                place,
                checked,
                facts,
                (scanned.signal, spans.clone(), piece.size.traces),
            );
            match scanned.signal {
                Signal::Traces => self.report.spans += u64::from(piece.taken),
                Signal::Logs => self.report.records += u64::from(piece.taken),
            }
            let named = self.naming(piece.trace, position, piece.offset);
            let trace = piece.trace;
            let size = (scanned.signal, spans, piece.size.traces);
            let dropped = !named.is_empty();
            let amended = (self.amended).fold((trace, place), dropped, checked, facts, size);
            match named[..] {
                [] if amended => {}
                [] => self.report.undecided += u64::from(piece.taken),
                [only] => {
                    self.check_passage(only, piece);
                    self.fold(only, second, scanned, piece);
                }
                _ => self.problem(|| {
                    format!(
                        "trace {trace}: a piece at {position} is in {} entries",
                        named.len()
                    )
                }),
            }
            self.check_in_time(trace, second, named.first().copied());
        }
    }

    /// The lines that name a piece: those of it alone, else those that span it.
    fn naming(&self, trace: TraceId, position: u64, offset: u32) -> Vec<usize> {
        let lines = self.by_trace.get(&trace).map_or(&[][..], Vec::as_slice);
        let naming = |alone: bool| {
            let names = |line: &&usize| {
                self.lines
                    .get(**line)
                    .is_some_and(|line| line.is_of_piece() == alone && line.names(position, offset))
            };
            lines.iter().filter(names).copied().collect::<Vec<_>>()
        };
        let alone = naming(true);
        if alone.is_empty() {
            naming(false)
        } else {
            alone
        }
    }

    /// What the mode of its service has decided is what it decides.
    fn check_passage(&mut self, line: usize, piece: &ScannedPiece) {
        let Some(line) = self.lines.get(line) else {
            return;
        };
        let (evidence, keep) = (line.decision.evidence, line.keep);
        let erased = self.erased.contains(&piece.trace);
        if !evidence.is_of_mode() || line.rules != self.checked.rules || erased {
            return;
        }
        let passage = self.checked.modes.of(piece.service);
        let same = passage.is_some_and(|passage| {
            let keeps = passage.threshold(piece.trace).is_some();
            (passage.evidence(), keeps) == (evidence, keep)
        });
        let trace = piece.trace;
        self.report.passed += 1;
        if !same {
            self.problem(|| format!("trace {trace}: a piece did not have its service's way"));
        }
    }

    fn fold(&mut self, line: usize, second: u32, scanned: &Scanned, piece: &ScannedPiece) {
        let Some(line) = self.lines.get_mut(line) else {
            return;
        };
        line.first_second.get_or_insert(second);
        let spans = piece.spans.start as usize..piece.spans.end as usize;
        match scanned.signal {
            Signal::Traces => line.spans += u64::from(piece.taken),
            Signal::Logs => line.records += u64::from(piece.taken),
        }
        line.seen += spans.len() as u64;
        if line.decision.evidence == Evidence::Early {
            let program = self.checked.program;
            program.begin_piece(&mut line.fold, &mut line.words);
        }
        let (program, facts) = (self.checked.program, &scanned.facts);
        program.fold_leaves(
            scanned.signal,
            self.checked.atoms,
            (&mut line.fold, &mut line.words),
            facts,
            (spans.clone(), piece.size.traces),
        );
        program.fold_features(self.checked.atoms, &mut line.features, facts, spans);
    }

    /// A piece that came before the tick of a `complete` decision is in it, not late.
    fn check_in_time(&mut self, trace: TraceId, second: u32, named: Option<usize>) {
        let Some(line) = named.and_then(|line| self.lines.get(line)) else {
            return;
        };
        if line.decision.evidence != Evidence::Late {
            return;
        }
        let life = self
            .by_trace
            .get(&trace)
            .into_iter()
            .flatten()
            .filter_map(|line| self.lines.get(*line));
        let decided = life.filter(|other| {
            other.decision.evidence == Evidence::Complete && other.extent.first < line.extent.first
        });
        let due = decided
            .max_by_key(|other| other.extent.first)
            .map(|other| self.due(&other.decision));
        if due.is_some_and(|due| u64::from(second) < due) {
            self.problem(|| {
                format!("trace {trace}: a piece that came in time was treated as late")
            });
        }
    }

    fn due(&self, decision: &Decision) -> u64 {
        let (first, last) = (decision.first_second, decision.last_second);
        match self.checked.idle {
            Some(idle) => idle.due(first, last),
            None => u64::from(first) + 1 + self.checked.decision_wait,
        }
    }

    /// Computes every verdict again whose records are all there.
    fn prove(&mut self, start: u64) {
        let lines = std::mem::take(&mut self.lines);
        for line in &lines {
            if line.extent.first < start {
                continue;
            }
            let trace = line.decision.trace;
            if (line.spans, line.records) != (line.extent.spans, line.extent.records) {
                let (found, said) = (line.spans, line.extent.spans);
                let (records, all) = (line.records, line.extent.records);
                self.problem(|| {
                    format!("trace {trace}: its entry names {said} spans and {all} log records, the log has {found} and {records}")
                });
                continue;
            }
            if self.erased.contains(&trace) {
                continue;
            }
            let filtered = line.decision.evidence == Evidence::Filtered;
            if filtered != (line.seen == 0) && line.rules == self.checked.rules {
                self.problem(|| {
                    format!("trace {trace}: its entry is not what the processors make of it")
                });
                continue;
            }
            if line.decision.evidence.unasked() || line.rules != self.checked.rules {
                continue;
            }
            let state = State {
                trace,
                fold: &line.fold,
                words: &line.words,
                features: line.features.as_ref(),
            };
            let program = self.checked.program;
            let mut grants = Recorded {
                answers: line.decision.grants.iter(),
            };
            let verdict = if line.decision.evidence == Evidence::Early {
                let decided = program.decide_piece(state, &mut grants, |_, _| {});
                decided.unwrap_or(Verdict::NONE)
            } else {
                program.decide(state, &line.decision.thresholds, &mut grants, |_, _| {})
            };
            if (verdict.keep, verdict.policy) != (line.keep, line.decision.policy) {
                self.problem(|| {
                    format!(
                        "trace {trace}: its entry says keep={}, the records say {}",
                        line.keep, verdict.keep
                    )
                });
            }
            self.report.proven += 1;
        }
        self.check_lives(&lines);
    }

    /// Two decisions of one id must be two lives: nothing of the second is within the first.
    fn check_lives(&mut self, lines: &[Line]) {
        let by_trace = std::mem::take(&mut self.by_trace);
        for (trace, numbers) in &by_trace {
            let mut last: Option<u64> = None;
            let lines = numbers.iter().filter_map(|number| lines.get(*number));
            for line in lines.filter(|line| !line.decision.evidence.is_apart()) {
                // A late piece may lie in the frame of the one before it.
                let late = line.decision.evidence == Evidence::Late;
                let first = line.extent.first + u64::from(late);
                if last.is_some_and(|last| first <= last) {
                    self.problem(|| {
                        format!("trace {trace}: two entries name the same stretch of the log")
                    });
                }
                let end = if line.is_of_piece() {
                    line.extent.first
                } else {
                    line.extent.last
                };
                last = Some(end.max(last.unwrap_or_default()));
            }
        }
    }
}

impl Line {
    /// It names one piece alone, by its address.
    fn is_of_piece(&self) -> bool {
        self.decision.is_of_piece(self.extent)
    }

    fn names(&self, position: u64, offset: u32) -> bool {
        if self.is_of_piece() {
            self.extent.last == address(position, offset)
        } else if self.keep {
            self.places.contains(&(position, offset))
        } else {
            (self.extent.first..=self.extent.last).contains(&position)
        }
    }
}
