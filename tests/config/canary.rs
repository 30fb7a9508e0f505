//! No secret in any output, and no panic, whatever is typed.

use proptest::prelude::*;
use tailwater::config::{Source, load};

use super::env;

/// A config in which every secret is a canary, in flow and block style.
const CONFIG: &str = r#"receivers:
  otlp:
    protocols:
      grpc: {endpoint: "0.0.0.0:4317"}
      http:
        endpoint: 0.0.0.0:4318
        auth: {authenticator: canary1}
        response_headers: {x-a: canary2}
processors:
  tail_sampling:
    decision_wait: 10s
    num_traces: ${env:CANARY}
    policies:
      - name: risky
        type: prompt_keyword
        prompt_keyword:
          keywords:
            - canary3 one
            - "canary4
              two"
          files: [canary5.txt]
      - {name: coin, type: probabilistic, probabilistic: {sampling_percentage: 10, hash_salt: canary6}}
      - {name: words, type: prompt_keyword, prompt_keyword: {keywords: [canary7, "canary8"]}}
      - {name: slow, type: latency, latency: {threshold_ms: 500}}
exporters:
  otlp:
    endpoint: collector:4317
    headers: {authorization: Bearer canary9, x-team: canary10}
    timeout: 5s
  otlphttp:
    endpoint: https://user:canary11@backend:4318
    headers:
      authorization: >-
        Bearer
        canary12
      x-other: ${CANARY}
    tls:
      insecure: true
      key_pem: |
        canary13
        canary14
service:
  telemetry: {logs: {level: info}}
  pipelines:
    traces: {receivers: [otlp], processors: [tail_sampling], exporters: [otlp, otlphttp]}
"#;

/// One slip in the text.
#[derive(Debug, Clone)]
enum Slip {
    Delete(usize, usize),
    Insert(usize, &'static str),
    RepeatLine(usize),
    DropLine(usize),
    Indent(usize, usize),
}

const PIECES: [&str; 18] = [
    "x", ":", ": ", "\n", " ", "\t", "\"", "'", "{", "}", "[", "]", "#", "- ", "&a ", "*a",
    "\u{0}", "${",
];

fn slip() -> impl Strategy<Value = Slip> {
    let at = 0..CONFIG.len();
    prop_oneof![
        (at.clone(), 1_usize..4).prop_map(|(at, n)| Slip::Delete(at, n)),
        (at, proptest::sample::select(&PIECES[..])).prop_map(|(at, piece)| Slip::Insert(at, piece)),
        (0_usize..48).prop_map(Slip::RepeatLine),
        (0_usize..48).prop_map(Slip::DropLine),
        (0_usize..48, 0_usize..6).prop_map(|(line, by)| Slip::Indent(line, by)),
    ]
}

fn apply(text: &str, slip: &Slip) -> String {
    let chars: Vec<char> = text.chars().collect();
    let collect = |parts: [&[char]; 3]| parts.concat().into_iter().collect::<String>();
    let lines = |change: &dyn Fn(usize, &str) -> Option<String>| {
        let lines: Vec<String> = text
            .lines()
            .enumerate()
            .filter_map(|(i, line)| change(i, line))
            .collect();
        lines.join("\n")
    };
    match slip {
        Slip::Delete(at, n) => {
            let (at, end) = ((*at).min(chars.len()), (at + n).min(chars.len()));
            collect([&chars[..at], &[], &chars[end..]])
        }
        Slip::Insert(at, piece) => {
            let at = (*at).min(chars.len());
            collect([
                &chars[..at],
                &piece.chars().collect::<Vec<_>>(),
                &chars[at..],
            ])
        }
        Slip::RepeatLine(at) => lines(&|i, line| {
            Some(if i == *at {
                format!("{line}\n{line}")
            } else {
                line.to_owned()
            })
        }),
        Slip::DropLine(drop) => lines(&|i, line| (i != *drop).then(|| line.to_owned())),
        Slip::Indent(at, by) => lines(&|i, line| {
            Some(if i == *at {
                format!("{}{}", " ".repeat(*by), line.trim_start())
            } else {
                line.to_owned()
            })
        }),
    }
}

fn printed(text: &str) -> String {
    let found = match load(&[Source::text("config.yaml", text)], &[], &env) {
        Ok(loaded) => loaded.warnings,
        Err(found) => found,
    };
    found.iter().map(|found| format!("{found}\n")).collect()
}

#[test]
fn nothing_shows_without_a_slip() {
    let printed = printed(CONFIG);
    assert!(
        printed.contains(
            "config.yaml:7:9: error: receivers.otlp.protocols.http.auth: not supported yet"
        ),
        "{printed}"
    );
    assert!(
        printed.contains("config.yaml:12:17: error: processors.tail_sampling.num_traces"),
        "{printed}"
    );
    assert!(!printed.contains("canary"), "{printed}");
}

#[test]
fn overrides_show_no_secret() {
    for set in [
        "exporters.otlp.headers.x=canary",
        "exporters.otlp.headers=[canary]",
        "canary",
        "exporters.otlp.heders.x=canary",
    ] {
        let found = load(
            &[Source::text("config.yaml", CONFIG)],
            &[set.to_owned()],
            &env,
        )
        .unwrap_err();
        let printed: String = found.iter().map(|found| format!("{found}\n")).collect();
        assert!(!printed.contains("canary"), "{set}: {printed}");
    }
}

proptest! {
    #![proptest_config(crate::cases::cases(200))]

    #[test]
    fn one_slip_shows_no_secret(slip in slip()) {
        let text = apply(CONFIG, &slip);
        let printed = printed(&text);
        prop_assert!(!printed.contains("canary"), "{text}\n=====\n{printed}");
    }

    #[test]
    fn many_slips_do_not_panic(slips in proptest::collection::vec(slip(), 1..12)) {
        let text = slips.iter().fold(CONFIG.to_owned(), |text, slip| apply(&text, slip));
        let _ = printed(&text);
    }

    #[test]
    fn any_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = printed(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_yaml_like_text_does_not_panic(text in "([-:{}\\[\\],\"'&*!|>#% \nabc0-9$]|receivers|service|policies){0,80}") {
        let _ = printed(&text);
    }
}
