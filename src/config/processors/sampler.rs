//! `probabilistic_sampler`, with the Collector's defaults.

use super::super::item::Item;
use crate::processors::{ProbabilisticSettings, SamplerMode};

/// The Collector's default.
const PRECISION: u64 = 4;
/// A threshold has 14 hexadecimal digits.
const MAX_PRECISION: u64 = 14;
/// 2^-56, in percent.
const LEAST: f64 = 100.0 / (1_u64 << 56) as f64;

pub(super) fn decode(item: &Item<'_>) -> Option<ProbabilisticSettings> {
    let mut fields = item.fields()?;
    let percentage = match fields.get("sampling_percentage") {
        Some(item) => percentage(&item),
        None => {
            item.warning("no `sampling_percentage`: only spans with a `sampling.priority` pass");
            Some(0.0)
        }
    };
    let hash_seed = fields
        .get("hash_seed")
        .map_or(Some(0), |item| item.u64_in(0, u32::MAX.into()));
    let modes = [
        ("hash_seed", SamplerMode::HashSeed),
        ("proportional", SamplerMode::Proportional),
        ("equalizing", SamplerMode::Equalizing),
        ("", SamplerMode::HashSeed),
    ];
    let mode = fields
        .get("mode")
        .map_or(Some(SamplerMode::HashSeed), |item| item.one_of(&modes));
    let precision = fields
        .get("sampling_precision")
        .map_or(Some(PRECISION), |item| item.u64_in(1, MAX_PRECISION));
    let fail_closed = fields.boolean("fail_closed").unwrap_or(true);
    for key in ["attribute_source", "from_attribute", "sampling_priority"] {
        fields.no_effect(key, "it is for logs");
    }
    Some(ProbabilisticSettings {
        percentage: percentage?,
        hash_seed: u32::try_from(hash_seed?).ok()?,
        mode: mode?,
        precision: u32::try_from(precision?).ok()?,
        fail_closed,
    })
}

/// Kept in 32 bits, as there: 0.1 is a little more.
fn percentage(item: &Item<'_>) -> Option<f32> {
    let value = item.f64()?;
    #[allow(clippy::cast_possible_truncation, reason = "as the Collector keeps it")]
    let narrow = value as f32;
    let wide = f64::from(narrow);
    if !wide.is_finite() || wide < 0.0 || (wide > 0.0 && wide < LEAST) {
        item.error("out of range: expected a number of percent, 0 or from 1.4e-15 on");
        return None;
    }
    Some(narrow)
}
