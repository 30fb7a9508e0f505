//! The trace id as a number, so that it hashes, sorts and copies as one word pair.

use std::fmt;

/// A trace id: 16 bytes, read big-endian, so that order and hex text agree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceId(pub u128);

impl TraceId {
    /// The id as it stands on the wire.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// `None` unless `bytes` is 16 bytes long and not all zero (OTLP: an all-zero id is invalid).
    #[must_use]
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        let id = u128::from_be_bytes(bytes.try_into().ok()?);
        (id != 0).then_some(Self(id))
    }

    /// Reads 32 hexadecimal digits of either case.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        if text.len() != 32 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let id = u128::from_str_radix(text, 16).ok()?;
        (id != 0).then_some(Self(id))
    }

    /// The 32 lower-case hexadecimal digits, as bytes.
    #[must_use]
    pub fn hex(self) -> [u8; 32] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut out = [0; 32];
        for (pair, byte) in out.chunks_exact_mut(2).zip(self.to_bytes()) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        out
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
