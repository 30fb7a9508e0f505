//! The coin of the Collector's `probabilistic` policy, bit for bit: a hash of salt and trace id, never a random number.

use crate::otlp::{TraceId, threshold_of};

/// The Collector's, where the file has none.
pub(crate) const DEFAULT_SALT: &str = "default-hash-seed";

/// Keeps a trace when the hash of its id is at or below the threshold.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Coin {
    threshold: u64,
    /// FNV-1a state after the salt.
    seed: u64,
    /// The same share as a threshold of consistent sampling.
    pub(crate) consistent: u64,
}

impl Coin {
    pub(crate) fn new(percentage: f64, salt: &str) -> Self {
        let ratio = percentage / 100.0;
        Self {
            threshold: threshold(ratio),
            seed: fnv(OFFSET_BASIS, salt.as_bytes()),
            consistent: threshold_of(ratio),
        }
    }

    pub(crate) fn keeps(&self, trace: TraceId) -> bool {
        fnv(self.seed, &trace.to_bytes()) <= self.threshold
    }
}

const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

fn fnv(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(PRIME)
    })
}

/// (2^64 - 1) x ratio as Go's `big.Float` computes it: 64 bits of mantissa, to nearest even, then truncated.
fn threshold(ratio: f64) -> u64 {
    if ratio.is_nan() || ratio <= 0.0 {
        return 0;
    }
    if ratio >= 1.0 {
        return u64::MAX;
    }
    let bits = ratio.to_bits();
    let exponent = i64::try_from(bits >> 52).unwrap_or_default();
    let fraction = bits & ((1 << 52) - 1);
    // ratio = significand x 2^scale
    let (significand, scale) = if exponent == 0 {
        (fraction, -1074)
    } else {
        (fraction | 1 << 52, exponent - 1075)
    };
    let product = u128::from(significand) * u128::from(u64::MAX);
    let surplus = (128 - product.leading_zeros()).saturating_sub(64);
    let rounded = round_to_even(product, surplus);
    let shift = -(scale + i64::from(surplus));
    let shift = u32::try_from(shift).unwrap_or_default();
    u64::try_from(rounded.checked_shr(shift).unwrap_or_default()).unwrap_or(u64::MAX)
}

/// `product` without its lowest `surplus` bits, rounded to nearest, ties to even.
fn round_to_even(product: u128, surplus: u32) -> u128 {
    if surplus == 0 {
        return product;
    }
    let (kept, rest) = (product >> surplus, product & ((1 << surplus) - 1));
    let half = 1 << (surplus - 1);
    kept + u128::from(rest > half || (rest == half && kept & 1 == 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_equal_the_collectors() {
        let cases = [
            (0.0, 0),
            (-3.0, 0),
            (0.1, 0x0041_8937_4bc6_a7ef),
            (1.0, 0x028f_5c28_f5c2_8f5f),
            (5.0, 0x0ccc_cccc_cccc_ccff),
            (10.0, 0x1999_9999_9999_99ff),
            (25.0, 0x3fff_ffff_ffff_ffff),
            (33.3, 0x553f_7ced_9168_6fff),
            (50.0, 0x7fff_ffff_ffff_ffff),
            (75.0, 0xbfff_ffff_ffff_ffff),
            (99.0, 0xfd70_a3d7_0a3d_6fff),
            (99.9, 0xffbe_76c8_b439_5fff),
            (100.0, u64::MAX),
            (f64::INFINITY, u64::MAX),
            (1e-320, 0),
        ];
        for (percentage, expected) in cases {
            assert_eq!(
                Coin::new(percentage, "s").threshold,
                expected,
                "{percentage}"
            );
        }
    }

    #[test]
    fn hashes_equal_the_collectors() {
        let cases = [
            (0, "default-hash-seed", 0xe195_36ee_d1bb_ac3d),
            (1, "default-hash-seed", 0xe195_35ee_d1bb_aa8a),
            (
                0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736,
                "default-hash-seed",
                0xa545_33ba_2e49_70b5,
            ),
            (
                0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c,
                "default-hash-seed",
                0x33bf_83d4_5f51_634c,
            ),
            (u128::MAX, "default-hash-seed", 0x17be_c373_9634_fe2d),
            (
                0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736,
                "salt-b",
                0x5619_0356_288e_30be,
            ),
            (
                0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c,
                "salt-b",
                0x2fdf_4c8c_5f00_43c7,
            ),
        ];
        for (id, salt, expected) in cases {
            let coin = Coin::new(50.0, salt);
            assert_eq!(
                fnv(coin.seed, &TraceId(id).to_bytes()),
                expected,
                "{id:x} {salt}"
            );
        }
    }
}
