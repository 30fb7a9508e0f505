//! Any bytes are taken or refused as prost takes or refuses them, and split into sound pieces.

#![no_main]

#[path = "judge.rs"]
#[allow(dead_code, reason = "each target uses its part")]
mod judge;
#[path = "../../src/otlp/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    reason = "all of it, for a part"
)]
mod otlp;
mod reader;

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    judge::judge_scan(&Bytes::copy_from_slice(data), &mut reader::Reader);
});
