//! What must never be shown: values below keys that hold prompts' words or credentials, and what `${env}` put in.
//!
//! A key counts as secret also when it is one slip away from one (`header`, `keyword`), so that a typing error does not
//! show what the right spelling would have hidden. Whole source lines are hidden as soon as a secret value reaches them.
//! The values of unknown keys are hidden too ([`super::decoder::Decoder::at_key`]): nobody knows what they are.

use super::nearest::nearest;
use super::node::{Node, Place, Value};

/// Below these keys nothing is shown.
const KEYS: [&str; 21] = [
    "keywords",
    "prompt_keyword",
    "prompt_regex",
    "headers",
    "response_headers",
    "auth",
    "authorization",
    "authenticator",
    "hash_salt",
    "hash_key",
    "ca_pem",
    "cert_pem",
    "key_pem",
    "password",
    "passwd",
    "secret",
    "token",
    "api_key",
    "credentials",
    "cookies",
    "sasl",
];
/// Known keys that look like one of the above.
const PLAIN: [&str; 6] = ["readers", "encoding", "key", "path", "paths", "min_spans"];
/// Structure below `prompt_keyword` that is no keyword.
const STRUCTURE: [&str; 2] = ["name", "type"];

/// Whether what stands below `key` is secret.
pub(crate) fn is_secret_key(key: &str) -> bool {
    if PLAIN.contains(&key) || STRUCTURE.contains(&key) {
        return false;
    }
    // A key with something in front of it is still that key.
    let mut words = key
        .split(|c: char| !(c.is_alphanumeric() || "_-".contains(c)))
        .filter(|word| (3..=24).contains(&word.len()));
    words.any(|word| KEYS.contains(&word) || nearest(word, KEYS).is_some())
}

/// Marks secret values in a tree.
pub(crate) fn mark(node: &mut Node) {
    match &mut node.value {
        Value::Map(entries) => {
            for entry in entries {
                if is_secret_key(&entry.key) {
                    entry.node.hide();
                } else {
                    mark(&mut entry.node);
                }
            }
        }
        Value::Seq(items) => items.iter_mut().for_each(mark),
        Value::Str(text) => node.secret |= holds_credentials(text),
        _ => {}
    }
}

/// Perhaps a URL with user information (however misspelt), or a default for an environment variable.
fn holds_credentials(text: &str) -> bool {
    let authority = text.split_once("//").map_or("", |(_, rest)| rest);
    let user =
        text.contains('@') || (authority.matches(':').count() > 1 && !authority.contains('['));
    user || (text.contains("${") && text.contains(":-"))
}

/// Which lines of `text` (from 0) hold a secret; `tree` is marked.
pub(crate) fn lines(tree: &Node, text: &str) -> Vec<bool> {
    let mut starts = Vec::new();
    collect(tree, &mut starts);
    // At one place (an alias and its anchor) secret wins.
    starts.sort_unstable_by_key(|(line, column, secret)| (*line, *column, !*secret));
    starts.dedup_by_key(|(line, column, _)| (*line, *column));
    let all: Vec<&str> = text.lines().collect();
    let mut hidden = vec![false; all.len()];
    // A secret value may go on until the next thing that is none. From the end: each line is marked once.
    let mut end = all.len();
    for (line, column, secret) in starts.into_iter().rev() {
        if secret {
            let first = line.saturating_sub(1);
            hidden
                .iter_mut()
                .take(end.max(line))
                .skip(first)
                .for_each(|line| *line = true);
            end = first;
        } else {
            end = end_line(&all, line, column);
        }
    }
    hidden
}

/// How many lines belong to what stands before a place.
fn end_line(all: &[&str], line: usize, column: usize) -> usize {
    let before = all
        .get(line.saturating_sub(1))
        .map(|text| text.chars().take(column.saturating_sub(1)));
    let starts_its_line =
        before.is_some_and(|mut chars| chars.all(|c| c.is_whitespace() || c == '-'));
    if starts_its_line {
        line.saturating_sub(1)
    } else {
        line
    }
}

fn collect(node: &Node, starts: &mut Vec<(usize, usize, bool)>) {
    if node.secret || !node.is_null() {
        add_start(starts, node.place, node.secret);
    }
    match &node.value {
        Value::Map(entries) => {
            for entry in entries {
                // The key of a secret value is not secret, except inside a secret mapping.
                add_start(starts, entry.key_place, node.secret);
                collect(&entry.node, starts);
            }
        }
        Value::Seq(items) => items.iter().for_each(|item| collect(item, starts)),
        _ => {}
    }
}

fn add_start(starts: &mut Vec<(usize, usize, bool)>, place: Place, secret: bool) {
    if let (Ok(line), Ok(column)) = (usize::try_from(place.line), usize::try_from(place.column))
        && line > 0
    {
        starts.push((line, column, secret));
    }
}

#[cfg(test)]
mod tests {
    use super::super::yaml;
    use super::*;

    #[test]
    fn hides_lines_that_a_secret_reaches() {
        let check = |text: &str, expected: &[usize]| {
            let mut tree = yaml::parse(text, 0).unwrap_or_else(|broken| panic!("{broken:?}"));
            mark(&mut tree);
            let hidden: Vec<usize> = lines(&tree, text)
                .iter()
                .enumerate()
                .filter(|(_, h)| **h)
                .map(|(i, _)| i + 1)
                .collect();
            assert_eq!(hidden, expected, "{text}");
        };
        check("a: 1\nb: 2", &[]);
        check("a: 1\nheaders: {x: y}\nb: 2", &[2]);
        check("headers:\n  x: y\n  z: w\nb: 2", &[2, 3]);
        check("headers: {x: \"y\n  z\"}\nb: 2", &[1, 2]);
        check("{headers: {x: \"y\n  z\"}, b: 2}\n", &[1, 2]);
        check("keywords: |\n  one\n\n  two\nb: 2", &[2, 3, 4]);
        check("keyword: [a,\n b]\nb: 2", &[1, 2]);
        check("a: &w word\nkeywords: [*w]", &[1, 2]);
        check("keywords:\n- a\n- b\nreaders: 1", &[2, 3]);
        check("endpoint: http://user:pass@host\nb: 1", &[1]);
        check("endpoint: ${env:X:-hunter2}", &[1]);
        check("name: x\nheaders:\n  x: y", &[3]);
    }

    #[test]
    fn secret_keys() {
        for key in [
            "keywords",
            "keyword",
            "header",
            "Headers",
            "auth",
            "hash_salt",
            "ca_pem",
            "pasword",
            "apikey",
        ] {
            assert!(is_secret_key(key), "{key}");
        }
        for key in [
            "readers", "endpoint", "values", "key", "name", "policies", "files", "latency", "path",
            "batch",
        ] {
            assert!(!is_secret_key(key), "{key}");
        }
    }
}
