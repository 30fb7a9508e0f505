//! What model calls cost. Prices are per million tokens; sums are kept in millionths of a millionth of the unit, so that
//! adding never rounds.

use super::call_rule::Price;
use super::values::ValueIds;
use crate::genai::{Kind, SpanRecord};
use hashbrown::HashMap;

/// A cost that is not known, and counts as more than any.
pub(crate) const UNKNOWN: u64 = u64::MAX;
/// In one unit.
const PICOS: f64 = 1e12;
/// Tokens that a price is for.
const MILLION: f64 = 1e6;

/// In picounits for each token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PerToken {
    input: u64,
    output: u64,
    cached: u64,
}

/// Prices by model.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct PriceTable {
    by_name: HashMap<u64, PerToken>,
    unknown_matches: bool,
}

impl PriceTable {
    pub(super) fn new(prices: &[Price], unknown_matches: bool, values: &ValueIds) -> Self {
        let by_name = prices.iter().map(|price| {
            let each = PerToken {
                input: picos(price.input / MILLION),
                output: picos(price.output / MILLION),
                cached: picos(price.cached / MILLION),
            };
            (u64::from(values.id(price.model.as_bytes())), each)
        });
        Self {
            by_name: by_name.collect(),
            unknown_matches,
        }
    }

    /// What one call costs; 0 for what is no call or tells no tokens.
    pub(super) fn cost(&self, record: &SpanRecord<u64>) -> u64 {
        let told = record.input_tokens.is_some() || record.output_tokens.is_some();
        if record.kind != Kind::Inference || !told {
            return 0;
        }
        let names = [record.response_model, record.request_model, record.family];
        let price = names
            .into_iter()
            .flatten()
            .find_map(|name| self.by_name.get(&name));
        match price {
            Some(price) => price.of(record),
            None if self.unknown_matches => UNKNOWN,
            None => 0,
        }
    }
}

impl PerToken {
    fn of(self, record: &SpanRecord<u64>) -> u64 {
        let input = record.input_tokens.unwrap_or(0);
        let cached = record.cached_tokens.unwrap_or(0).min(input);
        let parts = [
            (input - cached, self.input),
            (cached, self.cached),
            (record.output_tokens.unwrap_or(0), self.output),
        ];
        let cost = parts.into_iter().fold(0_u64, |sum, (tokens, price)| {
            sum.saturating_add(u64::from(tokens).saturating_mul(price))
        });
        cost.min(UNKNOWN - 1)
    }
}

/// A number of units as picounits; what is too large is the largest that is known.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float that does not fit is cut off at the ends"
)]
pub(super) fn picos(units: f64) -> u64 {
    ((units * PICOS).round() as u64).min(UNKNOWN - 1)
}
