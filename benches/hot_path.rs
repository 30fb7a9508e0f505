//! Criterion benches of the hot path, per span: scan, facts with policies and keywords, split, fold, stitch.

#[path = "../tests/support/backwards.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "shared with the tests"
)]
mod backwards;
#[path = "support/spans.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "shared with the end-to-end benchmark"
)]
mod spans;

use bytes::Bytes;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use prost::Message;
use std::hint::black_box;
use std::sync::Arc;
use tailwater::genai::{Dialects, Recorder};
use tailwater::otlp::{Blind, Stitch, scan, split};
use tailwater::rules::ottl::{Condition, Context, SpanView};
use tailwater::rules::{
    Atoms, AtomsBuilder, Compiler, Fold, Observer, ObserverScratch, PercentileOf, PolicyKind,
    PolicySpec, Program, Semantics, StatusCode, TextKeys, ValueIds,
};

fn policy(name: &str, kind: PolicyKind) -> PolicySpec {
    PolicySpec {
        name: name.into(),
        kind,
    }
}

/// The policies of the side-by-side measurements that are there, and ours with `keywords` keywords.
#[allow(clippy::too_many_lines, reason = "a table of policies")]
fn compile(keywords: usize) -> (Program, Atoms) {
    let string = |key: &str, values: &[&str], enabled_regex_matching| PolicyKind::StringAttribute {
        key: key.into(),
        values: values.iter().map(|value| (*value).into()).collect(),
        enabled_regex_matching,
        cache_max_size: 10,
        invert_match: false,
    };
    let latency = |threshold_ms| PolicyKind::Latency {
        threshold_ms,
        upper_threshold_ms: 0,
    };
    let policies = [
        policy("slow", latency(5000)),
        policy(
            "errors",
            PolicyKind::StatusCode {
                codes: vec![StatusCode::Error],
            },
        ),
        policy(
            "tokens",
            PolicyKind::NumericAttribute {
                key: "gen_ai.usage.input_tokens".into(),
                min_value: 100_000,
                max_value: 100_000_000,
                invert_match: false,
            },
        ),
        policy(
            "vip",
            PolicyKind::And(vec![
                policy("tier", string("tenant.tier", &["vip"], false)),
                policy("ms", latency(100)),
            ]),
        ),
        policy(
            "many",
            PolicyKind::SpanCount {
                min_spans: 500,
                max_spans: 0,
            },
        ),
        policy(
            "flag",
            PolicyKind::BooleanAttribute {
                key: "app.force_sample".into(),
                value: true,
                invert_match: false,
            },
        ),
        policy(
            "some",
            PolicyKind::Probabilistic {
                sampling_percentage: 1.0,
                hash_salt: "s".into(),
            },
        ),
        policy(
            "p99",
            PolicyKind::LatencyPercentile {
                percentile: 99.0,
                by: vec!["service.name".into(), "gen_ai.request.model".into()],
                floor_ms: 500,
                warmup_ms: 5000,
                min_count: 1000,
                of: PercentileOf::Trace,
                by_tokens: None,
            },
        ),
        policy(
            "keyword",
            PolicyKind::PromptKeyword {
                keywords: spans::keywords(keywords),
            },
        ),
    ];
    let mut builder = AtomsBuilder::default();
    let program = Compiler::new(&mut builder, Semantics::default())
        .compile(&policies)
        .expect("the policies compile");
    let dialects = Dialects::with("").expect("the table is sound");
    let keys = TextKeys::new(dialects.text_keys().map(|(key, _)| key));
    let atoms = builder
        .build(keys, Arc::new(ValueIds::default()))
        .expect("the keywords fit");
    (program.link(atoms.bits()), atoms)
}

fn benches(c: &mut Criterion) {
    for (order, backward) in [("forward", false), ("backward", true)] {
        let request = spans::requests(0, 34, 512, 2048, backward).swap_remove(0);
        scans(c, order, &request);
    }
    let request = spans::requests(0, 34, 512, 2048, false).swap_remove(0);
    layout(c, &request);
    conditions(c);
    dialects(c);
}

/// OTTL conditions on one span with a prompt of 2 KiB; the keys are those of its first and last attribute and of none.
fn conditions(c: &mut Criterion) {
    let spans: Vec<_> = (0..64).map(|n| spans::span(n, 10, 2048)).collect();
    let last = spans[0].attributes.last().expect("attributes").key.clone();
    let spans: Vec<_> = spans.iter().map(Message::encode_to_vec).collect();
    let mut group = c.benchmark_group("ottl");
    group.throughput(Throughput::Elements(spans.len() as u64));
    for (name, text) in [
        (
            "first attribute",
            r#"attributes["http.request.method"] == "PUT""#.into(),
        ),
        (
            "last attribute",
            format!(r#"attributes["{last}"] == "none""#),
        ),
        (
            "no attribute",
            r#"attributes["no.such.key"] == "none""#.into(),
        ),
        (
            "IsMatch",
            r#"IsMatch(name, "^(GET|PUT) /v[0-9]+/none")"#.into(),
        ),
        (
            "number",
            r#"attributes["http.response.status_code"] >= 500"#.into(),
        ),
        (
            "duration",
            r#"end_time - start_time > Duration("30s")"#.into(),
        ),
    ] {
        let condition = Condition::parse(&text, Context::Span).expect("a condition");
        group.bench_function(name, |b| {
            b.iter(|| {
                let holds = |span: &&Vec<u8>| {
                    let view = SpanView {
                        span,
                        ..SpanView::default()
                    };
                    condition.eval(black_box(&view)) == Ok(true)
                };
                spans.iter().filter(holds).count()
            });
        });
    }
    group.finish();
}

/// The plain scan and the one that reads model calls, over spans that are none, that are some, and as libraries write them.
fn dialects(c: &mut Criterion) {
    let dialects = Dialects::with("").expect("the table is sound");
    for (name, request) in [
        ("other spans", spans::alike(false, 512, 2048)),
        ("calls", spans::alike(true, 512, 2048)),
        ("recorded calls", recorded()),
    ] {
        let count = scan(&request, &mut Blind).expect("sound").spans() as u64;
        let mut group = c.benchmark_group(format!("dialects/{name}"));
        group.throughput(Throughput::Elements(count));
        group.bench_function("plain scan", |b| {
            b.iter(|| scan(black_box(&request), &mut Blind));
        });
        group.bench_function("scan with all dialects", |b| {
            b.iter(|| {
                let mut tokens = 0;
                let mut recorder = Recorder::new(&dialects, |_, _, record| {
                    tokens += record.input_tokens.unwrap_or(0);
                });
                let scanned = scan(black_box(&request), &mut recorder);
                black_box((scanned, tokens))
            });
        });
        group.finish();
    }
}

/// The streams and tool calls of four libraries, one request behind the other: together they are one.
fn recorded() -> Bytes {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/llm");
    let mut out = Vec::new();
    for folder in [
        "opentelemetry-instrumentation-genai-openai-1.3b0/span",
        "opentelemetry-instrumentation-openai-0.62.4",
        "openinference-instrumentation-openai-0.1.66",
        "openlit-1.45.0",
    ] {
        for case in ["chat", "stream", "tool", "error-429"] {
            let path = root.join(folder).join(format!("{case}.1.pb"));
            out.extend(std::fs::read(path).expect("the recording is there"));
        }
    }
    out.into()
}

fn scans(c: &mut Criterion, order: &str, request: &Bytes) {
    let count = scan(request, &mut Blind).expect("sound").spans() as u64;
    let mut group = c.benchmark_group(order);
    group.throughput(Throughput::Elements(count));
    group.bench_function("scan", |b| b.iter(|| scan(black_box(request), &mut Blind)));
    for keywords in [1, 1000] {
        let (_, atoms) = compile(keywords);
        let mut scratch = ObserverScratch::default();
        group.bench_function(format!("facts/{keywords} keywords"), |b| {
            b.iter(|| {
                let mut observer = Observer::new(&atoms, &mut scratch);
                let scanned = scan(black_box(request), &mut observer);
                black_box((scanned, observer.finish()))
            });
        });
    }
    group.finish();
}

fn layout(c: &mut Criterion, request: &Bytes) {
    let (program, atoms) = compile(1000);
    let mut scratch = ObserverScratch::default();
    let mut observer = Observer::new(&atoms, &mut scratch);
    let scanned = scan(request, &mut observer).expect("sound");
    let facts = observer.finish();
    let mut group = c.benchmark_group("layout");
    group.throughput(Throughput::Elements(scanned.spans() as u64));
    group.bench_function("split", |b| {
        b.iter(|| split(request, &scanned, &[0], 16, 16))
    });
    group.bench_function("fold", |b| {
        b.iter(|| {
            let (mut fold, mut words) = (Fold::default(), vec![0; program.state_words()]);
            (0..scanned.spans())
                .for_each(|i| program.fold(&atoms, &mut fold, &mut words, &facts, i));
            black_box((fold, words))
        });
    });
    let split = split(request, &scanned, &[0], 16, 16);
    let pieces: Vec<_> = split
        .pieces
        .iter()
        .map(|piece| {
            let bytes = &split.blocks[piece.block as usize].bytes;
            (
                piece.trace,
                Bytes::copy_from_slice(
                    &bytes[piece.bytes.start as usize..piece.bytes.end as usize],
                ),
            )
        })
        .collect();
    group.bench_function("stitch", |b| {
        b.iter_batched(
            || pieces.clone(),
            |pieces| {
                let mut stitch = Stitch::default();
                for (trace, piece) in pieces {
                    stitch.begin_entry(false);
                    stitch.add(trace, piece).expect("sound");
                }
                stitch.finish()
            },
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

criterion_group! {
    name = hot_path;
    config = Criterion::default().sample_size(30).warm_up_time(std::time::Duration::from_millis(500)).measurement_time(std::time::Duration::from_secs(2));
    targets = benches
}
criterion_main!(hot_path);
