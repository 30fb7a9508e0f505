//! Rules of reading that no recording shows: engines, units, clamps, placeholders, evaluations, doubtful spans.

use super::spans::{Made, SECOND, dialects, made};
use crate::genai::{Anomaly, Dialects, Finish, Kind, SpanRecord, Stand};

const MS: u64 = 1_000_000;

/// What the table says of the span, in one line.
fn line(dialects: &Dialects, span: Made) -> String {
    span.record(dialects).map_or("none".to_owned(), |record| {
        format!(
            "{} {} {} {}",
            dialects.name(record.dialect),
            record.stand.word(),
            record.kind.word(),
            record.operation.map_or("-", crate::genai::Operation::word)
        )
    })
}

#[allow(clippy::too_many_lines, reason = "a table")]
#[test]
fn spans_are_recognised() {
    let dialects = dialects();
    for (span, expected) in [
        (made("llm_request").server(), "vllm engine inference -"),
        (made("llm_request"), "none"),
        (
            made("x").with("gen_ai.latency.e2e", 1.0),
            "vllm engine inference -",
        ),
        (
            made(" Req 1234abcd").with("module", "sglang::request"),
            "sglang engine inference -",
        ),
        (
            made("prefill_waiting").scope("sglang server"),
            "sglang engine engine_phase -",
        ),
        (made("prefill_waiting"), "none"),
        (
            made("resnet").with("triton.model_name", "resnet"),
            "triton engine inference -",
        ),
        (
            made("generate").with("queue_time", "1ms"),
            "tgi engine inference -",
        ),
        (made("generate"), "none"),
        (
            made("http-request").with("ttft_ms", 12.5),
            "dynamo gateway inference -",
        ),
        (made("http-request").with("http.route", "/"), "none"),
        (
            made("kong.gen_ai").with("gen_ai.operation.name", "chat"),
            "kong gateway inference chat",
        ),
        (
            made("ChatCompletion")
                .scope("envoyproxy/ai-gateway")
                .with("openinference.span.kind", "LLM"),
            "envoy gateway inference chat",
        ),
        (
            made("chat m")
                .scope("envoyproxy/ai-gateway")
                .with("gen_ai.operation.name", "chat"),
            "envoy gateway inference chat",
        ),
        (
            made("chat m")
                .service("litellm-proxy")
                .with("gen_ai.operation.name", "chat"),
            "otel gateway inference chat",
        ),
        (
            made("x")
                .with("gen_ai.span.kind", "LLM")
                .with("gen_ai.system", "rtp_llm"),
            "rtp-llm engine inference chat",
        ),
        (
            made("x").with("gen_ai.span.kind", "RERANKER"),
            "alibaba client rerank rerank",
        ),
        (
            made("x")
                .with("gen_ai.framework", "dify")
                .with("gen_ai.span.kind", "RETRIEVER"),
            "dify framework retrieval retrieval",
        ),
        (
            made("x").with("gen_ai.operation.name", "unheard_of"),
            "otel client other -",
        ),
        (
            made("x").with("gen_ai.request.model", "m"),
            "otel client other -",
        ),
        (
            made("x")
                .with("gen_ai.system", "openai")
                .with("gen_ai.usage.prompt_tokens", 3),
            "otel client inference -",
        ),
        (
            made("x")
                .with("gen_ai.system", "openai")
                .with("llm.request.type", "chat"),
            "openllmetry client inference chat",
        ),
        (
            made("x")
                .with("langsmith.span.kind", "retriever")
                .with("gen_ai.operation.name", "embeddings"),
            "langsmith framework retrieval retrieval",
        ),
        (
            made("x").with("mlflow.spanType", "\"CHAT_MODEL\""),
            "mlflow client inference chat",
        ),
        (
            made("x")
                .with("logfire.span_type", "pending_span")
                .with("gen_ai.operation.name", "chat")
                .scope("pydantic-ai"),
            "pending framework other -",
        ),
        (
            made("x")
                .with("evaluations.0.evaluation.name", "n")
                .with("evaluations.0.evaluation.score", 1.0),
            "openinference client evaluator -",
        ),
        (
            made("gpu.prefill").with("ai.prefill.duration_ms", 3),
            "seed engine engine_phase -",
        ),
        (made("gpu.prefill"), "none"),
        (
            made("request").with("ai.input_tokens", 3),
            "seed client inference -",
        ),
        (made("x").with("ai.telemetry.functionId", "f"), "none"),
    ] {
        let name = format!("{span:?}");
        assert_eq!(line(dialects, span), expected, "{name}");
    }
}

#[test]
fn times_are_read_in_the_unit_of_their_dialect() {
    let dialects = dialects();
    let chat = || made("chat").with("gen_ai.operation.name", "chat");
    let key = "gen_ai.server.time_to_first_token";
    let check = |span: Made, expected: Option<u64>| {
        let name = format!("{span:?}");
        assert_eq!(span.record(dialects).unwrap().ttft, expected, "{name}");
    };
    check(chat().with(key, 0.25), Some(250 * MS));
    check(
        chat().scope("strands.telemetry.tracer").with(key, 250),
        Some(250 * MS),
    );
    check(
        chat().with("gen_ai.user.time_to_first_token", 250_000_000),
        Some(250 * MS),
    );
    check(
        made("x").with("gen_ai.latency.time_to_first_token", 0.25),
        Some(250 * MS),
    );
    let rtp = made("x").with("gen_ai.system", "rtp_llm");
    check(
        rtp.clone().with("gen_ai.latency.time_to_first_token", 250),
        Some(250 * MS),
    );
    check(made("http-request").with("ttft_ms", 250), Some(250 * MS));
    let langfuse = made("x").with("langfuse.observation.type", "generation");
    check(
        langfuse.with(
            "langfuse.observation.completion_start_time",
            "\"2023-11-14T22:13:20.250Z\"",
        ),
        Some(250 * MS),
    );
    // The first event, and the better key before it.
    let events = || {
        chat()
            .event("llm.content.completion.chunk", 400 * MS, &[])
            .event("llm.content.completion.chunk", 300 * MS, &[])
    };
    check(events(), Some(300 * MS));
    check(
        events().with("gen_ai.response.time_to_first_chunk", 0.29),
        Some(290 * MS),
    );
    // What cannot be is left out, and what comes next is believed.
    check(
        chat()
            .with("gen_ai.response.time_to_first_chunk", -0.1)
            .with(key, 0.25),
        Some(250 * MS),
    );
    check(chat().with(key, 2.5), None);
    check(
        chat().with(key, 0.25).with("gen_ai.request.stream", false),
        None,
    );
}

#[test]
fn engines_tell_queue_prefill_and_decode() {
    let dialects = dialects();
    let times = |span: Made| {
        let record = span.record(dialects).unwrap();
        (
            record.queue,
            record.prefill,
            record.decode,
            record.time_per_output_token,
        )
    };
    let vllm = made("llm_request")
        .server()
        .with("gen_ai.latency.time_in_queue", 0.1)
        .with("gen_ai.latency.time_in_model_prefill", 0.2)
        .with("gen_ai.latency.time_in_model_decode", 1.0)
        .with("gen_ai.usage.prompt_tokens", 7)
        .with("gen_ai.usage.completion_tokens", 11);
    assert_eq!(
        times(vllm),
        (Some(100 * MS), Some(200 * MS), Some(SECOND), Some(100 * MS))
    );
    let requeued = made("llm_request")
        .server()
        .with("gen_ai.latency.time_in_queue", -48.0);
    assert_eq!(times(requeued.clone()).0, None);
    assert_eq!(requeued.anomalies(dialects).of(Anomaly::Negative), 1);
    let rtp = made("x")
        .with("gen_ai.system", "rtp_llm")
        .with("gen_ai.latency.time_in_model_prefill", 5_000_000);
    assert_eq!(times(rtp).1, Some(5 * MS));
    let tgi = made("generate_stream")
        .with("queue_time", "850.1µs")
        .with("time_per_token", "12.5ms");
    assert_eq!(times(tgi), (Some(850_100), None, None, Some(12_500_000)));
    let triton = made("resnet")
        .with("triton.model_name", "resnet")
        .event("QUEUE_START", 10 * MS, &[])
        .event("COMPUTE_START", 35 * MS, &[]);
    assert_eq!(times(triton).0, Some(25 * MS));
    let phase = made("prefill_forward").scope("sglang server");
    assert_eq!(times(phase).1, Some(2 * SECOND));
}

#[test]
fn counts_are_of_the_convention() {
    let dialects = dialects();
    let chat = || made("chat").with("gen_ai.operation.name", "chat");
    let tokens = |span: Made| {
        let record = span.record(dialects).unwrap();
        (
            record.input_tokens,
            record.output_tokens,
            record.cached_tokens,
        )
    };
    let both = chat()
        .with("gen_ai.usage.prompt_tokens", 8)
        .with("gen_ai.usage.input_tokens", 7);
    assert_eq!(tokens(both).0, Some(7), "the newer key");
    // Anthropic's own numbers: cached tokens are not among those that went in.
    let exclusive = chat()
        .with("gen_ai.usage.input_tokens", 25)
        .with("gen_ai.usage.cache_read_input_tokens", 30)
        .with("gen_ai.usage.cache_creation_input_tokens", 8);
    assert_eq!(tokens(exclusive), (Some(63), None, Some(30)));
    let words = chat()
        .with("gen_ai.usage.input_tokens", "57")
        .with("gen_ai.usage.output_tokens", "");
    assert_eq!(tokens(words.clone()), (Some(57), None, None));
    assert_eq!(
        words.anomalies(dialects).of(Anomaly::Malformed),
        0,
        "an empty text is absent"
    );
    let failed = chat()
        .status(2)
        .with("gen_ai.usage.input_tokens", 0)
        .with("gen_ai.usage.output_tokens", 0);
    assert_eq!(tokens(failed), (None, None, None));
    let absurd = chat()
        .with("gen_ai.usage.input_tokens", 200_000_000)
        .with("gen_ai.usage.output_tokens", -1);
    assert_eq!(tokens(absurd.clone()), (None, None, None));
    let anomalies = absurd.anomalies(dialects);
    assert_eq!(
        (
            anomalies.of(Anomaly::TooLarge),
            anomalies.of(Anomaly::Negative)
        ),
        (1, 1)
    );
}

#[test]
fn errors_have_many_marks() {
    let dialects = dialects();
    let chat = || made("chat").with("gen_ai.operation.name", "chat");
    let error = |span: Made| {
        let record = span.record(dialects).unwrap();
        (record.error, record.error_type)
    };
    let class = |name: &str| (true, Some(name.to_owned()));
    assert_eq!(error(chat()), (false, None));
    assert_eq!(error(chat().status(2)), (true, None));
    assert_eq!(
        error(chat().with("error.type", "openai.RateLimitError")),
        class("RateLimitError")
    );
    assert_eq!(error(chat().with("error.type", "429")), class("429"));
    assert_eq!(
        error(chat().with("http.response.status_code", 503)),
        (true, None)
    );
    assert_eq!(
        error(chat().with("http.response.status_code", 200)),
        (false, None)
    );
    let thrown = || chat().event("exception", 1, &[("exception.type", "a.b.Timeout")]);
    assert_eq!(error(thrown()), class("Timeout"));
    assert_eq!(error(thrown().status(1)), (false, None), "dealt with");
    let langfuse = made("x").with("langfuse.observation.type", "generation");
    assert_eq!(
        error(langfuse.with("langfuse.observation.level", "ERROR")),
        (true, None)
    );
    let sglang = made("r")
        .with("module", "sglang::request")
        .with("gen_ai.response.finish_reasons", "[\"abort\"]");
    assert_eq!(error(sglang), (true, None));
}

#[test]
fn finish_reasons_come_as_lists_json_and_words() {
    let dialects = dialects();
    let chat = || made("chat").with("gen_ai.operation.name", "chat");
    let check = |span: Made, expected: &[Finish]| {
        let found: Vec<Finish> = span.record(dialects).unwrap().finish.iter().collect();
        assert_eq!(found, expected);
    };
    check(
        chat().with("gen_ai.response.finish_reasons", ["stop", "MAX_TOKENS"]),
        &[Finish::Stop, Finish::Length],
    );
    check(
        chat().with("gen_ai.response.finish_reasons", "[\"tool_calls\"]"),
        &[Finish::ToolCall],
    );
    check(
        chat().with("gen_ai.response.finish_reason", "tool-calls"),
        &[Finish::ToolCall],
    );
    check(
        chat().with("gen_ai.response.finish_reasons", ["", "None"]),
        &[],
    );
    check(
        chat().with("gen_ai.response.finish_reasons", ["whatever"]),
        &[Finish::Other],
    );
    // Indices may be missing or enormous: no place is made for them.
    check(
        chat()
            .with("gen_ai.completion.7.finish_reason", "stop")
            .with("gen_ai.completion.4000000000.finish_reason", "SAFETY"),
        &[Finish::Stop, Finish::ContentFilter],
    );
    // The better key stands alone.
    check(
        chat()
            .with("gen_ai.completion.0.finish_reason", "length")
            .with("gen_ai.response.finish_reasons", ["stop"]),
        &[Finish::Stop],
    );
}

#[test]
fn placeholders_and_floods_are_absent() {
    let dialects = dialects();
    let long = "m".repeat(257);
    let chat = || made("chat").with("gen_ai.operation.name", "chat");
    for value in ["", "__REDACTED__", "redacted", "None", &long] {
        let record = chat()
            .with("gen_ai.request.model", value)
            .record(dialects)
            .unwrap();
        assert_eq!(record.request_model, None, "{value}");
    }
    let flood = chat().with("gen_ai.request.model", long.as_str());
    assert_eq!(flood.anomalies(dialects).of(Anomaly::TooLong), 1);
    for (value, expected) in [
        ("OpenAI", Some("openai")),
        ("azure", Some("azure.ai.openai")),
        ("langchain", None),
        ("_OTHER", None),
        ("house-model", Some("house-model")),
    ] {
        let record = chat()
            .with("gen_ai.system", value)
            .record(dialects)
            .unwrap();
        assert_eq!(record.provider.as_deref(), expected, "{value}");
    }
}

#[test]
fn evaluations_are_joined() {
    let dialects = dialects();
    let scores =
        |record: &SpanRecord<String>| -> Vec<(Option<String>, Option<f64>, Option<String>)> {
            record
                .scores
                .iter()
                .map(|score| (score.name.clone(), score.value, score.label.clone()))
                .collect()
        };
    let named = |name: &str, value: f64, label: Option<&str>| {
        (Some(name.to_owned()), Some(value), label.map(str::to_owned))
    };
    let inline = made("x")
        .with("openinference.span.kind", "EVALUATOR")
        .with("evaluations.1.evaluation.score", 0.2)
        .with("evaluations.1.evaluation.name", "toxicity")
        .with("evaluations.0.evaluation.name", "hallucination")
        .with("evaluations.0.evaluation.score", "0.9")
        .with("evaluations.0.evaluation.label", "bad");
    let record = inline.record(dialects).unwrap();
    assert_eq!(record.kind, Kind::Evaluator);
    assert_eq!(
        scores(&record),
        [
            named("hallucination", 0.9, Some("bad")),
            named("toxicity", 0.2, None)
        ]
    );
    let otel = made("x")
        .with("gen_ai.evaluation.name", "relevance")
        .with("gen_ai.evaluation.score.value", 0.5);
    assert_eq!(
        scores(&otel.record(dialects).unwrap()),
        [named("relevance", 0.5, None)]
    );
    let event = |name: &'static str, value: &'static str| {
        [
            ("gen_ai.evaluation.name", name),
            ("gen_ai.evaluation.score.value", value),
        ]
    };
    let events = made("x")
        .with("gen_ai.operation.name", "chat")
        .event("gen_ai.evaluation.result", 1, &event("a", "0.1"))
        .event("gen_ai.evaluation.result", 2, &event("b", "0.2"));
    assert_eq!(
        scores(&events.record(dialects).unwrap()),
        [named("a", 0.1, None), named("b", 0.2, None)]
    );
    let old = made("x")
        .with("gen_ai.operation.name", "chat")
        .with("gen_ai.eval.groundedness", 4);
    assert_eq!(
        scores(&old.record(dialects).unwrap()),
        [named("groundedness", 4.0, None)]
    );
    let mut many = made("x").with("openinference.span.kind", "EVALUATOR");
    for number in 0..6 {
        many = many.with(&format!("evaluations.{number}.evaluation.score"), number);
    }
    assert_eq!(
        many.clone().record(dialects).unwrap().scores.iter().count(),
        4
    );
    assert_eq!(many.anomalies(dialects).of(Anomaly::TooManyScores), 2);
}

#[test]
fn a_gateway_by_its_service_and_an_engine_below_it() {
    let dialects = dialects();
    let engine = made("llm_request")
        .server()
        .service("litellm-proxy")
        .record(dialects)
        .unwrap();
    assert_eq!(engine.stand, Stand::Engine);
}
