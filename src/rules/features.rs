//! What the model calls of a trace come to: folded where a rule or a consumer asks for it, and of traces with calls only.
//!
//! [`Program::features_of`] makes the features of a piece, [`Features::merge`] joins those of a trace's pieces, in log order.
//! Between pieces they are kept packed. What one span alone can say (a finish reason, a failed tool, a score) is a bit of its
//! facts instead and takes no room here.

use super::atoms::Atoms;
use super::call_rule::Tokens;
use super::facts::Facts;
use super::program::Program;
use super::seen::MOST_KEYS;
use super::values::ValueIds;
use crate::genai::{SpanRecord, Stand, TraceRecord, put, take};
use std::ops::Range;

/// The features of one trace or piece.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Features {
    /// Its model calls; names are value ids of the atoms' table.
    pub record: TraceRecord,
    /// For each price table of the program: what the calls cost, as each place that reports calls saw them.
    costs: Vec<Costs>,
    /// For rules that observe spans: the longest of each key, in the order in which keys were first seen.
    pub(super) longest: Vec<LongestSpan>,
}

/// The longest span of a trace with one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LongestSpan {
    /// Number of the percentile rule.
    pub(super) rule: usize,
    pub(super) key: Vec<u32>,
    time: u64,
}

/// Keys of one rule that a trace keeps apart; spans with further ones are observed and decide nothing.
const MOST_SPAN_KEYS: usize = 16;

/// In picounits, by place.
type Costs = [u64; Stand::ALL.len()];

/// Price tables of one program; a file with more is refused.
pub(crate) const MOST_TABLES: usize = 16;

/// Features as they outlive the process: names are numbers of it, so they go as text.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct FeaturesSnapshot {
    /// The packed form, with places in `names` for names.
    #[prost(bytes = "vec", tag = "1")]
    pub packed: Vec<u8>,
    /// The names.
    #[prost(string, repeated, tag = "2")]
    pub names: Vec<String>,
}

impl Features {
    /// Adds those of a later piece of the trace.
    pub fn merge(&mut self, more: &Self) {
        self.record.merge(&more.record);
        if self.costs.len() < more.costs.len() {
            self.costs.resize(more.costs.len(), Costs::default());
        }
        let costs = self.costs.iter_mut().flatten();
        for (cost, more) in costs.zip(more.costs.iter().flatten()) {
            *cost = cost.saturating_add(*more);
        }
        for span in &more.longest {
            self.add_span(span.rule, &span.key, span.time);
        }
    }

    fn add_span(&mut self, rule: usize, key: &[u32], time: u64) {
        let mut own = self.longest.iter_mut().filter(|span| span.rule == rule);
        if let Some(known) = own.find(|span| span.key == key) {
            known.time = known.time.max(time);
        } else if self.longest_of(rule).count() < MOST_SPAN_KEYS {
            let key = key.to_vec();
            self.longest.push(LongestSpan { rule, key, time });
        }
    }

    /// The longest span of each key under a rule.
    pub(super) fn longest_of(&self, rule: usize) -> impl Iterator<Item = u64> {
        let own = self.longest.iter().filter(move |span| span.rule == rule);
        own.map(|span| span.time)
    }

    fn add(&mut self, record: &SpanRecord<u64>, atoms: &Atoms, tables: &[usize]) {
        self.record.fold(record);
        for (costs, table) in self.costs.iter_mut().zip(tables) {
            let cost = atoms
                .prices
                .get(*table)
                .map_or(0, |prices| prices.cost(record));
            if let Some(sum) = costs.get_mut(record.stand as usize) {
                *sum = sum.saturating_add(cost);
            }
        }
    }

    /// Tokens by tokens; `None` when one is not told, or there is nothing to divide by.
    pub(crate) fn ratio(&self, of: Tokens, to: Tokens) -> Option<f64> {
        let (of, to) = (of.of(&self.record)?, to.of(&self.record)?);
        #[allow(
            clippy::cast_precision_loss,
            reason = "sums of u32 are exact in an f64"
        )]
        let ratio = of as f64 / to as f64;
        (to > 0).then_some(ratio)
    }

    /// What the calls cost by the program's price table of this number: as that place saw it whose tokens are believed.
    pub(crate) fn cost(&self, table: usize) -> Option<u64> {
        let stand = self.record.usage_stand()?;
        self.costs.get(table)?.get(stand as usize).copied()
    }

    /// In few bytes.
    #[must_use]
    pub fn pack(&self) -> Vec<u8> {
        let mut record = Vec::with_capacity(128);
        self.record.pack(&mut record);
        let mut out = Vec::with_capacity(record.len() + 16);
        put(&mut out, record.len() as u64);
        out.extend_from_slice(&record);
        put(&mut out, self.costs.len() as u64);
        self.costs
            .iter()
            .flatten()
            .for_each(|cost| put(&mut out, *cost));
        for span in &self.longest {
            put(&mut out, span.rule as u64);
            put(&mut out, span.time);
            put(&mut out, span.key.len() as u64);
            span.key.iter().for_each(|id| put(&mut out, u64::from(*id)));
        }
        out
    }

    /// What was packed; `None` for bytes that are nothing of the kind.
    #[must_use]
    pub fn unpack(mut bytes: &[u8]) -> Option<Self> {
        let length = usize::try_from(take(&mut bytes)?).ok()?;
        let (record, mut rest) = bytes.split_at_checked(length)?;
        let tables = usize::try_from(take(&mut rest)?).ok()?;
        let mut features = Self {
            record: TraceRecord::unpack(record)?,
            costs: vec![Costs::default(); Some(tables).filter(|tables| *tables <= MOST_TABLES)?],
            longest: Vec::new(),
        };
        for cost in features.costs.iter_mut().flatten() {
            *cost = take(&mut rest)?;
        }
        while !rest.is_empty() {
            let rule = usize::try_from(take(&mut rest)?).ok()?;
            let time = take(&mut rest)?;
            let length = usize::try_from(take(&mut rest)?).ok()?;
            let ids = (0..Some(length).filter(|length| *length <= MOST_KEYS)?)
                .map(|_| u32::try_from(take(&mut rest)?).ok());
            let key = ids.collect::<Option<_>>()?;
            features.longest.push(LongestSpan { rule, key, time });
        }
        Some(features)
    }

    /// For another process.
    #[must_use]
    pub fn save(&self, ids: &ValueIds) -> FeaturesSnapshot {
        let (mut copy, mut names) = (self.clone(), Vec::new());
        copy.map_names(|id| {
            let text = ids.text(u32::try_from(id).unwrap_or_default()).to_string();
            let known = names.iter().position(|name| *name == text);
            known.unwrap_or_else(|| {
                names.push(text);
                names.len() - 1
            }) as u64
        });
        FeaturesSnapshot {
            packed: copy.pack(),
            names,
        }
    }

    /// What another process saved.
    #[must_use]
    pub fn restore(saved: &FeaturesSnapshot, ids: &ValueIds) -> Option<Self> {
        let mut features = Self::unpack(&saved.packed)?;
        features.map_names(|place| {
            let name = usize::try_from(place)
                .ok()
                .and_then(|at| saved.names.get(at));
            let name = name.map_or(&[][..], |name| name.as_bytes());
            u64::from(ids.id(name))
        });
        Some(features)
    }

    fn map_names(&mut self, mut name: impl FnMut(u64) -> u64) {
        self.record.map_names(&mut name);
        for id in self.longest.iter_mut().flat_map(|span| &mut span.key) {
            *id = u32::try_from(name(u64::from(*id))).unwrap_or_default();
        }
    }
}

impl Program {
    /// Has traces' features folded although no rule asks for them.
    pub fn want_features(&mut self) {
        self.features = true;
    }

    /// The features of spans of a piece; `None` when nobody wants them or no span is of a known library. Log records have
    /// none: their evaluations are tested one by one, and a call's span says the rest.
    #[must_use]
    pub fn features_of(
        &self,
        atoms: &Atoms,
        facts: &Facts,
        spans: Range<usize>,
    ) -> Option<Features> {
        if !self.features || facts.of_logs() {
            return None;
        }
        let records = facts.records_of(spans.clone());
        if records.len() == 0 && !self.sees_spans() {
            return None;
        }
        let mut features = Features {
            costs: vec![Costs::default(); self.prices.len()],
            ..Features::default()
        };
        let any = records.len() > 0;
        records.for_each(|(_, record)| features.add(record, atoms, &self.prices));
        if self.sees_spans() {
            self.each_span(atoms, facts, spans, |rule, key, time| {
                features.add_span(rule, key, time);
            });
        }
        (any || !features.longest.is_empty()).then_some(features)
    }

    /// Adds the features of spans of a piece to those of their trace.
    pub fn fold_features(
        &self,
        atoms: &Atoms,
        so_far: &mut Option<Features>,
        facts: &Facts,
        spans: Range<usize>,
    ) {
        if let Some(more) = self.features_of(atoms, facts, spans) {
            match so_far {
                Some(features) => features.merge(&more),
                None => *so_far = Some(more),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::scan;
    use crate::rules::{
        Atoms, AtomsBuilder, Compiler, Observer, ObserverScratch, Semantics, TextKeys,
    };
    use std::sync::Arc;

    /// Of a real library: calls and what stands around them.
    fn recorded() -> Vec<u8> {
        let root = env!("CARGO_MANIFEST_DIR");
        let folder = "tests/fixtures/llm/opentelemetry-instrumentation-langchain-0.62.4";
        let mut files: Vec<_> = std::fs::read_dir(format!("{root}/{folder}"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "pb"))
            .collect();
        files.sort();
        files
            .iter()
            .flat_map(|file| std::fs::read(file).unwrap())
            .collect()
    }

    fn compiled(wanted: bool) -> (Program, Atoms) {
        let mut builder = AtomsBuilder::default();
        let mut program = Compiler::new(&mut builder, Semantics::default())
            .compile(&[])
            .unwrap();
        if wanted {
            builder.want_records();
            program.want_features();
        }
        let atoms = builder
            .build(TextKeys::default(), Arc::new(ValueIds::default()))
            .unwrap();
        (program.link(atoms.bits()), atoms)
    }

    fn facts(atoms: &Atoms, request: &[u8]) -> Facts {
        let mut scratch = ObserverScratch::default();
        let mut observer = Observer::new(atoms, &mut scratch);
        scan(request, &mut observer).unwrap();
        observer.finish()
    }

    #[test]
    fn nothing_is_kept_where_nobody_asks() {
        let (program, atoms) = compiled(false);
        let facts = facts(&atoms, &recorded());
        let spans = facts.len() as usize;
        assert!(spans > 1 && facts.records_of(0..spans).next().is_none());
        assert_eq!(program.features_of(&atoms, &facts, 0..spans), None);
    }

    #[test]
    fn records_follow_their_spans() {
        let (program, atoms) = compiled(true);
        let facts = facts(&atoms, &recorded());
        let spans = facts.len() as usize;
        let start = |facts: &Facts, span: u32| facts.spans[span as usize].start;
        let order: Vec<u32> = (0..facts.len()).rev().collect();
        let mut twice = facts.reordered(&order);
        let count = facts.records_of(0..spans).count();
        assert!(count > 1 && twice.records_of(0..spans).count() == count);
        twice.append(&facts);
        for (span, record) in twice.records_of(0..2 * spans) {
            assert_eq!(record.start, start(&twice, *span));
        }
        assert_eq!(twice.records_of(spans..2 * spans).count(), count);
        let all = program.features_of(&atoms, &facts, 0..spans);
        assert_eq!(program.features_of(&atoms, &twice, spans..2 * spans), all);
        assert!(all.unwrap().record.calls() > 0);
        let without = twice.reordered(&[]);
        assert_eq!(program.features_of(&atoms, &without, 0..spans), None);
    }

    #[test]
    fn pieces_join_and_other_processes_have_other_numbers() {
        let (program, atoms) = compiled(true);
        let facts = facts(&atoms, &recorded());
        let spans = facts.len() as usize;
        let mut joined = None;
        for span in 0..spans {
            program.fold_features(&atoms, &mut joined, &facts, span..span + 1);
            joined = joined.map(|features: Features| Features::unpack(&features.pack()).unwrap());
        }
        let joined = joined.unwrap();
        let saved = joined.save(&atoms.values);
        assert!(!saved.names.is_empty());
        let other = ValueIds::default();
        (0..9).for_each(|n| _ = other.id(&[b'x', n]));
        let restored = Features::restore(&saved, &other).unwrap();
        let model = |features: &Features, ids: &ValueIds| {
            let id = features.record.request_model().unwrap();
            ids.text(u32::try_from(id).unwrap()).to_string()
        };
        assert_eq!(model(&restored, &other), model(&joined, &atoms.values));
        assert_ne!(restored, joined);
        assert_eq!(restored.save(&other), saved);
        assert!(joined.pack().len() <= 110, "{}", joined.pack().len());
    }
}
