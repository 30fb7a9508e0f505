//! A recording as the records that it gives, in the shape of `expected.yaml`.

use crate::genai::{Dialects, Finish, FinishSet, Recorder, SpanRecord, TraceRecord, hash_id};
use crate::otlp::{TraceId, scan};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};

/// A record with the trace and the name of its span.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Played {
    pub(super) trace: TraceId,
    pub(super) name: String,
    pub(super) record: SpanRecord<String>,
}

/// The records of one request.
pub(super) fn play(dialects: &Dialects, request: &[u8]) -> Vec<Played> {
    let mut out = Vec::new();
    let owned = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
    let mut recorder = Recorder::new(dialects, |head, bytes, record| {
        out.push(Played {
            trace: head.trace,
            name: owned(bytes.name),
            record: record.map(owned, owned),
        });
    });
    scan(request, &mut recorder).unwrap();
    out
}

/// The record with texts as numbers, and the texts by number.
pub(super) fn numbered(
    record: &SpanRecord<String>,
    texts: &mut HashMap<u64, String>,
) -> SpanRecord<u64> {
    let mut all = Vec::new();
    let number = |text: &str, all: &mut Vec<String>| {
        all.push(text.to_owned());
        hash_id(text.as_bytes())
    };
    let all_of = std::cell::RefCell::new(&mut all);
    let borrowed = borrow(record);
    let out = borrowed.map(
        |text| number(text, &mut all_of.borrow_mut()),
        |text| number(text, &mut all_of.borrow_mut()),
    );
    texts.extend(all.into_iter().map(|text| (hash_id(text.as_bytes()), text)));
    out
}

fn borrow(record: &SpanRecord<String>) -> SpanRecord<&str> {
    SpanRecord {
        start: record.start,
        duration: record.duration,
        dialect: record.dialect,
        stand: record.stand,
        kind: record.kind,
        operation: record.operation,
        provider: record.provider.as_deref(),
        request_model: record.request_model.as_deref(),
        response_model: record.response_model.as_deref(),
        family: record.family.as_deref(),
        version: record.version.as_deref(),
        stream: record.stream,
        input_tokens: record.input_tokens,
        output_tokens: record.output_tokens,
        cached_tokens: record.cached_tokens,
        cache_write_tokens: record.cache_write_tokens,
        reasoning_tokens: record.reasoning_tokens,
        ttft: record.ttft,
        time_per_output_token: record.time_per_output_token,
        queue: record.queue,
        prefill: record.prefill,
        decode: record.decode,
        finish: record.finish,
        error: record.error,
        error_type: record.error_type.as_deref(),
        cache_hit: record.cache_hit,
        tool: record.tool.as_deref(),
        conversation_id: record.conversation_id.as_deref(),
        response_id: record.response_id.as_deref(),
        environment: record.environment.as_deref(),
        scores: record.scores.map_ref(String::as_str),
    }
}

/// Only what is there: absent values, `false` errors and empty sets are left out.
fn object(pairs: Vec<(&str, Value)>) -> Value {
    let mut out = Map::new();
    for (key, value) in pairs {
        let absent =
            value.is_null() || value == json!([]) || (key == "error" && value == json!(false));
        if !absent {
            out.insert(key.to_owned(), value);
        }
    }
    Value::Object(out)
}

fn finish(set: FinishSet) -> Value {
    let mut words: Vec<&str> = set.iter().map(Finish::word).collect();
    words.sort_unstable();
    json!(words)
}

fn call(record: &SpanRecord<String>) -> Value {
    object(vec![
        ("input", json!(record.input_tokens)),
        ("output", json!(record.output_tokens)),
        ("cached", json!(record.cached_tokens)),
        ("written", json!(record.cache_write_tokens)),
        ("reasoning", json!(record.reasoning_tokens)),
        ("finish", finish(record.finish)),
        ("request_model", json!(record.request_model)),
        ("response_model", json!(record.response_model)),
        ("provider", json!(record.provider)),
        ("response_id", json!(record.response_id)),
        ("stream", json!(record.stream)),
        ("ttft", json!(record.ttft)),
        ("tpot", json!(record.time_per_output_token)),
        ("error", json!(record.error)),
        ("error_type", json!(record.error_type)),
    ])
}

fn trace(record: &TraceRecord, texts: &HashMap<u64, String>) -> Value {
    let text = |number: Option<u64>| json!(number.and_then(|number| texts.get(&number)));
    let some = |number: u32| json!((number > 0).then_some(number));
    let calls = record.calls() > 0;
    object(vec![
        ("calls", json!(record.calls())),
        ("failed", json!(calls.then_some(record.failed_calls()))),
        ("input", json!(record.input_tokens())),
        ("output", json!(record.output_tokens())),
        ("cached", json!(record.cached_tokens())),
        ("written", json!(record.cache_write_tokens())),
        ("reasoning", json!(record.reasoning_tokens())),
        ("ttft", json!(record.ttft())),
        ("tpot", json!(record.time_per_output_token())),
        ("finish", finish(record.finish())),
        ("embeddings", some(record.embeddings())),
        (
            "embedded",
            json!((record.embeddings() > 0).then_some(record.embedded_tokens())),
        ),
        ("tools", some(record.tools())),
        ("error", json!(record.error())),
        ("stream", json!(record.stream())),
        ("cache_hit", json!(record.cache_hit())),
        ("conversation", text(record.conversation_id())),
    ])
}

/// The traces of a case, in the order of their starts.
pub(super) fn traces(dialects: &Dialects, played: &[Played]) -> Value {
    use crate::genai::Kind;
    let mut by_trace: BTreeMap<TraceId, Vec<&Played>> = BTreeMap::new();
    for one in played {
        by_trace.entry(one.trace).or_default().push(one);
    }
    let mut traces: Vec<Vec<&Played>> = by_trace.into_values().collect();
    for spans in &mut traces {
        spans.sort_by_key(|one| one.record.start);
    }
    traces.sort_by_key(|spans| spans.first().map(|one| one.record.start));
    let one = |spans: &Vec<&Played>| {
        let mut names: BTreeMap<String, u32> = BTreeMap::new();
        for one in spans {
            *names.entry(described(dialects, one)).or_default() += 1;
        }
        let of_kind = |kinds: &'static [Kind]| {
            spans
                .iter()
                .filter(move |one| kinds.contains(&one.record.kind))
                .map(|one| call(&one.record))
        };
        let calls: Vec<Value> = of_kind(&[Kind::Inference])
            .chain(of_kind(&[Kind::Embeddings]))
            .collect();
        json!({"spans": names, "calls": calls, "trace": whole(spans)})
    };
    Value::Array(traces.iter().map(one).collect())
}

fn described(dialects: &Dialects, one: &Played) -> String {
    format!(
        "{} | {} {} {} {}",
        one.name,
        dialects.name(one.record.dialect),
        one.record.stand.word(),
        one.record.kind.word(),
        one.record
            .operation
            .map_or("-", super::super::Operation::word),
    )
}

/// The trace's record, the same in whatever order and pieces its spans come.
fn whole(spans: &[&Played]) -> Value {
    let mut texts = HashMap::new();
    let records: Vec<_> = spans
        .iter()
        .map(|one| numbered(&one.record, &mut texts))
        .collect();
    let fold = |records: &mut dyn Iterator<Item = &SpanRecord<u64>>| {
        let mut out = TraceRecord::default();
        records.for_each(|record| out.fold(record));
        out
    };
    let forward = fold(&mut records.iter());
    assert_eq!(forward, fold(&mut records.iter().rev()), "backwards");
    for cut in 0..records.len() {
        let (first, second) = records.split_at(cut);
        let mut halves = fold(&mut second.iter());
        halves.merge(&fold(&mut first.iter()));
        assert_eq!(forward, halves, "in pieces, cut at {cut}");
    }
    trace(&forward, &texts)
}
