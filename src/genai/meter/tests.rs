use super::*;
use crate::genai::record::SpanRecord;
use crate::genai::words::{Finish, Kind, Stand};
use crate::genai::{DialectId, TraceRecord};

const HOUR: u64 = 3600 * 1_000_000_000;

/// One call: 700 tokens in, 120 out, a first token after 0.3 s, 2 s in all.
fn call() -> TraceRecord {
    let mut record = SpanRecord::new(DialectId(0), Stand::Client, Kind::Inference);
    record.duration = 2_000_000_000;
    record.input_tokens = Some(700);
    record.output_tokens = Some(120);
    record.ttft = Some(300_000_000);
    record.finish = record.finish.with(Finish::Length);
    record.cache_hit = Some(true);
    TraceRecord::of(&record)
}

fn observation<'a>(
    record: &'a TraceRecord,
    model: &'a str,
    kept: Option<[u8; 16]>,
) -> Observation<'a> {
    Observation {
        record,
        provider: "openai",
        model,
        environment: "production",
        service: "gateway",
        error_type: "",
        kept,
        decided: HOUR,
    }
}

/// A meter with a series in each of its families.
pub(crate) fn full() -> Meter {
    let mut failed = SpanRecord::new(DialectId(0), Stand::Client, Kind::Inference);
    failed.error = true;
    failed.time_per_output_token = Some(1);
    (failed.queue, failed.prefill, failed.decode) = (Some(1), Some(2), Some(3));
    let tool = SpanRecord::new(DialectId(0), Stand::Client, Kind::Tool);
    let mut record = call();
    record.fold(&failed);
    record.fold(&tool);
    let meter = Meter::new(10);
    meter.observe(&observation(&record, "m", None));
    meter.observe_score(&ScoreObservation {
        evaluation: "e",
        environment: "",
        service: "",
        value: 0.5,
    });
    meter
}

fn lines<'a>(text: &'a str, part: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.contains(part)).collect()
}

const SERIES: &str = r#"provider="openai",model="gpt-5-2025-08-07",family="gpt-5",version="2025-08-07",environment="production",service="gateway""#;

#[test]
fn a_trace_is_counted_and_measured() {
    let (meter, record) = (Meter::new(10), call());
    meter.observe(&observation(&record, "gpt-5-2025-08-07", Some([0xab; 16])));
    meter.observe(&observation(&record, "gpt-5-2025-08-07", None));
    let text = meter.openmetrics(HOUR);
    let check = |line: String| assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    check(format!(
        "tailwater_llm_traces_total{{{},outcome=\"keep\"}} 1",
        SERIES
    ));
    check(format!(
        "tailwater_llm_traces_total{{{},outcome=\"drop\"}} 1",
        SERIES
    ));
    check(format!("tailwater_llm_calls_total{{{SERIES}}} 2"));
    check(format!(
        "gen_ai_client_token_usage_sum{{{SERIES},token_type=\"input\"}} 1400.0"
    ));
    check(format!(
        "gen_ai_client_token_usage_count{{{SERIES},token_type=\"output\"}} 2"
    ));
    check(format!(
        "gen_ai_client_operation_duration_seconds_sum{{{SERIES}}} 4.0"
    ));
    check(format!(
        "tailwater_llm_finish_reasons_total{{{SERIES},reason=\"length\"}} 2"
    ));
    check(format!(
        "tailwater_llm_cache_total{{{SERIES},result=\"hit\"}} 2"
    ));
    check(r#"tailwater_llm_model_info{provider="openai",model="gpt-5-2025-08-07",family="gpt-5",version="2025-08-07"} 1"#.to_owned());
    assert!(
        lines(&text, "failed")
            .iter()
            .all(|line| line.starts_with('#')),
        "nothing failed"
    );
}

#[test]
fn exemplars_lead_to_kept_traces_alone() {
    let (meter, record) = (Meter::new(10), call());
    meter.observe(&observation(&record, "m", None));
    assert_eq!(lines(&meter.openmetrics(HOUR), "trace_id"), [""; 0]);
    meter.observe(&observation(&record, "m", Some([0xab; 16])));
    meter.observe(&observation(&record, "m", None));
    let text = meter.openmetrics(HOUR);
    let found = lines(&text, "trace_id");
    // Four kinds of tokens, the duration, the first token.
    assert_eq!(found.len(), 6, "{found:?}");
    let id = "# {trace_id=\"abababababababababababababababab\"}";
    assert!(found.iter().all(|line| line.contains(id)), "{found:?}");
}

#[test]
fn series_are_bounded() {
    let (meter, record) = (Meter::new(3), call());
    for model in ["a", "b", "c", "d", "a"] {
        meter.observe(&observation(&record, model, None));
    }
    let text = meter.openmetrics(HOUR);
    let found = lines(&text, "tailwater_llm_calls_total");
    assert_eq!(found.len(), 3, "{found:?}");
    let other = found.iter().find(|line| line.contains("model=\"other\""));
    assert!(other.is_some_and(|line| line.ends_with(" 2")), "{found:?}");
    for evaluation in ["a", "b", "c", "d"] {
        let score = ScoreObservation {
            evaluation,
            environment: "",
            service: "",
            value: 0.5,
        };
        meter.observe_score(&score);
    }
    assert_eq!(
        lines(&meter.openmetrics(HOUR), "evaluation_score_count").len(),
        3
    );
}

#[test]
fn models_that_rest_are_no_longer_live() {
    let (meter, record) = (Meter::new(3), call());
    meter.observe(&observation(&record, "a", None));
    assert_eq!(
        lines(&meter.openmetrics(2 * HOUR - 1), "model_info{").len(),
        1
    );
    assert_eq!(lines(&meter.openmetrics(2 * HOUR), "model_info{").len(), 0);
    assert_eq!(lines(&meter.openmetrics(2 * HOUR), "calls_total{").len(), 1);
}

#[test]
fn a_trace_without_calls_is_nothing() {
    let meter = Meter::new(3);
    meter.observe(&observation(&TraceRecord::default(), "a", Some([1; 16])));
    assert!(
        meter
            .openmetrics(HOUR)
            .lines()
            .all(|line| line.starts_with('#'))
    );
}

#[test]
fn hostile_names_stay_in_their_quotes() {
    let (meter, record) = (Meter::new(3), call());
    meter.observe(&observation(&record, "m\"} 1\nx{a=\"\\", None));
    let text = meter.openmetrics(HOUR);
    let names = ["tailwater_llm_", "gen_ai_", "# "];
    assert!(
        text.lines()
            .all(|line| names.iter().any(|name| line.starts_with(name))),
        "{text}"
    );
    assert!(text.contains(r#"model="m\"} 1\nx{a=\"\\","#), "{text}");
}

#[test]
fn error_types_are_bounded() {
    let mut failed = SpanRecord::new(DialectId(0), Stand::Client, Kind::Inference);
    failed.error = true;
    let (meter, record) = (Meter::new(3), TraceRecord::of(&failed));
    for error_type in ["a", "b", "c", "d", "a"] {
        meter.observe(&Observation {
            error_type,
            ..observation(&record, "m", None)
        });
    }
    let text = meter.openmetrics(HOUR);
    let found = lines(&text, "failed_calls_total{");
    assert_eq!(found.len(), 3, "{found:?}");
    let count = |error: &str| {
        let label = format!("error_type=\"{error}\"");
        let line = found.iter().find(|line| line.contains(&label));
        line.and_then(|line| line.rsplit(' ').next())
    };
    assert_eq!((count("a"), count("other")), (Some("2"), Some("2")));
}

#[test]
fn a_model_lives_as_long_as_one_of_its_series() {
    let (meter, record) = (Meter::new(9), call());
    let in_environment = |environment, decided| {
        meter.observe(&Observation {
            environment,
            decided,
            ..observation(&record, "a", None)
        });
    };
    in_environment("staging", HOUR);
    in_environment("production", HOUR + HOUR / 2);
    let live = |now| lines(&meter.openmetrics(now), "model_info{").len();
    assert_eq!((live(2 * HOUR), live(2 * HOUR + HOUR / 2)), (1, 0));
}
