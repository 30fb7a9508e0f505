//! A W3C tracestate: its members, and the sampling fields of its `ot` member.
//!
//! The Collector reads it with two parsers. The `trace_state` policy asks the OpenTelemetry SDK for Go: a repeated key, more
//! than 32 members or a member of blanks make the whole malformed. Sampling has a reader of its own, which minds none of
//! these (the last `ot` counts), but takes 31 members and 1024 bytes at most. Both skip empty members and blanks around one,
//! and refuse an upper-case key, one that begins with a digit (the tenant part aside), and `=` inside a value. What is
//! malformed is left as it is.

use super::sampling::{SamplingState, parse_randomness, parse_threshold, threshold_digits};

/// W3C Trace Context level 2, section 3.3.1.1: at most 32 members.
const MAX_MEMBERS: usize = 32;
/// Sampling's reader stops before the 32nd, empty ones included.
const MAX_SAMPLING_MEMBERS: usize = 31;
const MAX_SAMPLING_BYTES: usize = 1024;
/// ... and 256 characters in a key or a value.
const MAX_PART: usize = 256;
/// OpenTelemetry's member key.
pub(super) const OT: &str = "ot";

/// The members in order as the SDK reads them; `None` when the text is malformed.
fn members(text: &str) -> Option<Vec<(&str, &str)>> {
    let mut out: Vec<(&str, &str)> = Vec::new();
    for member in text.split(',').filter(|member| !member.is_empty()) {
        let (key, value) = member_of(member)?;
        if out.iter().any(|(other, _)| *other == key) {
            return None;
        }
        out.push((key, value));
        if out.len() > MAX_MEMBERS {
            return None;
        }
    }
    Some(out)
}

/// The members in order as sampling reads them.
pub(super) fn sampling_members(text: &str) -> Option<Vec<(&str, &str)>> {
    // A comma at the end begins no member.
    let list = text.strip_suffix(',').unwrap_or(text).split(',');
    if text.len() > MAX_SAMPLING_BYTES || list.clone().count() > MAX_SAMPLING_MEMBERS {
        return None;
    }
    list.filter(|member| !member.trim_matches(BLANKS).is_empty())
        .map(member_of)
        .collect()
}

const BLANKS: [char; 2] = [' ', '\t'];

fn member_of(member: &str) -> Option<(&str, &str)> {
    let (key, value) = member.trim_matches(BLANKS).split_once('=')?;
    (is_key(key) && is_value(value)).then_some((key, value))
}

fn is_key(key: &str) -> bool {
    let rest = |byte: u8| {
        byte.is_ascii_lowercase()
            || byte.is_ascii_digit()
            || matches!(byte, b'_' | b'-' | b'*' | b'/')
    };
    let simple = |part: &str, digit_first: bool| {
        part.bytes().enumerate().all(|(at, byte)| match at {
            0 => byte.is_ascii_lowercase() || (digit_first && byte.is_ascii_digit()),
            _ => rest(byte),
        }) && !part.is_empty()
    };
    match key.split_once('@') {
        // Tenant and system: 241 and 14 characters.
        Some((tenant, system)) => {
            tenant.len() <= 241
                && system.len() <= 14
                && simple(tenant, true)
                && simple(system, false)
        }
        None => key.len() <= MAX_PART && simple(key, false),
    }
}

fn is_value(value: &str) -> bool {
    let fits = !value.is_empty() && value.len() <= MAX_PART && !value.ends_with(' ');
    fits && value
        .bytes()
        .all(|byte| (b' '..=b'~').contains(&byte) && byte != b',' && byte != b'=')
}

/// The value of member `key`; `None` when it is missing or the tracestate is malformed.
pub(crate) fn member<'a>(text: &'a [u8], key: &str) -> Option<&'a str> {
    let text = std::str::from_utf8(text).ok()?;
    let found = members(text)?.into_iter().find(|(other, _)| *other == key);
    found.map(|(_, value)| value)
}

/// The fields of an `ot` member that are not ours, in order.
type Unknown<'a> = Vec<(&'a str, &'a str)>;

/// An `ot` member.
#[derive(Default)]
pub(super) struct Ot<'a> {
    pub(super) state: SamplingState,
    /// The digits of `rv` as they came.
    pub(super) randomness: Option<&'a str>,
    /// Those of `th`.
    pub(super) threshold: Option<&'a str>,
    pub(super) unknown: Unknown<'a>,
}

/// `ot`'s fields, the last of each counts; `None` when it is out of form.
fn ot_fields(value: &str) -> Option<Ot<'_>> {
    let mut ot = Ot::default();
    for field in value.split(';') {
        let (key, value) = field.split_once(':')?;
        let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let starts = key.as_bytes().first().is_some_and(u8::is_ascii_lowercase);
        let key_is_good = key
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        if !starts || !key_is_good || !value.bytes().all(good) {
            return None;
        }
        match key {
            "rv" => {
                ot.state.randomness = Some(parse_randomness(value)?);
                ot.randomness = Some(value);
            }
            "th" => {
                ot.state.threshold = Some(parse_threshold(value)?);
                ot.threshold = Some(value);
            }
            _ => ot.unknown.push((key, value)),
        }
    }
    Some(ot)
}

/// The last `ot` of several, all of which must be in form; an empty one when there is none.
pub(super) fn last_ot<'a>(members: &[(&'a str, &'a str)]) -> Option<Ot<'a>> {
    members
        .iter()
        .filter(|(key, _)| *key == OT)
        .try_fold(Ot::default(), |_, (_, value)| ot_fields(value))
}

/// The sampling fields of a tracestate; empty ones when it has none, `None` when it is malformed.
pub(crate) fn sampling_state(text: &[u8]) -> Option<SamplingState> {
    if text.is_empty() {
        return Some(SamplingState::default());
    }
    let members = sampling_members(std::str::from_utf8(text).ok()?)?;
    Some(last_ot(&members)?.state)
}

/// What becomes of a span's tracestate when its trace is kept under a threshold.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Rewritten {
    /// The span's own threshold is stricter: byte for byte as it came.
    Same,
    /// The new text.
    New(String),
    /// As it came, and counted.
    Malformed,
}

/// `th` becomes `threshold`, unless the span's own is stricter. `ot` goes first, in it `rv`, `th`, then what else it has.
pub(crate) fn with_threshold(text: &[u8], threshold: u64) -> Rewritten {
    let parsed = std::str::from_utf8(text)
        .ok()
        .and_then(sampling_members)
        .and_then(|members| Some((last_ot(&members)?, members)));
    let Some((ot, members)) = parsed else {
        return Rewritten::Malformed;
    };
    if ot.state.threshold.is_some_and(|own| own > threshold) {
        return Rewritten::Same;
    }
    let mut out = String::from("ot=");
    if let Some(digits) = ot.randomness {
        out += &format!("rv:{digits};");
    }
    out += &format!("th:{}", threshold_digits(threshold));
    for (key, value) in ot.unknown {
        out += &format!(";{key}:{value}");
    }
    for (key, value) in members.iter().filter(|(key, _)| *key != OT) {
        out += &format!(",{key}={value}");
    }
    Rewritten::New(out)
}

#[cfg(test)]
mod tests {
    use super::super::sampling::{ALWAYS, threshold_of};
    use super::*;

    #[test]
    fn finds_members_as_the_go_sdk() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(member(text.as_bytes(), "k"), expected, "{text}");
        };
        check("k=v", Some("v"));
        check("a=b,k=v", Some("v"));
        check("a=b, k=v ,", Some("v"));
        check("k=v,,a=b", Some("v"));
        check("t1@sys=x,k=v", Some("v"));
        check("1t@sys=x,k=v", Some("v"));
        check("k=v,k=w", None);
        check("K=x,k=v", None);
        check("1a=x,k=v", None);
        check("k =v", None);
        check("k=a=b", None);
        check("k=v,,=", None);
        check("k=v, ,a=b", None);
        check("k=v, ", None);
        check("", None);
        check("k=", None);
        let many = |n: usize| {
            let rest: Vec<String> = (1..n).map(|i| format!("a{i}=x")).collect();
            format!("k=v,{}", rest.join(","))
        };
        check(&many(32), Some("v"));
        check(&many(33), None);
        assert_eq!(member(b"k=\xff", "k"), None);
    }

    #[test]
    fn rewrites_as_the_collector() {
        let check = |text: &str, threshold, expected: Rewritten| {
            assert_eq!(
                with_threshold(text.as_bytes(), threshold),
                expected,
                "{text}"
            );
        };
        let new = |text: &str| Rewritten::New(text.to_owned());
        check("", ALWAYS, new("ot=th:0"));
        check("x=y", ALWAYS, new("ot=th:0,x=y"));
        check("ot=th:c", ALWAYS, Rewritten::Same);
        check("x=y,ot=th:8", ALWAYS, Rewritten::Same);
        check("x=y,ot=th:8", threshold_of(0.25), new("ot=th:c,x=y"));
        check("ot=zz:1", ALWAYS, new("ot=th:0;zz:1"));
        check(
            "ot=zz:1;rv:00000000000001",
            ALWAYS,
            new("ot=rv:00000000000001;th:0;zz:1"),
        );
        check("ot=th:xyz", ALWAYS, Rewritten::Malformed);
        // As strict already, and written anew all the same.
        check("x=y,ot=th:80", threshold_of(0.5), new("ot=th:8,x=y"));
        check("k=v,k=w", ALWAYS, new("ot=th:0,k=v,k=w"));
        check(" a=b , ,k=v,", ALWAYS, new("ot=th:0,a=b,k=v"));
        check("ot=th:8,ot=zz:1", ALWAYS, new("ot=th:0;zz:1"));
        check("ot=th:xyz,ot=th:8", ALWAYS, Rewritten::Malformed);
        let upper = "ot=rv:FFFFFFFFFFFFFF";
        check(upper, ALWAYS, new("ot=rv:FFFFFFFFFFFFFF;th:0"));
        check("ot=zz:", ALWAYS, new("ot=th:0;zz:"));
        for text in [
            "K=v", "k =v", "k=v=w", "k=", "ot=zz:1;", "ot=", "ot=:1", "k=v,,=",
        ] {
            check(text, ALWAYS, Rewritten::Malformed);
        }
        let many = |n: usize| vec!["a=b"; n].join(",");
        check(&many(31), ALWAYS, new(&format!("ot=th:0,{}", many(31))));
        check(&many(32), ALWAYS, Rewritten::Malformed);
        let long = vec![format!("k={}", "v".repeat(254)); 4].join(",");
        check(&format!("{long},a=b"), ALWAYS, Rewritten::Malformed);
        assert_eq!(with_threshold(b"\xff", ALWAYS), Rewritten::Malformed);
    }

    #[test]
    fn reads_the_sampling_fields() {
        let state = sampling_state(b"a=b,ot=rv:ffffffffffffff;th:8");
        let expected = SamplingState {
            randomness: Some((1 << 56) - 1),
            threshold: Some(1 << 55),
        };
        assert_eq!(state, Some(expected));
        assert_eq!(sampling_state(b""), Some(SamplingState::default()));
        assert_eq!(sampling_state(b"a=b"), Some(SamplingState::default()));
        assert_eq!(sampling_state(b"ot=th:"), None);
    }
}
