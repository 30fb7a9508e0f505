//! Which texts of a span are searched, for which policy, and how much of them.

use super::*;

#[test]
fn texts_are_told_apart_by_what_they_are() {
    let sent = |key: &str, value: &str| data(vec![span(1, 2, vec![text(key, value)])]);
    let (prompt, answer) = (TextField::Prompt, TextField::Answer);
    for whole_words in [false, true] {
        let word = |fields: &[TextField]| PolicyKind::PromptKeyword {
            keywords: vec!["bomb".into(), "请解释一下这个".into()],
            fields: TextFields::of(fields),
            whole_words,
        };
        let regex = |fields: &[TextField]| PolicyKind::PromptRegex {
            expressions: vec![r"\bb[o0]mb".into(), "解释".into()],
            fields: TextFields::of(fields),
        };
        for (fields, key, expected) in [
            (&[prompt][..], "gen_ai.input.messages", true),
            (&[prompt], "gen_ai.prompt.0.content", true),
            (&[prompt], "gen_ai.output.messages", false),
            (&[answer], "gen_ai.output.messages", true),
            (&[answer], "gen_ai.input.messages", false),
            (&[answer, prompt], "gen_ai.input.messages", true),
            (&[TextField::Documents], "gen_ai.input.messages", false),
            (TextField::ALL, "gen_ai.output.messages", true),
        ] {
            for said in [
                "a bomb!",
                r#"["\u8bf7\u89e3\u91ca\u4e00\u4e0b\u8fd9\u4e2a"]"#,
            ] {
                assert_eq!(
                    keeps(word(fields), sent(key, said)),
                    expected,
                    "{key} {said}"
                );
                assert_eq!(
                    keeps(regex(fields), sent(key, said)),
                    expected,
                    "{key} {said}"
                );
            }
        }
        let bombs = sent("gen_ai.input.messages", "Bombs");
        assert_eq!(keeps(word(&[prompt]), bombs.clone()), !whole_words);
        assert!(!keeps(regex(&[prompt]), bombs));
    }
}

#[test]
fn one_policy_s_fields_are_not_another_s() {
    let keyword = |name: &str, fields: &[TextField]| PolicySpec {
        name: name.into(),
        kind: PolicyKind::PromptKeyword {
            keywords: vec!["forbidden".into()],
            fields: TextFields::of(fields),
            whole_words: false,
        },
    };
    let policies = [
        keyword("answers", &[TextField::Answer]),
        keyword("prompts", &[TextField::Prompt]),
    ];
    let compiled = compile(&policies);
    for (key, expected) in [
        ("gen_ai.input.messages", Some(1)),
        ("gen_ai.output.messages", Some(0)),
        ("gen_ai.tool.name", None),
    ] {
        let sent = data(vec![span(1, 2, vec![text(key, "a forbidden word")])]);
        assert_eq!(compiled.decide(&[sent], &[]).policy, expected, "{key}");
    }
}

#[test]
fn a_span_is_searched_for_so_much_and_counted() {
    let kind = PolicyKind::PromptKeyword {
        keywords: vec!["at the end".into()],
        fields: TextFields::ALL,
        whole_words: false,
    };
    let compiled = compile(&[policy(kind)]);
    let most = 8 << 20;
    for (lengths, found, cut) in [
        (&[most][..], true, 0),
        (&[most + 1], false, 1),
        (&[most - 100, 100], true, 0),
        (&[most - 100, 101, 50], false, 1),
        (&[most, 20], true, 1),
    ] {
        let texts = lengths.iter().enumerate().map(|(number, length)| {
            let end = if *length >= 100 { "at the end" } else { "" };
            let last = number + 1 == lengths.len() || lengths[number + 1] < 100;
            let end = if last { end } else { "" };
            let filler = "x".repeat(length - end.len());
            text(&format!("gen_ai.prompt.{number}.content"), &(filler + end))
        });
        let sent = data(vec![span(1, 2, texts.collect())]).encode_to_vec();
        let mut scratch = ObserverScratch::default();
        let mut observer = Observer::new(&compiled.atoms, &mut scratch);
        scan(&sent, &mut observer).unwrap();
        let facts = observer.finish();
        assert_eq!(
            (facts.words_of(0) == [1], facts.cut()),
            (found, cut),
            "{lengths:?}"
        );
    }
}
