//! The compiler's part for rules over model calls: what one span can say becomes a bit, what needs sums reads features.

use super::call_rule::CallRule;
use super::call_test::{CallTest, bytes, set_of};
use super::compiler::Compiler;
use super::prices::picos;
use super::program::Rule;

impl Compiler<'_> {
    pub(super) fn call_rule(&mut self, rule: &CallRule) -> Rule {
        let test = match rule {
            CallRule::TokenCount { of, min, max } => {
                let (of, min, max) = (*of, *min, *max);
                return self.over_features(Rule::Tokens { of, min, max });
            }
            CallRule::TokenRatio { of, to, min, max } => {
                let (of, to, min, max) = (*of, *to, *min, *max);
                return self.over_features(Rule::Ratio { of, to, min, max });
            }
            CallRule::Cost { .. } => return self.cost(rule),
            CallRule::CacheHit { hit } => return self.cache_hit(*hit),
            CallRule::FinishReason { reasons } => CallTest::Finished(set_of(reasons)),
            CallRule::EvaluationScore {
                name,
                above,
                below,
                labels,
            } => CallTest::Judged {
                name: name.as_bytes().into(),
                above: *above,
                below: *below,
                labels: bytes(labels),
            },
            CallRule::ToolError { tools } => CallTest::ToolFailed(bytes(tools)),
            CallRule::GenAiError { types } => CallTest::Failed(bytes(types)),
        };
        Rule::Bit(self.atoms.call(test))
    }

    /// A rule that reads the features of a trace has them folded.
    pub(super) fn over_features(&mut self, rule: Rule) -> Rule {
        self.atoms.want_records();
        self.program.features = true;
        rule
    }

    fn cost(&mut self, rule: &CallRule) -> Rule {
        let CallRule::Cost {
            prices,
            unknown_matches,
            min,
            max,
        } = rule
        else {
            return Rule::Always;
        };
        let in_atoms = self.atoms.prices(prices, *unknown_matches);
        let tables = &mut self.program.prices;
        let table = tables.iter().position(|table| *table == in_atoms);
        let table = table.unwrap_or_else(|| {
            tables.push(in_atoms);
            tables.len() - 1
        });
        self.over_features(Rule::Cost {
            table,
            min: picos(*min),
            max: picos(*max),
        })
    }

    fn cache_hit(&mut self, hit: bool) -> Rule {
        let was_hit = Rule::Bit(self.atoms.call(CallTest::CacheHit));
        if hit {
            return was_hit;
        }
        let missed = Rule::Bit(self.atoms.call(CallTest::CacheMissed));
        Rule::All(vec![missed, Rule::Not(Box::new(was_hit))])
    }
}
