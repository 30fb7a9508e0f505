//! MurmurHash3 with seed 0: the 32-bit hash and the 128-bit hash for 64-bit machines (A. Appleby, public domain).

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// A number from up to eight bytes, the first one lowest.
fn low_first(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |value, byte| value << 8 | u64::from(*byte))
}

pub(super) fn of_32_bits(text: &[u8]) -> u32 {
    let mix = |bytes: &[u8]| {
        let block = u32::try_from(low_first(bytes)).unwrap_or(0);
        block
            .wrapping_mul(0xcc9e_2d51)
            .rotate_left(15)
            .wrapping_mul(0x1b87_3593)
    };
    let mut blocks = text.chunks_exact(4);
    let mut hash = 0_u32;
    for block in &mut blocks {
        hash = (hash ^ mix(block))
            .rotate_left(13)
            .wrapping_mul(5)
            .wrapping_add(0xe654_6b64);
    }
    hash ^= mix(blocks.remainder());
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the hash takes the low half"
    )]
    let length = text.len() as u32;
    hash ^= length;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

fn first(block: u64) -> u64 {
    block.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

fn second(block: u64) -> u64 {
    block.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

fn finish(mut hash: u64) -> u64 {
    hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

pub(super) fn of_128_bits(text: &[u8]) -> (u64, u64) {
    let (mut low, mut high) = (0_u64, 0_u64);
    let mut blocks = text.chunks_exact(16);
    for block in &mut blocks {
        let (a, b) = block.split_at(8);
        low = (low ^ first(low_first(a)))
            .rotate_left(27)
            .wrapping_add(high);
        low = low.wrapping_mul(5).wrapping_add(0x52dc_e729);
        high = (high ^ second(low_first(b)))
            .rotate_left(31)
            .wrapping_add(low);
        high = high.wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let rest = blocks.remainder();
    let (a, b) = rest.split_at_checked(8).unwrap_or((rest, &[]));
    high ^= second(low_first(b));
    low ^= first(low_first(a));
    let length = text.len() as u64;
    (low, high) = (low ^ length, high ^ length);
    low = low.wrapping_add(high);
    high = high.wrapping_add(low);
    (low, high) = (finish(low), finish(high));
    low = low.wrapping_add(high);
    (low, high.wrapping_add(low))
}
