//! FNV-1a, 32 bits: what the Collector's sampler hashes with.

const OFFSET: u32 = 0x811c_9dc5;
const PRIME: u32 = 0x0100_0193;

pub(super) fn fnv1a_32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(OFFSET, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(PRIME)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the FNV reference's test vectors.
    #[test]
    fn is_fnv() {
        let check = |text: &str, expected| assert_eq!(fnv1a_32(text.as_bytes()), expected);
        check("", 0x811c_9dc5);
        check("a", 0xe40c_292c);
        check("foobar", 0xbf9c_f968);
    }
}
