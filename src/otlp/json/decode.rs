//! Bytes that JSON carries as text.

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Ids: hex in either case.
pub(super) fn hex_bytes(text: &[u8]) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    pairs
        .iter()
        .map(|[high, low]| u8::try_from(digit(*high)? << 4 | digit(*low)?).ok())
        .collect()
}

/// Both alphabets, with or without padding, as protobuf's JSON rules say.
pub(super) fn base64_bytes(text: &[u8]) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let standard = GeneralPurpose::new(&STANDARD, LENIENT);
    standard
        .decode(text)
        .or_else(|_| GeneralPurpose::new(&URL_SAFE, LENIENT).decode(text))
        .ok()
}
