//! The one place that inflates: gzip, zlib (HTTP's `deflate`) and zstd, capped in bytes and charged to the budget.
//!
//! Invariants: no more than `limit + 1` bytes are ever produced, and none that is not reserved first. zstd's own window
//! is bounded by the limit as well.

use super::fault::Fault;
use crate::otlp::{Refusal, Reservation};
use bytes::Bytes;
use flate2::bufread::{MultiGzDecoder, ZlibDecoder};
use std::cell::RefCell;
use std::io::Read;
use zstd::bulk::Decompressor;

/// First reservation; most requests of an SDK inflate to less.
const FIRST_STEP: u64 = 64 * 1024;
/// Steps double up to this, so that a large body costs few reservations and is never far over-reserved.
const LARGEST_STEP: u64 = 1024 * 1024;
/// Window that every zstd decoder must support (RFC 8878 section 3.1.1.1.2): 8 MiB.
const ZSTD_WINDOW_LOG_MIN: u32 = 23;
/// Largest window of the zstd format's ordinary levels: 128 MiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;

/// A compression that receivers take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    /// RFC 1952, several members allowed.
    Gzip,
    /// RFC 1950, which HTTP calls `deflate`.
    Zlib,
    /// RFC 8878.
    Zstd,
}

/// Inflates `input` to at most `limit` bytes, growing `held` by what comes out.
pub(super) fn inflate(
    coding: Coding,
    input: &[u8],
    limit: u64,
    held: &mut Reservation,
) -> Result<Bytes, Fault> {
    match coding {
        Coding::Gzip => drain(MultiGzDecoder::new(input), gzip_size(input), limit, held),
        Coding::Zlib => drain(ZlibDecoder::new(input), 0, limit, held),
        Coding::Zstd => inflate_zstd(input, limit, held),
    }
}

/// Bytes that will probably come out; anybody can make it wrong, so it decides nothing but where the work is done.
pub(super) fn likely_size(coding: Coding, input: &[u8]) -> u64 {
    // Text compresses six- to eightfold.
    let guess = input.len() as u64 * 8;
    match coding {
        Coding::Gzip => gzip_size(input),
        Coding::Zlib => guess,
        Coding::Zstd => zstd::zstd_safe::get_frame_content_size(input)
            .ok()
            .flatten()
            .unwrap_or(guess),
    }
}

/// ISIZE of the last member: a hint for the allocation and nothing else, since anybody can write it.
fn gzip_size(input: &[u8]) -> u64 {
    input
        .last_chunk()
        .map_or(0, |size| u64::from(u32::from_le_bytes(*size)))
}

fn drain(
    mut reader: impl Read,
    hint: u64,
    limit: u64,
    held: &mut Reservation,
) -> Result<Bytes, Fault> {
    let before = held.bytes();
    let mut out = Vec::with_capacity(usize::try_from(hint.min(limit)).unwrap_or(0));
    let mut step = FIRST_STEP;
    loop {
        // One byte over the limit tells "full" from "too much".
        let want = step.min(limit.saturating_add(1) - out.len() as u64);
        if !held.grow(want) {
            return Err(Fault::budget_full());
        }
        let got = reader
            .by_ref()
            .take(want)
            .read_to_end(&mut out)
            .map_err(|_| Fault::malformed("the compressed body is broken or cut short"))?;
        if out.len() as u64 > limit {
            return Err(Refusal::TooLarge {
                bytes: out.len() as u64,
                limit,
            }
            .into());
        }
        if (got as u64) < want {
            held.shrink(before + out.len() as u64);
            return Ok(out.into());
        }
        step = (step * 2).min(LARGEST_STEP);
    }
}

fn inflate_zstd(input: &[u8], limit: u64, held: &mut Reservation) -> Result<Bytes, Fault> {
    if let Ok(Some(size)) = zstd::zstd_safe::get_frame_content_size(input) {
        if size > limit {
            return Err(Refusal::TooLarge { bytes: size, limit }.into());
        }
        if let Some(whole) = inflate_zstd_known(input, size, held)? {
            return Ok(whole);
        }
    }
    let mut decoder =
        zstd::stream::read::Decoder::with_buffer(input).map_err(|_| decoder_failed())?;
    let window = limit.max(1).ilog2() + 1;
    decoder
        .window_log_max(window.clamp(ZSTD_WINDOW_LOG_MIN, ZSTD_WINDOW_LOG_MAX))
        .map_err(|_| decoder_failed())?;
    drain(decoder, 0, limit, held)
}

/// One frame that says its size goes into a buffer of that size, with a context that the thread keeps: a third less
/// CPU than the streaming decoder. `None`: it did not fit (several frames, or a lie); nothing stays reserved.
fn inflate_zstd_known(
    input: &[u8],
    size: u64,
    held: &mut Reservation,
) -> Result<Option<Bytes>, Fault> {
    thread_local! {
        static CONTEXT: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
    }
    let before = held.bytes();
    if !held.grow(size) {
        return Err(Fault::budget_full());
    }
    let mut out = Vec::with_capacity(usize::try_from(size).map_err(|_| decoder_failed())?);
    let done = CONTEXT.with_borrow_mut(|context| {
        let decompressor = match context {
            Some(ready) => ready,
            None => context.insert(Decompressor::new()?),
        };
        decompressor.decompress_to_buffer(input, &mut out)
    });
    if done.is_ok_and(|written| written as u64 == size) {
        return Ok(Some(out.into()));
    }
    held.shrink(before);
    Ok(None)
}

fn decoder_failed() -> Fault {
    Refusal::Log("no memory for a decoder".to_owned()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::IntakeBudget;
    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};
    use std::io::Write;

    const CODINGS: [Coding; 3] = [Coding::Gzip, Coding::Zlib, Coding::Zstd];

    fn deflate(coding: Coding, data: &[u8]) -> Vec<u8> {
        match coding {
            Coding::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(data).unwrap();
                encoder.finish().unwrap()
            }
            Coding::Zlib => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(data).unwrap();
                encoder.finish().unwrap()
            }
            Coding::Zstd => zstd::bulk::compress(data, 1).unwrap(),
        }
    }

    /// Outcome, and what stays reserved by it.
    fn run(coding: Coding, input: &[u8], limit: u64, budget: u64) -> (Result<Bytes, Fault>, u64) {
        let budget = IntakeBudget::new(budget);
        let mut held = budget.reservation();
        let outcome = inflate(coding, input, limit, &mut held);
        (outcome, held.bytes())
    }

    #[test]
    fn sizes_up_to_the_limit_come_out_whole_and_exactly_charged() {
        for coding in CODINGS {
            for size in [0, 1, 1000, 65_535, 65_536, 65_537, 1_000_000] {
                let data: Vec<u8> = (0..size).map(|n: u32| (n / 7) as u8).collect();
                let (outcome, held) =
                    run(coding, &deflate(coding, &data), u64::from(size), u64::MAX);
                assert_eq!(outcome.unwrap(), data, "{coding:?} {size}");
                assert_eq!(held, u64::from(size), "{coding:?}");
            }
        }
    }

    #[test]
    fn one_byte_over_the_limit_is_too_large_and_a_bomb_stops_there() {
        for coding in CODINGS {
            for size in [100_001, 8 << 20] {
                let (outcome, held) =
                    run(coding, &deflate(coding, &vec![0; size]), 100_000, u64::MAX);
                assert!(
                    matches!(
                        outcome,
                        Err(Fault::Refused(Refusal::TooLarge { limit: 100_000, .. }))
                    ),
                    "{coding:?}"
                );
                assert!(held <= 200_000, "{coding:?} held {held}");
            }
        }
    }

    #[test]
    fn the_budget_bounds_what_is_inflated() {
        for coding in CODINGS {
            let (outcome, held) = run(
                coding,
                &deflate(coding, &vec![0; 1_000_000]),
                2_000_000,
                500_000,
            );
            assert_eq!(
                (outcome, held <= 500_000),
                (Err(Fault::budget_full()), true),
                "{coding:?}"
            );
        }
    }

    #[test]
    fn broken_and_cut_bodies_are_malformed() {
        let data: Vec<u8> = (0..50_000_u32)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        for coding in CODINGS {
            let whole = deflate(coding, &data);
            for cut in [1, 5, whole.len() / 2, whole.len() - 1] {
                let (outcome, _) = run(coding, &whole[..cut], 1 << 20, u64::MAX);
                assert!(
                    matches!(outcome, Err(Fault::Refused(Refusal::Malformed(_)))),
                    "{coding:?} {cut}"
                );
            }
            let (outcome, _) = run(coding, b"not compressed at all", 1 << 20, u64::MAX);
            assert!(
                matches!(outcome, Err(Fault::Refused(Refusal::Malformed(_)))),
                "{coding:?}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn anything_is_bytes_within_the_limit_or_a_refusal(
            bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..300),
            flip in (0..300_usize, proptest::num::u8::ANY),
        ) {
            for coding in CODINGS {
                let mut mutated = deflate(coding, &bytes);
                if let Some(byte) = mutated.get_mut(flip.0) {
                    *byte ^= flip.1;
                }
                for input in [&bytes, &mutated] {
                    let (outcome, held) = run(coding, input, 200, 1 << 20);
                    proptest::prop_assert!(outcome.is_err() || outcome.is_ok_and(|out| out.len() as u64 == held && held <= 200));
                }
            }
        }
    }

    #[test]
    fn several_members_are_one_body_and_a_wrong_size_is_only_a_hint() {
        for coding in [Coding::Gzip, Coding::Zstd] {
            let two = [deflate(coding, b"one "), deflate(coding, b"two")].concat();
            assert_eq!(
                run(coding, &two, 7, u64::MAX).0.unwrap(),
                "one two",
                "{coding:?}"
            );
        }
        // Without a content size in the frame, as streaming encoders write it.
        let streamed = zstd::stream::encode_all(&b"streamed"[..], 1).unwrap();
        assert_eq!(
            run(Coding::Zstd, &streamed, 8, u64::MAX),
            (Ok(Bytes::from_static(b"streamed")), 8)
        );
        let mut lying = deflate(Coding::Gzip, b"short");
        let at = lying.len() - 4;
        lying[at..].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(matches!(
            run(Coding::Gzip, &lying, 100, u64::MAX).0,
            Err(Fault::Refused(Refusal::Malformed(_)))
        ));
    }
}
