//! Folding a trace: one call seen by many counts once, many calls add up, and no order matters.

use super::played::numbered;
use super::spans::{Made, SECOND, dialects, made};
use crate::genai::{Dialects, SpanRecord, TraceRecord, hash_id};
use proptest::prelude::*;
use std::collections::HashMap;

fn fold(dialects: &Dialects, spans: Vec<Made>) -> TraceRecord {
    let mut out = TraceRecord::default();
    for span in spans {
        let record = span.record(dialects).unwrap();
        out.fold(&numbered(&record, &mut HashMap::new()));
    }
    out
}

fn chat(input: i32, output: i32) -> Made {
    made("chat m")
        .with("gen_ai.operation.name", "chat")
        .with("gen_ai.provider.name", "openai")
        .with("gen_ai.request.model", "m")
        .with("gen_ai.usage.input_tokens", input)
        .with("gen_ai.usage.output_tokens", output)
}

fn engine(input: i32, output: i32) -> Made {
    made("llm_request")
        .server()
        .with("gen_ai.usage.prompt_tokens", input)
        .with("gen_ai.usage.completion_tokens", output)
        .with("gen_ai.latency.time_to_first_token", 0.1)
        .with("gen_ai.latency.time_in_queue", 0.05)
}

#[test]
fn a_call_that_four_layers_saw_counts_once() {
    let dialects = dialects();
    let framework = made("ChatOpenAI")
        .scope("langsmith")
        .with("langsmith.span.kind", "llm")
        .with("gen_ai.usage.input_tokens", 57)
        .with("gen_ai.usage.output_tokens", 23);
    let chain = made("RunnableSequence")
        .with("langsmith.span.kind", "chain")
        .with("gen_ai.usage.input_tokens", 57);
    let gateway = chat(57, 23).service("ai-gateway");
    let sdk = chat(57, 23)
        .scope("com.anthropic.sdk.python")
        .with("gen_ai.response.time_to_first_chunk", 0.3);
    let trace = fold(
        dialects,
        vec![chat(57, 23), framework, chain, gateway, sdk, engine(57, 23)],
    );
    assert_eq!(
        (trace.calls(), trace.input_tokens(), trace.output_tokens()),
        (1, Some(57), Some(23))
    );
    assert_eq!(
        trace.ttft(),
        Some(SECOND * 3 / 10),
        "what the caller waited for"
    );
    assert_eq!(
        trace.queue(),
        Some(SECOND / 20),
        "which only the engine knows"
    );
    assert_eq!(trace.provider(), Some(hash_id(b"openai")));
}

#[test]
fn calls_of_an_agent_add_up() {
    let dialects = dialects();
    let agent = made("invoke_agent")
        .with("gen_ai.operation.name", "invoke_agent")
        .with("gen_ai.usage.input_tokens", 90);
    let tool = made("execute_tool t")
        .with("gen_ai.operation.name", "execute_tool")
        .with("gen_ai.tool.name", "t");
    let vectors = made("embeddings e")
        .with("gen_ai.operation.name", "embeddings")
        .with("gen_ai.usage.input_tokens", 9);
    // One engine is ours, the other call went elsewhere.
    let spans = vec![
        agent,
        chat(30, 1),
        tool.clone().status(2),
        tool,
        chat(60, 2),
        vectors,
        engine(30, 1),
    ];
    let trace = fold(dialects, spans);
    assert_eq!(
        (trace.calls(), trace.input_tokens(), trace.output_tokens()),
        (2, Some(90), Some(3))
    );
    assert_eq!((trace.tools(), trace.failed_tools()), (2, 1));
    assert_eq!((trace.embeddings(), trace.embedded_tokens()), (1, 9));
    assert!(trace.error());
    assert_eq!(trace.failed_calls(), 0);
}

#[test]
fn usage_comes_from_who_has_it() {
    let dialects = dialects();
    let stream = made("chat m")
        .with("gen_ai.operation.name", "chat")
        .with("gen_ai.request.stream", true);
    let trace = fold(dialects, vec![stream, engine(57, 23)]);
    assert_eq!((trace.calls(), trace.input_tokens()), (1, Some(57)));
    // A gateway that tried twice is two calls to it and one to the caller.
    let tries = [chat(0, 0).status(2), chat(57, 23)].map(|span| span.service("ai-gateway"));
    let trace = fold(dialects, [vec![chat(57, 23)], tries.to_vec()].concat());
    assert_eq!(
        (trace.calls(), trace.failed_calls(), trace.input_tokens()),
        (1, 0, Some(57))
    );
    assert_eq!(
        fold(
            dialects,
            vec![made("x").with("gen_ai.operation.name", "chat")]
        )
        .input_tokens(),
        None
    );
}

#[test]
fn nothing_is_the_record_of_no_span() {
    let trace = TraceRecord::default();
    assert_eq!(
        (
            trace.calls(),
            trace.input_tokens(),
            trace.provider(),
            trace.stream()
        ),
        (0, None, None, None)
    );
}

#[test]
fn a_trace_costs_a_fixed_number_of_bytes() {
    // Six layers of 80 bytes, seven texts of 16, four evaluations of 32, and what is left.
    assert!(
        size_of::<TraceRecord>() <= 776,
        "{}",
        size_of::<TraceRecord>()
    );
}

/// Records of spans that differ in all that a trace keeps.
fn records() -> impl Strategy<Value = Vec<SpanRecord<u64>>> {
    let one = (
        0_usize..6,
        0_u64..4,
        prop::option::of(0_i32..300),
        prop::option::of(0_u64..3),
        0_usize..7,
        0_i32..3,
    );
    prop::collection::vec(one, 0..9).prop_map(|all| {
        let dialects = dialects();
        all.into_iter()
            .map(|(place, start, tokens, model, judged, status)| {
                let mut span = match place {
                    0 => made("chat m").with("gen_ai.operation.name", "chat"),
                    1 => engine(1, 2),
                    2 => made("t").with("gen_ai.operation.name", "execute_tool"),
                    3 => made("c").with("langsmith.span.kind", "llm"),
                    4 => made("c")
                        .with("gen_ai.operation.name", "chat")
                        .service("kong"),
                    _ => made("e").with("gen_ai.operation.name", "embeddings"),
                };
                if let Some(tokens) = tokens {
                    span = span.with("gen_ai.usage.input_tokens", tokens);
                }
                if let Some(model) = model {
                    span = span.with("gen_ai.request.model", format!("m{model}").as_str());
                }
                if judged > 0 {
                    span = span
                        .with("gen_ai.evaluation.name", format!("n{judged}").as_str())
                        .with(
                            "gen_ai.evaluation.score.value",
                            f64::from(u8::try_from(start).unwrap()),
                        );
                }
                let mut record = numbered(
                    &span.status(status).record(dialects).unwrap(),
                    &mut HashMap::new(),
                );
                record.start += start * 16;
                record
            })
            .collect()
    })
}

/// Without what is not packed.
fn without_scores(record: TraceRecord) -> TraceRecord {
    TraceRecord {
        scores: Default::default(),
        ..record
    }
}

#[test]
fn a_trace_that_one_layer_saw_takes_few_bytes() {
    let call = |start| {
        let mut record = chat(1570, 223)
            .with("gen_ai.response.model", "m-2026-01-01")
            .with("gen_ai.response.id", "chatcmpl-1")
            .with("gen_ai.conversation.id", "c")
            .with("gen_ai.usage.cache_read.input_tokens", 1024)
            .with("gen_ai.response.time_to_first_chunk", 0.3)
            .with("gen_ai.response.finish_reasons", ["stop"]);
        record.span.start_time_unix_nano += start;
        record.span.end_time_unix_nano += start;
        record
    };
    let mut packed = Vec::new();
    fold(dialects(), vec![call(0), call(SECOND)]).pack(&mut packed);
    // Names are numbers of eight bytes here, of one or two in the daemon.
    assert!(packed.len() <= 120, "{}", packed.len());
    packed.clear();
    TraceRecord::default().pack(&mut packed);
    assert_eq!(packed.len(), 0);
}

#[test]
fn what_was_not_packed_is_not_unpacked() {
    for bytes in [
        &[1][..],
        &[0x80],
        &[0, 0x80],
        &[200, 1, 1],
        &[0, 1, 255, 1, 1],
    ] {
        assert_eq!(TraceRecord::unpack(bytes), None, "{bytes:?}");
    }
}

proptest! {
    #[test]
    fn a_packed_record_is_the_record(records in records()) {
        let mut out = TraceRecord::default();
        records.iter().for_each(|record| out.fold(record));
        let mut packed = Vec::new();
        out.pack(&mut packed);
        prop_assert_eq!(TraceRecord::unpack(&packed), Some(without_scores(out)));
    }

    #[test]
    fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        if let Some(record) = TraceRecord::unpack(&bytes) {
            let mut again = Vec::new();
            record.pack(&mut again);
            prop_assert_eq!(TraceRecord::unpack(&again), Some(record));
        }
    }

    #[test]
    fn no_order_and_no_cut_matters(records in records(), order in any::<[u8; 9]>(), cuts in any::<[usize; 2]>()) {
        let fold = |records: &[SpanRecord<u64>]| {
            let mut out = TraceRecord::default();
            records.iter().for_each(|record| out.fold(record));
            out
        };
        let expected = fold(&records);
        let mut shuffled: Vec<(u8, SpanRecord<u64>)> = order.into_iter().zip(records.iter().copied()).collect();
        shuffled.sort_by_key(|(key, _)| *key);
        let shuffled: Vec<SpanRecord<u64>> = shuffled.into_iter().map(|(_, record)| record).collect();
        prop_assert_eq!(fold(&shuffled), expected);
        let mut cuts = cuts.map(|cut| cut % (records.len() + 1));
        cuts.sort_unstable();
        let parts = [&shuffled[..cuts[0]], &shuffled[cuts[0]..cuts[1]], &shuffled[cuts[1]..]].map(fold);
        let (mut left, mut right) = (parts[0], parts[1]);
        left.merge(&parts[1]);
        left.merge(&parts[2]);
        right.merge(&parts[2]);
        right.merge(&parts[0]);
        prop_assert_eq!(left, expected);
        prop_assert_eq!(right, expected);
    }
}
