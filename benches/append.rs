//! Appending to the span log on warm segments: requests of 64 and 512 spans of 450 bytes, 60 spans a trace in 4 parts.
//!
//! `stream` is the gathered write alone, on a log that has wrapped once, so that files are recycled with their pages
//! cached. `log` is the whole way of a request through the writer: queue, write, cache, window, a feed that takes it.

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;
use tailwater::clock::SystemClock;
use tailwater::log::{
    Append, Block, Directory, Durability, Fed, FrameMeta, Inlet as _, Log as _, LogSettings,
    MemorySettings, OnFull, OpenAt, OutFrame, PIECE_HEADER, Services, Signal, SpanLog, StoreKind,
    write_piece_header,
};
use tailwater::otlp::SourceId;

const SPAN: usize = 450;
/// Spans of one trace in one request: 60 in 4 parts.
const PIECE_SPANS: usize = 15;
/// In flight at once: as many senders as keep the writer busy.
const IN_FLIGHT: usize = 8;

fn body(spans: usize) -> (Bytes, u32) {
    let mut out = Vec::with_capacity(spans * SPAN + spans * PIECE_HEADER);
    let mut pieces = 0;
    let mut left = spans;
    while left > 0 {
        let now = left.min(PIECE_SPANS);
        let at = out.len();
        out.resize(at + PIECE_HEADER, 0);
        let bytes: Vec<u8> = (0..now * SPAN)
            .map(|n| (n * 31 + pieces as usize) as u8)
            .collect();
        write_piece_header(&mut out[at..], 0, now as u32, &bytes);
        out.extend_from_slice(&bytes);
        pieces += 1;
        left -= now;
    }
    (Bytes::from(out.into_boxed_slice()), pieces)
}

fn settings(directory: &std::path::Path, durability: Durability) -> LogSettings {
    LogSettings {
        store: StoreKind::Disk(directory.to_owned()),
        max_size: 512 << 20,
        retention: None,
        durability,
        partitions: 16,
        segment_size: 32 << 20,
    }
}

fn stream(c: &mut Criterion) {
    let place = tempfile::tempdir().expect("a directory");
    let directory = Directory::open(&settings(place.path(), Durability::Os)).expect("a log");
    let stream = directory.decisions("bench").expect("a stream");
    let mut group = c.benchmark_group("stream");
    for (spans, gathered) in [(64, 1), (64, 8), (512, 1), (512, 4)] {
        let (body, _) = body(spans);
        let parts = [&body[..]];
        let frames = vec![
            OutFrame {
                stamp: 1,
                meta: [0; 16],
                body: &parts
            };
            gathered
        ];
        let append = || {
            if !stream.has_room(frames.len() as u64 * (body.len() as u64 + 64)) {
                stream.release_before(stream.segments()[1].end);
            }
            stream.append(&frames).expect("room")
        };
        for _ in 0..(128 << 20) / (body.len() * gathered) {
            append();
        }
        group.throughput(Throughput::Elements((spans * gathered) as u64));
        let id = BenchmarkId::new(
            format!("{spans} spans"),
            format!("{gathered} requests a write"),
        );
        group.bench_function(id, |b| b.iter(|| black_box(append())));
    }
}

fn log(c: &mut Criterion) {
    let mut group = c.benchmark_group("log");
    for (durability, spans) in [
        (Durability::Os, 64),
        (Durability::Os, 512),
        (Durability::Fsync, 512),
    ] {
        let place = tempfile::tempdir().expect("a directory");
        let settings = settings(place.path(), durability);
        let directory = Directory::open(&settings).expect("a log");
        let memory = MemorySettings {
            total: 1 << 28,
            per_service_default: 1 << 26,
            per_service: vec![],
            on_full: OnFull::Spill,
            on_full_of: vec![],
        };
        let services = Arc::new(Services::new(&memory));
        let service = services.intern("bench");
        let clock = Arc::new(SystemClock::new());
        let log = SpanLog::<()>::open(
            &directory,
            &settings,
            64 << 20,
            64 << 20,
            services,
            clock,
            OpenAt::default(),
        )
        .expect("a span log");
        let (body, pieces) = body(spans);
        let mut feed = log.feed(0);
        let mut round = || {
            let waiting: Vec<_> = (0..IN_FLIGHT)
                .map(|_| {
                    let meta = FrameMeta {
                        source: SourceId(1),
                        signal: Signal::Traces,
                        version: 1,
                        pieces,
                        spans: spans as u32,
                    };
                    // A block is an allocation of its own, as intake makes it.
                    let blocks = vec![Block {
                        service,
                        bytes: Bytes::copy_from_slice(&body),
                        pieces,
                    }];
                    log.append(Append {
                        meta,
                        blocks,
                        attachment: (),
                        attachment_bytes: 0,
                        reservation: None,
                    })
                })
                .collect();
            for answer in waiting {
                answer.blocking_recv().expect("an answer").expect("room");
            }
            while !matches!(feed.next(Duration::ZERO), Fed::Idle { .. }) {}
        };
        for _ in 0..(600 << 20) / (body.len() * IN_FLIGHT) {
            round();
        }
        group.throughput(Throughput::Elements((spans * IN_FLIGHT) as u64));
        group.bench_function(format!("{durability:?}/{spans} spans"), |b| {
            b.iter(&mut round)
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3));
    targets = stream, log
}
criterion_main!(benches);
