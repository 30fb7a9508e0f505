//! W3C `tracestate`, as strict as the OpenTelemetry SDK for Go.

/// List members that are taken; W3C's limit.
const MAX_MEMBERS: usize = 32;

/// Keys and values; `None` when any member is not well-formed or a key is there twice.
pub(super) fn members(text: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut out: Vec<(&[u8], &[u8])> = Vec::new();
    for member in text.split(|byte| *byte == b',') {
        if member.is_empty() {
            continue;
        }
        let at = member.iter().position(|byte| *byte == b'=')?;
        let (key, value) = (member.get(..at)?, member.get(at + 1..)?);
        let (key, value) = (trim(key, true), trim(value, false));
        let twice = out.iter().any(|(known, _)| *known == key);
        if twice || !is_key(key) || !is_value(value) || out.len() == MAX_MEMBERS {
            return None;
        }
        out.push((key, value));
    }
    Some(out)
}

/// Without blanks at the left, else at the right.
fn trim(text: &[u8], left: bool) -> &[u8] {
    let blank = |byte: &&u8| matches!(**byte, b' ' | b'\t');
    if left {
        let count = text.iter().take_while(blank).count();
        text.get(count..).unwrap_or_default()
    } else {
        let count = text.iter().rev().take_while(blank).count();
        text.get(..text.len() - count).unwrap_or_default()
    }
}

fn is_key(key: &[u8]) -> bool {
    match key.iter().position(|byte| *byte == b'@') {
        None => is_part(key, 256, false),
        Some(at) => {
            let (tenant, system) = (key.get(..at), key.get(at + 1..));
            tenant.is_some_and(|tenant| is_part(tenant, 241, true))
                && system.is_some_and(|system| is_part(system, 14, false))
        }
    }
}

fn is_part(part: &[u8], longest: usize, digit_first: bool) -> bool {
    let Some((first, rest)) = part.split_first() else {
        return false;
    };
    (first.is_ascii_lowercase() || digit_first && first.is_ascii_digit())
        && part.len() <= longest
        && rest.iter().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-*/".contains(byte)
        })
}

fn is_value(value: &[u8]) -> bool {
    let fits = |byte: &u8| matches!(byte, b' '..=b'~') && !b",=".contains(byte);
    !value.is_empty() && value.len() <= 256 && value.iter().all(fits) && value.last() != Some(&b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_well_formed_members_count() {
        let check = |text: &str, expected: Option<&[(&str, &str)]>| {
            let expected = expected.map(|pairs| {
                pairs
                    .iter()
                    .map(|(key, value)| (key.as_bytes(), value.as_bytes()))
                    .collect()
            });
            assert_eq!(members(text.as_bytes()), expected, "{text}");
        };
        check("", Some(&[]));
        check("k=v, a=b ,,", Some(&[("k", "v"), ("a", "b")]));
        check("1t@s=v", Some(&[("1t@s", "v")]));
        for broken in ["k", "K=v", "k=", "k=a=b", "k=v,k=w", "1k=v", "k=é", "k =v"] {
            check(broken, None);
        }
        check(
            &(0..33).map(|n| format!("k{n}=v,")).collect::<String>(),
            None,
        );
    }
}
