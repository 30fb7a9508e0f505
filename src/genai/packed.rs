//! A trace's record in few bytes, for the memory and the log: what is not zero, each number behind the distance of its
//! place from the one before it.
//!
//! A trace whose calls one layer saw takes some 60 to 90 bytes where [`TraceRecord`] takes 700. Evaluations are left out:
//! which of more than four names a trace keeps depends on numbers of the process, and nothing that is kept or checked may.

use super::layer_sums::LayerSums;
use super::longest::Longest;
use super::pick::Pick;
use super::record::FinishSet;
use super::trace_record::TraceRecord;

/// Hears each number of a record in a set order, and says what it is to be.
type Cell<'a> = &'a mut dyn FnMut(u64) -> u64;

impl TraceRecord {
    /// Appends the record.
    pub fn pack(&self, out: &mut Vec<u8>) {
        let (mut copy, mut gap) = (*self, 0);
        walk(&mut copy, &mut |number| {
            if number == 0 {
                gap += 1;
            } else {
                put(out, gap);
                put(out, number);
                gap = 0;
            }
            number
        });
    }

    /// The record that [`TraceRecord::pack`] wrote; `None` for bytes that it did not write.
    #[must_use]
    pub fn unpack(mut bytes: &[u8]) -> Option<Self> {
        let mut record = Self::default();
        let mut sound = true;
        let mut next = |last: bool| {
            let at_end = last && bytes.is_empty();
            let number = take(&mut bytes);
            sound &= at_end || number.is_some();
            number
        };
        let mut gap = next(true);
        walk(&mut record, &mut |_| match &mut gap {
            None => 0,
            Some(0) => {
                let number = next(false);
                gap = next(true);
                number.unwrap_or(0)
            }
            Some(left) => {
                *left -= 1;
                0
            }
        });
        (sound && gap.is_none() && bytes.is_empty()).then_some(record)
    }

    /// Replaces the numbers that stand for names; ids are the same everywhere.
    pub fn map_names(&mut self, mut name: impl FnMut(u64) -> u64) {
        for pick in [
            &mut self.provider,
            &mut self.request_model,
            &mut self.response_model,
            &mut self.error_type,
            &mut self.environment,
        ] {
            if let Some(value) = pick.value() {
                pick.value = name(value);
            }
        }
    }
}

fn walk(record: &mut TraceRecord, cell: Cell<'_>) {
    let TraceRecord {
        layers,
        provider,
        request_model,
        response_model,
        error_type,
        conversation_id,
        response_id,
        environment,
        queue,
        prefill,
        decode,
        kinds,
        stands,
        finish,
        streamed,
        whole,
        hit,
        missed,
        error,
        scores: _,
    } = record;
    // The picks of a trace are mostly of one span.
    let mut key_before = 0;
    for pick in [
        provider,
        request_model,
        response_model,
        error_type,
        conversation_id,
        response_id,
        environment,
    ] {
        walk_pick(pick, &mut key_before, cell);
    }
    *kinds = u16::try_from(cell(u64::from(*kinds))).unwrap_or(u16::MAX);
    *stands = u8::try_from(cell(u64::from(*stands))).unwrap_or(u8::MAX);
    let FinishSet(bits) = finish;
    *bits = u8::try_from(cell(u64::from(*bits))).unwrap_or(u8::MAX);
    for flag in [streamed, whole, hit, missed, error] {
        *flag = cell(u64::from(*flag)) != 0;
    }
    for sums in layers {
        walk_layer(sums, cell);
    }
    for Longest(time) in [queue, prefill, decode] {
        *time = cell(*time);
    }
}

fn walk_layer(sums: &mut LayerSums, cell: Cell<'_>) {
    let LayerSums {
        calls,
        failed,
        counted,
        input,
        output,
        cached,
        written,
        reasoning,
        embeddings,
        counted_embeddings,
        embedded,
        tools,
        failed_tools,
        longest_call,
        ttft,
        time_per_output_token,
    } = sums;
    for sum in [
        calls,
        failed,
        counted,
        input,
        output,
        cached,
        written,
        reasoning,
        embeddings,
        counted_embeddings,
        embedded,
        tools,
        failed_tools,
    ] {
        *sum = u32::try_from(cell(u64::from(*sum))).unwrap_or(u32::MAX);
    }
    for Longest(time) in [longest_call, ttft, time_per_output_token] {
        *time = cell(*time);
    }
}

/// As numbers: how the key is told (0: nothing is picked; 1: the key before; else the key and two more), and the value.
fn walk_pick(pick: &mut Pick, key_before: &mut u64, cell: Cell<'_>) {
    let told = match pick.value() {
        None => 0,
        Some(_) if pick.key == *key_before => 1,
        Some(_) => pick.key.saturating_add(2),
    };
    let value = cell_of_pick(cell(told), pick.value().unwrap_or(0), *key_before, cell);
    if let Some(picked) = value {
        *key_before = picked.key;
        *pick = picked;
    }
}

fn cell_of_pick(told: u64, value: u64, key_before: u64, cell: Cell<'_>) -> Option<Pick> {
    let value = cell(value);
    let key = match told {
        0 => return None,
        1 => key_before,
        told => told - 2,
    };
    Some(Pick { key, value })
}

/// Appends a number in base 128, the low bits first.
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        #[allow(clippy::cast_possible_truncation, reason = "the low seven bits")]
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    #[allow(clippy::cast_possible_truncation, reason = "below 128")]
    out.push(value as u8);
}

/// The number that `bytes` begin with, taken off them.
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f).checked_shl(shift)?;
        if *first < 0x80 {
            return Some(value);
        }
    }
    None
}
