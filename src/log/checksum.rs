//! CRC32C, the checksum of everything on disk.

use crc_fast::{CrcAlgorithm, Digest};

/// CRC32C of `bytes`.
pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    narrow(crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, bytes))
}

/// CRC32C of `parts` laid end to end.
pub(crate) fn crc32c_of(parts: &[&[u8]]) -> u32 {
    if let [only] = parts {
        return crc32c(only);
    }
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    for part in parts {
        digest.update(part);
    }
    narrow(digest.finalize())
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "a 32-bit checksum in a 64-bit word"
)]
fn narrow(word: u64) -> u32 {
    word as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_the_published_check_value() {
        // RFC 3720 B.4 and the CRC catalogue's check value for CRC-32/ISCSI.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c_of(&[b"1234", b"", b"56789"]), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    }
}
