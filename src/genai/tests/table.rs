//! Lines of the table that are wrong say where, and an operator's own lines count first.

use super::spans::made;
use crate::genai::{Dialects, Kind};

#[test]
fn a_wrong_line_says_where() {
    for (text, expected) in [
        ("[keys]\na input_tokens int", "2:19: a word is missing"),
        ("[keys]\na tokens int 1", "2:3: no such concept"),
        ("[keys]\na input_tokens integer 1", "2:16: no such form"),
        (
            "[keys]\na input_tokens str 1",
            "2:16: the concept is not written in this form",
        ),
        (
            "[keys]\na input_tokens int x",
            "2:20: a priority is a number up to 65535",
        ),
        (
            "[keys]\na input_tokens int 1 if=nobody",
            "2:22: no such dialect",
        ),
        ("[keys]\na input_tokens int 1 maybe", "2:22: no such option"),
        (
            "[keys]\na score_value float 1",
            "2:3: an evaluation needs a group",
        ),
        (
            "\n[dialects]\nours client other",
            "3:18: a condition is missing",
        ),
        ("[dialects]\nours above other key:a", "2:6: no such layer"),
        (
            "[dialects]\nours client other key=a",
            "2:19: no such condition",
        ),
        ("[kinds]\nkind LLM model chat", "2:10: no such kind"),
        ("[finish]\nstop halt", "2:6: no class of finish reasons"),
        ("[words]\na b", "2:1: no such section"),
        ("[texts]\nkey poem", "2:5: no such field of text"),
    ] {
        let error = Dialects::with(text).unwrap_err().to_string();
        assert_eq!(error, format!("extra dialects:{expected}"), "{text}");
    }
}

#[test]
fn a_house_can_add_a_dialect_of_its_own() {
    let dialects = Dialects::with(
        "[dialects]\nacme gateway inference key:acme.model\n\
         [keys]\nacme.model request_model str 1\nacme.first ttft ms 1 if=acme\nacme.in input_tokens int 1\n\
         [providers]\nacme-eu acme\n[finish]\nhalted length\n[placeholders]\nn/a\n",
    )
    .unwrap();
    let span = made("ours")
        .with("acme.model", "acme-7-2026-01-31")
        .with("acme.first", "250")
        .with("acme.in", 12.0)
        .with("gen_ai.system", "Acme-EU")
        .with("gen_ai.response.id", "N/A")
        .with("gen_ai.response.finish_reasons", "[\"HALTED\"]");
    let record = span.record(&dialects).unwrap();
    assert_eq!(dialects.name(record.dialect), "acme");
    assert_eq!(record.kind, Kind::Inference);
    assert_eq!(record.ttft, Some(250_000_000));
    assert_eq!(record.input_tokens, Some(12));
    assert_eq!(record.provider.as_deref(), Some("acme"));
    assert_eq!(record.family.as_deref(), Some("acme-7"));
    assert_eq!(record.version.as_deref(), Some("2026-01-31"));
    assert_eq!(record.response_id, None);
    let finish: Vec<&str> = record
        .finish
        .iter()
        .map(crate::genai::Finish::word)
        .collect();
    assert_eq!(finish, ["length"]);
}

#[test]
fn a_span_of_no_dialect_has_no_record() {
    let dialects = Dialects::with("").unwrap();
    let span = made("POST /")
        .with("http.request.method", "POST")
        .with("session.id", "s")
        .with("ai.model.name", "m");
    assert!(span.record(&dialects).is_none());
}
