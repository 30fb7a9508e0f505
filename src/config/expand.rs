//! `${env:NAME}`, `${NAME}`, `${NAME:-default}`, and `$$` for a dollar sign, in string values.
//!
//! A value that is one whole `${...}` becomes what YAML makes of the variable's text (a number, a list, ...), and stays
//! the text where a string is wanted; inside a longer text it is put in as it is. References nest
//! (`${A:-${B}}`); the text of a variable is not expanded again.
//!
//! A variable that is not set and has no default is an error: the Collector goes on with an empty value and a warning in
//! its log, which turns a forgotten token into a sampler that exports nothing. `${NAME:-}` asks for the empty value.
//!
//! What came out of the environment is secret.

use super::decoder::{Decoder, join};
use super::node::{Node, Value};
use super::yaml;

/// Looks a variable up.
pub(crate) type Env<'e> = &'e dyn Fn(&str) -> Option<String>;

/// References within references.
const MAX_DEPTH: u8 = 8;
/// Bytes that one value may grow to.
const MAX_BYTES: usize = 1 << 20;

/// Expands every string below `node`.
pub(crate) fn expand(decoder: &Decoder<'_>, node: &mut Node, path: &str, env: Env<'_>) {
    let secret = node.secret;
    match &mut node.value {
        Value::Map(entries) => {
            for entry in entries {
                let path = if secret {
                    join(path, "<key>")
                } else {
                    join(path, &entry.key)
                };
                expand(decoder, &mut entry.node, &path, env);
            }
        }
        Value::Seq(items) => {
            for (i, item) in items.iter_mut().enumerate() {
                expand(decoder, item, &format!("{path}[{i}]"), env);
            }
        }
        Value::Str(text) if text.contains('$') => match expand_text(text, env) {
            Ok(expanded) => put(node, expanded),
            Err(message) => {
                decoder.error(node.place, path, message);
                node.value = Value::Faulty;
            }
        },
        _ => {}
    }
}

struct Expanded {
    text: String,
    /// Something came from the environment.
    used: bool,
    /// The text was one reference and nothing else.
    whole: bool,
}

fn put(node: &mut Node, expanded: Expanded) {
    let place = node.place;
    if !expanded.used {
        node.value = Value::Str(expanded.text);
        return;
    }
    if !expanded.whole {
        node.value = Value::Str(expanded.text);
        node.secret = true;
        return;
    }
    // What is no YAML is a text, as in the Collector.
    let mut value = yaml::parse(&expanded.text, place.file)
        .map_or_else(|_| Value::Str(expanded.text.clone()), |n| n.value);
    move_to(&mut value, place);
    *node = Node {
        place,
        value,
        secret: true,
        expanded: Some(expanded.text),
    };
    node.hide();
}

/// Places inside a variable's text mean nothing: all of it stands where the reference stands.
fn move_to(value: &mut Value, place: super::node::Place) {
    match value {
        Value::Seq(items) => items.iter_mut().for_each(|item| {
            item.place = place;
            move_to(&mut item.value, place);
        }),
        Value::Map(entries) => entries.iter_mut().for_each(|entry| {
            entry.key_place = place;
            entry.node.place = place;
            move_to(&mut entry.node.value, place);
        }),
        _ => {}
    }
}

fn expand_text(text: &str, env: Env<'_>) -> Result<Expanded, String> {
    let mut out = Expanded {
        text: String::new(),
        used: false,
        whole: false,
    };
    let mut rest = text;
    let mut references = 0;
    while let Some(at) = rest.find('$') {
        let (before, after) = rest.split_at(at);
        out.text.push_str(before);
        if let Some(after) = after.strip_prefix("$$") {
            out.text.push('$');
            rest = after;
        } else if let Some(body) = after.strip_prefix("${") {
            let (value, after) = reference(body, env, 0)?;
            out.whole = references == 0 && out.text.is_empty() && after.is_empty();
            references += 1;
            out.used = true;
            out.text.push_str(&value);
            rest = after;
        } else {
            out.text.push('$');
            rest = after.strip_prefix('$').unwrap_or_default();
        }
        if out.text.len() > MAX_BYTES {
            return Err("grows beyond 1 MiB when its variables are put in".to_owned());
        }
    }
    out.text.push_str(rest);
    Ok(out)
}

/// Reads a reference behind its `${`; gives its value and what follows the `}`.
fn reference<'t>(body: &'t str, env: Env<'_>, depth: u8) -> Result<(String, &'t str), String> {
    if depth > MAX_DEPTH {
        return Err("references `${...}` are nested too deeply".to_owned());
    }
    let mut inner = String::new();
    let mut rest = body;
    loop {
        let Some(at) = rest.find(['}', '$']) else {
            return Err("`${` without its `}`; write `$$` for a dollar sign".to_owned());
        };
        let (before, after) = rest.split_at(at);
        inner.push_str(before);
        if let Some(after) = after.strip_prefix('}') {
            return Ok((resolve(&inner, env)?, after));
        }
        if let Some(body) = after.strip_prefix("${") {
            let (value, after) = reference(body, env, depth + 1)?;
            inner.push_str(&value);
            rest = after;
        } else {
            inner.push('$');
            rest = after
                .strip_prefix("$$")
                .or_else(|| after.strip_prefix('$'))
                .unwrap_or_default();
        }
        if inner.len() > MAX_BYTES {
            return Err("grows beyond 1 MiB when its variables are put in".to_owned());
        }
    }
}

fn resolve(inner: &str, env: Env<'_>) -> Result<String, String> {
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    let name = match name.split_once(':') {
        None => name,
        Some(("env", name)) => name,
        Some((scheme, _)) if is_name(scheme) => {
            return Err(format!(
                "`${{{scheme}:...}}` is not supported yet; use `${{env:NAME}}` or put the value here"
            ));
        }
        Some(_) => {
            return Err("expected the name of an environment variable in `${...}`".to_owned());
        }
    };
    if !is_name(name) {
        return Err(
            "expected the name of an environment variable (letters, digits, `_`) in `${...}`"
                .to_owned(),
        );
    }
    match (env(name), default) {
        (Some(value), _) => Ok(value),
        (None, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(format!(
            "the environment variable `{name}` is not set; `${{{name}:-default}}` gives it a default"
        )),
    }
}

/// The names that the Collector takes. A name is cut off from messages when it is no name: it may be anything.
fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && text.len() <= 256
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn env(name: &str) -> Option<String> {
        match name {
            "PORT" => Some("4317".to_owned()),
            "HOST" => Some("host.example".to_owned()),
            "EMPTY" => Some(String::new()),
            "NAME" => Some("PORT".to_owned()),
            "RAW" => Some("a$$b${HOST}".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn expands_text() {
        let check = |text: &str, expected: Result<&str, &str>| {
            let got = expand_text(text, &env).map(|e| e.text);
            match (got, expected) {
                (Ok(got), Ok(expected)) => assert_eq!(got, expected, "{text}"),
                (Err(got), Err(part)) => assert!(got.contains(part), "{text}: {got}"),
                (got, _) => panic!("{text}: {got:?}"),
            }
        };
        check("${env:PORT}", Ok("4317"));
        check("${PORT}", Ok("4317"));
        check(
            "http://${HOST}:${env:PORT}/x",
            Ok("http://host.example:4317/x"),
        );
        check("${NOPE:-fallback}", Ok("fallback"));
        check("${env:NOPE:-a:-b}", Ok("a:-b"));
        check("${NOPE:-}", Ok(""));
        check("${EMPTY:-x}", Ok(""));
        check("${NOPE:-${PORT}}", Ok("4317"));
        check("${env:${NAME}}", Ok("4317"));
        check("$$", Ok("$"));
        check("a$$b", Ok("a$b"));
        check("$${PORT}", Ok("${PORT}"));
        check("$$${PORT}", Ok("$4317"));
        check("cost $5 and $HOST", Ok("cost $5 and $HOST"));
        check("$", Ok("$"));
        check("${RAW}", Ok("a$$b${HOST}"));
        check("${NOPE}", Err("`NOPE` is not set"));
        check("${env:NOPE}", Err("`NOPE` is not set"));
        check("${PORT", Err("without its `}`"));
        check("${}", Err("expected the name"));
        check("${a b}", Err("expected the name"));
        check(
            "${file:secret.txt}",
            Err("`${file:...}` is not supported yet"),
        );
        check(&"${A:-".repeat(20), Err("nested too deeply"));
    }

    proptest! {
        #[test]
        fn never_panics(text in "[${}:a-zA-Z_ -]{0,60}") {
            let _ = expand_text(&text, &env);
        }

        #[test]
        fn text_without_dollar_stays(text in "[^$]{0,60}") {
            prop_assert_eq!(expand_text(&text, &env).map(|e| e.text), Ok(text));
        }
    }
}
