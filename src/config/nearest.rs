//! The known name that a mistyped one most likely means.

/// The closest of `known`, when it is close enough to be a likely slip.
pub(crate) fn nearest<'k>(
    typed: &str,
    known: impl IntoIterator<Item = &'k str>,
) -> Option<&'k str> {
    let wanted = fold(typed);
    let allowed = (wanted.len() / 3).clamp(1, 4);
    known
        .into_iter()
        .map(|name| (distance(&wanted, &fold(name)), name))
        .filter(|(far, _)| *far <= allowed)
        .min_by_key(|(far, _)| *far)
        .map(|(_, name)| name)
}

/// Case and the kind of separator are the slips that cost nothing. Long names are cut: distance is quadratic.
fn fold(name: &str) -> Vec<char> {
    name.chars()
        .take(64)
        .map(|c| {
            if c == '-' {
                '_'
            } else {
                c.to_ascii_lowercase()
            }
        })
        .collect()
}

/// Edits (insert, delete, replace, swap of neighbours) from one to the other.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let at = |cells: &[usize], k: usize| cells.get(k).copied().unwrap_or(usize::MAX - 1);
            let mut best = at(&last, j) + usize::from(a != b);
            best = best.min(at(&last, j + 1) + 1).min(at(&row, j) + 1);
            let swapped = i > 0 && j > 0 && from.get(i - 1) == Some(b) && to.get(j - 1) == Some(a);
            if swapped {
                best = best.min(at(&before_last, j - 1) + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_likely_slip() {
        let known = [
            "threshold_ms",
            "upper_threshold_ms",
            "key",
            "values",
            "endpoint",
        ];
        let check = |typed: &str, expected: Option<&str>| {
            assert_eq!(nearest(typed, known), expected, "{typed}")
        };
        check("treshold_ms", Some("threshold_ms"));
        check("threshold-ms", Some("threshold_ms"));
        check("Key", Some("key"));
        check("ky", Some("key"));
        check("vaules", Some("values"));
        check("end_point", Some("endpoint"));
        check("bogus", None);
        check("", None);
        check(&"x".repeat(100_000), None);
    }

    #[test]
    fn distances() {
        let check = |a: &str, b: &str, expected: usize| {
            assert_eq!(distance(&fold(a), &fold(b)), expected, "{a} {b}")
        };
        check("", "", 0);
        check("", "abc", 3);
        check("abc", "", 3);
        check("ab", "ba", 1);
        check("kitten", "sitting", 3);
    }
}
