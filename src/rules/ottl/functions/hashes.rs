//! Hashes of a text. None guards anything: they are the Collector's, so that conditions written for it hold.

use super::super::error::EvalError;
use super::super::evaluate::Scene;
use super::super::expression::Call;
use super::super::value::{Out, Value};
use super::{hex, murmur3 as murmur};
use ring::digest;

fn shown<'a>(
    scene: &Scene<'a>,
    call: &'a Call,
    hash: impl FnOnce(&[u8]) -> Vec<u8>,
) -> Result<Value<'a>, EvalError> {
    let text = call.text(scene, 0)?;
    Ok(Value::text(hex(&hash(&text))))
}

fn digested<'a>(scene: &Scene<'a>, call: &'a Call, with: &'static digest::Algorithm) -> Out<'a> {
    shown(scene, call, |text| {
        digest::digest(with, text).as_ref().to_vec()
    })
}

pub(super) fn sha1<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    digested(scene, call, &digest::SHA1_FOR_LEGACY_USE_ONLY)
}

pub(super) fn sha256<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    digested(scene, call, &digest::SHA256)
}

pub(super) fn sha512<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    digested(scene, call, &digest::SHA512)
}

pub(super) fn md5<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    shown(scene, call, |text| md5::compute(text).0.to_vec())
}

pub(super) fn murmur3<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    shown(scene, call, |text| {
        murmur::of_32_bits(text).to_le_bytes().to_vec()
    })
}

pub(super) fn murmur3_128<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    shown(scene, call, |text| {
        let (low, high) = murmur::of_128_bits(text);
        [low.to_le_bytes(), high.to_le_bytes()].concat()
    })
}

pub(super) fn xxh3<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    shown(scene, call, |text| {
        xxhash_rust::xxh3::xxh3_64(text).to_be_bytes().to_vec()
    })
}

pub(super) fn xxh128<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    shown(scene, call, |text| {
        xxhash_rust::xxh3::xxh3_128(text).to_be_bytes().to_vec()
    })
}

/// FNV-1a of 64 bits, read as signed.
pub(super) fn fnv<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let hash = call
        .text(scene, 0)?
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
    Ok(Value::Int(hash.cast_signed()))
}
