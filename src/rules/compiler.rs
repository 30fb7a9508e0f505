//! From policies as the config gives them to a program.

use super::atoms::{AtomsBuilder, Test};
use super::go_regex;
use super::limits::{Budget, Cost, Limiter, divided};
use super::ottl::{Condition, Context, ErrorMode};
use super::probabilistic::Coin;
use super::program::{LATENCY, Latency, PercentileRule, Policy, Program, Rule};
use super::release::Semantics;
use super::spec::{PercentileOf, PolicyKind, PolicySpec, StatusCode};

/// A policy cannot be compiled. The policy's name stands in front.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("policy \"{policy}\": {problem}")]
pub struct CompileError {
    /// The top-level policy.
    pub policy: String,
    /// What is wrong with it.
    pub problem: String,
}

/// Compiles programs against one growing table of atoms; latency bits are placed when the table is complete.
#[derive(Debug)]
pub struct Compiler<'a> {
    pub(super) atoms: &'a mut AtomsBuilder,
    pub(super) program: Program,
    policy: String,
}

impl<'a> Compiler<'a> {
    /// A compiler for one pipeline.
    pub fn new(atoms: &'a mut AtomsBuilder, semantics: Semantics) -> Self {
        if semantics.use_trace_state {
            atoms.want_trace_state();
        }
        if semantics.release.loses_schema_urls() {
            atoms.without_schema_urls();
        }
        let program = Program {
            policies: Vec::new(),
            order: Vec::new(),
            latencies: Vec::new(),
            slots: Vec::new(),
            percentiles: Vec::new(),
            limiters: Vec::new(),
            ordered: Vec::new(),
            joined: Vec::new(),
            semantics,
            prices: Vec::new(),
            features: false,
            fact_bits: 0,
        };
        Self {
            atoms,
            program,
            policy: String::new(),
        }
    }

    /// Compiles all policies. [`Program::link`] must follow, when all programs are compiled.
    ///
    /// # Errors
    /// For an expression that does not compile.
    pub fn compile(mut self, policies: &[PolicySpec]) -> Result<Program, CompileError> {
        for spec in policies {
            self.policy.clone_from(&spec.name);
            let (drops, rule) = match &spec.kind {
                PolicyKind::Drop(children) => (true, self.all(children)?),
                kind => (false, self.rule(kind)?),
            };
            let release = self.program.semantics.release;
            let before = self.program.policies.iter().map(|p| p.children.len());
            let first_child = u16::try_from(before.sum::<usize>()).unwrap_or(u16::MAX);
            self.program.policies.push(Policy {
                name: spec.name.clone(),
                drops,
                votes_inverted: release.inverted_votes() && is_inverted(&spec.kind),
                first_child,
                children: children_of(&spec.kind),
                rule,
            });
        }
        let drops = |index: &usize| {
            self.program
                .policies
                .get(*index)
                .is_some_and(|policy| policy.drops)
        };
        let all = || 0..self.program.policies.len();
        self.program.order = all()
            .filter(drops)
            .chain(all().filter(|index| !drops(index)))
            .collect();
        Ok(self.program)
    }

    fn all(&mut self, children: &[PolicySpec]) -> Result<Rule, CompileError> {
        Ok(Rule::All(
            children
                .iter()
                .map(|child| self.rule(&child.kind))
                .collect::<Result<_, _>>()?,
        ))
    }

    fn rule(&mut self, kind: &PolicyKind) -> Result<Rule, CompileError> {
        Ok(match kind {
            PolicyKind::AlwaysSample => Rule::Always,
            PolicyKind::Latency {
                threshold_ms,
                upper_threshold_ms,
            } => self.latency(*threshold_ms, *upper_threshold_ms),
            PolicyKind::StatusCode { codes } => Rule::Bit(self.atoms.status(mask(codes))),
            PolicyKind::StringAttribute {
                key,
                values,
                enabled_regex_matching,
                invert_match,
                ..
            } => {
                let test = if *enabled_regex_matching {
                    self.expressions(values)?
                } else {
                    one_of(values)
                };
                inverted(*invert_match, self.atoms.attribute(key, test))
            }
            PolicyKind::NumericAttribute {
                key,
                min_value,
                max_value,
                invert_match,
            } => inverted(
                *invert_match,
                self.atoms
                    .attribute(key, Test::Between(*min_value, *max_value)),
            ),
            PolicyKind::BooleanAttribute {
                key,
                value,
                invert_match,
            } => inverted(*invert_match, self.atoms.attribute(key, Test::Is(*value))),
            PolicyKind::Probabilistic {
                sampling_percentage,
                hash_salt,
            } => Rule::Coin(Coin::new(*sampling_percentage, hash_salt)),
            PolicyKind::SpanCount {
                min_spans,
                max_spans,
            } => spans(*min_spans, *max_spans),
            PolicyKind::TraceState { key, values } => {
                Rule::Bit(self.atoms.trace_state(key, values))
            }
            PolicyKind::TraceFlags => Rule::Bit(self.atoms.sampled_flag()),
            PolicyKind::OttlCondition {
                error_mode,
                span,
                spanevent,
            } => self.condition(*error_mode, span, spanevent)?,
            PolicyKind::RateLimiting {
                spans_per_second,
                burst_capacity,
            } => self.limit(Cost::Spans, *spans_per_second, *burst_capacity),
            PolicyKind::BytesLimiting {
                bytes_per_second,
                burst_capacity,
            } => {
                self.atoms.want_sizes();
                self.limit(Cost::Bytes, *bytes_per_second, *burst_capacity)
            }
            PolicyKind::Composite {
                max_total_spans_per_second,
                children,
            } => self.composite(*max_total_spans_per_second, children)?,
            PolicyKind::And(children) | PolicyKind::Drop(children) => self.all(children)?,
            PolicyKind::Not(child) => Rule::Not(Box::new(self.rule(&child.kind)?)),
            PolicyKind::PromptKeyword { .. } | PolicyKind::PromptRegex { .. } => {
                self.texts(kind)?
            }
            PolicyKind::LatencyPercentile { .. } => self.percentile(kind)?,
            PolicyKind::Calls(rule) => self.call_rule(rule)?,
        })
    }

    fn latency(&mut self, over_ms: i64, up_to_ms: i64) -> Rule {
        let bit = u32::try_from(self.program.latencies.len()).unwrap_or(u32::MAX);
        self.program.latencies.push(Latency {
            over_ms,
            up_to_ms,
            bit,
        });
        // The place of the bit is not known before all atoms are: `link` moves it.
        Rule::Bit(LATENCY | bit)
    }

    fn condition(
        &mut self,
        mode: ErrorMode,
        span: &[String],
        events: &[String],
    ) -> Result<Rule, CompileError> {
        let parse = |texts: &[String], context| {
            let parsed = texts.iter().map(|text| Condition::parse(text, context));
            parsed.collect::<Result<Vec<_>, _>>()
        };
        let parsed = parse(span, Context::Span)
            .and_then(|span| Ok((span, parse(events, Context::SpanEvent)?)));
        let (span, events) = parsed.map_err(|error| self.error(&error.to_string()))?;
        let (matched, failed) = self.atoms.condition(mode, span, events);
        if mode == ErrorMode::Propagate {
            self.program.ordered.push((matched, failed));
        }
        Ok(Rule::Condition { matched, failed })
    }

    fn limit(&mut self, cost: Cost, rate: i64, burst: i64) -> Rule {
        let (release, parts) = (
            self.program.semantics.release,
            self.program.semantics.parts(),
        );
        let name = self.limiter_name();
        // Only a bucket of its own is counted otherwise in old releases: there were no bytes then.
        let limiter = Limiter::rate(name, cost, rate, burst, parts, release);
        self.program.limiters.push(limiter);
        Rule::Limit(self.program.limiters.len() - 1)
    }

    /// The policy, and its how manieth budget.
    fn limiter_name(&self) -> String {
        let same = |limiter: &&Limiter| limiter.name.starts_with(&format!("{}/", self.policy));
        let before = self.program.limiters.iter().filter(same).count();
        format!("{}/{before}", self.policy)
    }

    fn composite(
        &mut self,
        most: i64,
        children: &[(PolicySpec, Option<i64>)],
    ) -> Result<Rule, CompileError> {
        let release = self.program.semantics.release;
        let most = divided(most, self.program.semantics.parts());
        let equal = most / i64::try_from(children.len().max(1)).unwrap_or(i64::MAX);
        let mut rules = Vec::new();
        for (child, percent) in children {
            let rule = self.rule(&child.kind)?;
            let per_second = match percent {
                Some(percent) if *percent > 0 => percent_of(most, *percent),
                None if release.missing_allocation_is_zero() => 0,
                _ => equal,
            };
            self.program.limiters.push(Limiter {
                name: self.limiter_name(),
                budget: Budget::Share { per_second, most },
                cost: Cost::Spans,
                cuts: false,
            });
            rules.push((rule, self.program.limiters.len() - 1));
        }
        Ok(Rule::Composite(rules))
    }

    fn percentile(&mut self, kind: &PolicyKind) -> Result<Rule, CompileError> {
        let PolicyKind::LatencyPercentile {
            percentile,
            by,
            floor_ms,
            warmup_ms,
            min_count,
            of,
            by_tokens,
        } = kind
        else {
            return Ok(Rule::Always);
        };
        let slots = by.iter().map(|key| self.slot(key)).collect();
        let millis = |ms: &u64| ms.saturating_mul(1_000_000);
        #[allow(clippy::cast_precision_loss, reason = "a count far below 2^52")]
        let min_count = *min_count as f64;
        self.program.percentiles.push(PercentileRule {
            name: self.policy.clone(),
            percentile: *percentile,
            floor_ns: millis(floor_ms),
            warmup_ns: millis(warmup_ms),
            min_count,
            slots,
            tokens: *by_tokens,
            of: *of,
        });
        let rule = Rule::Slower(self.program.percentiles.len() - 1);
        if *of == PercentileOf::Trace && by_tokens.is_none() {
            return Ok(rule);
        }
        if *of == PercentileOf::Span && by_tokens.is_none() {
            // What spans say for themselves needs no record of calls.
            self.program.features = true;
            return Ok(rule);
        }
        Ok(self.over_features(rule))
    }

    fn slot(&mut self, key: &str) -> usize {
        let slot = self.atoms.slot(key);
        self.program
            .slots
            .iter()
            .position(|other| *other == slot)
            .unwrap_or_else(|| {
                self.program.slots.push(slot);
                self.program.slots.len() - 1
            })
    }

    fn expressions(&self, values: &[String]) -> Result<Test, CompileError> {
        let compiled = values.iter().map(|value| go_regex::compile(value));
        Ok(Test::Matches(
            compiled
                .collect::<Result<_, _>>()
                .map_err(|problem| self.error(&problem))?,
        ))
    }

    /// What is looked for in prompts and answers.
    fn texts(&mut self, kind: &PolicyKind) -> Result<Rule, CompileError> {
        let bit = match kind {
            PolicyKind::PromptKeyword {
                keywords,
                fields,
                whole_words,
            } => self.atoms.keywords(keywords, *fields, *whole_words),
            PolicyKind::PromptRegex {
                expressions,
                fields,
            } => {
                let compiled = expressions.iter().map(|text| go_regex::compile(text));
                // The engine's message shows the expression, which is as secret as a keyword.
                let compiled = compiled.collect::<Result<Vec<_>, _>>().map_err(|_| {
                    self.error("an expression is no regular expression, or too large")
                })?;
                self.atoms.expressions(compiled, *fields)
            }
            _ => return Ok(Rule::Always),
        };
        Ok(Rule::Bit(bit))
    }

    pub(super) fn error(&self, problem: &str) -> CompileError {
        CompileError {
            policy: self.policy.clone(),
            problem: problem.to_owned(),
        }
    }
}

/// As the Collector: the percentage as a float, times the total, cut off.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "as Go's float64 and its conversion"
)]
fn percent_of(most: i64, percent: i64) -> i64 {
    (percent as f64 / 100.0 * most as f64) as i64
}

fn is_inverted(kind: &PolicyKind) -> bool {
    match kind {
        PolicyKind::StringAttribute { invert_match, .. }
        | PolicyKind::NumericAttribute { invert_match, .. }
        | PolicyKind::BooleanAttribute { invert_match, .. } => *invert_match,
        _ => false,
    }
}

fn children_of(kind: &PolicyKind) -> Vec<String> {
    match kind {
        PolicyKind::Composite { children, .. } => children
            .iter()
            .map(|(child, _)| child.name.clone())
            .collect(),
        _ => Vec::new(),
    }
}

fn spans(min: i32, max: i32) -> Rule {
    let max = if max == 0 { i64::MAX } else { i64::from(max) };
    Rule::Spans {
        min: i64::from(min),
        max,
    }
}

fn mask(codes: &[StatusCode]) -> u8 {
    codes.iter().fold(0, |mask, code| {
        mask | match code {
            StatusCode::Unset => 1,
            StatusCode::Ok => 2,
            StatusCode::Error => 4,
        }
    })
}

fn one_of(values: &[String]) -> Test {
    Test::OneOf(
        values
            .iter()
            .filter(|value| !value.is_empty())
            .map(|value| value.as_bytes().into())
            .collect(),
    )
}

fn inverted(invert: bool, bit: u32) -> Rule {
    if invert {
        Rule::Not(Box::new(Rule::Bit(bit)))
    } else {
        Rule::Bit(bit)
    }
}
