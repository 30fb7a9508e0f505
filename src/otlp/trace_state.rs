//! A W3C tracestate: its members, and the sampling fields of its `ot` member.
//!
//! As strict and as lenient as the OpenTelemetry SDK for Go, whose parser the Collector uses: empty members and blanks
//! around a member are allowed; more than 32 members, a repeated key, an upper-case key, a key that begins with a digit
//! (the tenant part aside) and `=` inside a value make the whole value malformed. What is malformed is left as it is.

use super::sampling::{SamplingState, parse_randomness, parse_threshold, threshold_digits};

/// W3C Trace Context level 2, section 3.3.1.1: at most 32 members.
const MAX_MEMBERS: usize = 32;
/// ... and 256 characters in a key or a value.
const MAX_PART: usize = 256;
/// OpenTelemetry's member key.
const OT: &str = "ot";

/// The members in order; `None` when the text is malformed.
fn members(text: &str) -> Option<Vec<(&str, &str)>> {
    let mut out: Vec<(&str, &str)> = Vec::new();
    for member in text.split(',') {
        let member = member.trim_matches([' ', '\t']);
        if member.is_empty() {
            continue;
        }
        let (key, value) = member.split_once('=')?;
        if !is_key(key) || !is_value(value) || out.iter().any(|(other, _)| *other == key) {
            return None;
        }
        out.push((key, value));
        if out.len() > MAX_MEMBERS {
            return None;
        }
    }
    Some(out)
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

/// `ot`'s fields; `None` when it is out of form.
fn ot_fields(value: &str) -> Option<(SamplingState, Unknown<'_>)> {
    let (mut state, mut unknown) = (SamplingState::default(), Unknown::new());
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
            "rv" => state.randomness = Some(parse_randomness(value)?),
            "th" => state.threshold = Some(parse_threshold(value)?),
            _ => unknown.push((key, value)),
        }
    }
    Some((state, unknown))
}

/// The sampling fields of a tracestate; empty ones when it has none, `None` when it is malformed.
pub(crate) fn sampling_state(text: &[u8]) -> Option<SamplingState> {
    if text.is_empty() {
        return Some(SamplingState::default());
    }
    let text = std::str::from_utf8(text).ok()?;
    let members = members(text)?;
    match members.iter().find(|(key, _)| *key == OT) {
        Some((_, value)) => Some(ot_fields(value)?.0),
        None => Some(SamplingState::default()),
    }
}

/// What becomes of a span's tracestate when its trace is kept under a threshold.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Rewritten {
    /// The span's own threshold is as strict or stricter: byte for byte as it came.
    Same,
    /// The new text.
    New(String),
    /// As it came, and counted.
    Malformed,
}

/// `th` becomes `threshold`, unless the span's own is stricter. `ot` goes first, in it `rv`, `th`, then what else it has.
pub(crate) fn with_threshold(text: &[u8], threshold: u64) -> Rewritten {
    let Ok(text) = std::str::from_utf8(text) else {
        return Rewritten::Malformed;
    };
    let Some(members) = members(text) else {
        return Rewritten::Malformed;
    };
    let ot = members.iter().find(|(key, _)| *key == OT);
    let Some((state, unknown)) = ot.map_or(Some(Default::default()), |(_, value)| ot_fields(value))
    else {
        return Rewritten::Malformed;
    };
    if state.threshold.is_some_and(|own| own >= threshold) {
        return Rewritten::Same;
    }
    let mut out = String::from("ot=");
    if let Some(randomness) = state.randomness {
        out += &format!("rv:{randomness:014x};");
    }
    out += &format!("th:{}", threshold_digits(threshold));
    for (key, value) in unknown {
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
        check("k=v,k=w", ALWAYS, Rewritten::Malformed);
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
