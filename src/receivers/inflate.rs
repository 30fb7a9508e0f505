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
pub(super) fn inflate(coding: Coding, input: &[u8], limit: u64, held: &mut Reservation) -> Result<Bytes, Fault> {
    match coding {
        Coding::Gzip => drain(MultiGzDecoder::new(input), gzip_size(input), limit, held),
        Coding::Zlib => drain(ZlibDecoder::new(input), 0, limit, held),
        Coding::Zstd => inflate_zstd(input, limit, held),
    }
}

/// ISIZE of the last member: a hint for the allocation and nothing else, since anybody can write it.
fn gzip_size(input: &[u8]) -> u64 {
    input.last_chunk().map_or(0, |size| u64::from(u32::from_le_bytes(*size)))
}

fn drain(mut reader: impl Read, hint: u64, limit: u64, held: &mut Reservation) -> Result<Bytes, Fault> {
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
            return Err(Refusal::TooLarge { bytes: out.len() as u64, limit }.into());
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
    let mut decoder = zstd::stream::read::Decoder::with_buffer(input).map_err(|_| decoder_failed())?;
    let window = limit.max(1).ilog2() + 1;
    decoder.window_log_max(window.clamp(ZSTD_WINDOW_LOG_MIN, ZSTD_WINDOW_LOG_MAX)).map_err(|_| decoder_failed())?;
    drain(decoder, 0, limit, held)
}

/// One frame that says its size goes into a buffer of that size, with a context that the thread keeps: a third less
/// CPU than the streaming decoder. `None`: it did not fit (several frames, or a lie); nothing stays reserved.
fn inflate_zstd_known(input: &[u8], size: u64, held: &mut Reservation) -> Result<Option<Bytes>, Fault> {
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
