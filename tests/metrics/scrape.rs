//! A strict reader of Prometheus' text format 0.0.4: what a lenient one would let pass is an error here.

use std::collections::{BTreeMap, BTreeSet};

/// One family.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Family {
    pub(crate) kind: String,
    pub(crate) help: String,
    /// Values by labels, as `a=1,b=2` with the labels sorted.
    pub(crate) samples: BTreeMap<String, f64>,
    /// Label names, of all samples.
    pub(crate) labels: BTreeSet<Vec<String>>,
}

/// A parsed page.
#[derive(Debug, Default)]
pub(crate) struct Scrape(pub(crate) BTreeMap<String, Family>);

impl Scrape {
    pub(crate) fn value(&self, name: &str, labels: &str) -> Option<f64> {
        self.0.get(name)?.samples.get(labels).copied()
    }
}

/// Parses a page; the error names the line.
pub(crate) fn parse(text: &str) -> Result<Scrape, String> {
    let mut scrape = Scrape::default();
    let mut current = String::new();
    if !text.ends_with('\n') {
        return Err("no newline at the end".to_owned());
    }
    for line in text.lines().filter(|line| !line.is_empty()) {
        let taken = match line.strip_prefix("# ") {
            Some(comment) => take_comment(&mut scrape, &mut current, comment),
            None => take_sample(&mut scrape, &current, line),
        };
        taken.map_err(|error| format!("{error}: {line}"))?;
    }
    let whole = |family: &Family| {
        !family.help.is_empty() && !family.kind.is_empty() && !family.samples.is_empty()
    };
    match scrape.0.iter().find(|(_, family)| !whole(family)) {
        Some((name, _)) => Err(format!("{name} lacks help, type or samples")),
        None => Ok(scrape),
    }
}

fn take_comment(scrape: &mut Scrape, current: &mut String, comment: &str) -> Result<(), String> {
    let mut words = comment.splitn(3, ' ');
    let (Some(word), Some(name), Some(rest)) = (words.next(), words.next(), words.next()) else {
        return Err("a short comment".to_owned());
    };
    if name != current && scrape.0.contains_key(name) {
        return Err("a family in two places".to_owned());
    }
    *current = name.to_owned();
    let family = scrape.0.entry(name.to_owned()).or_default();
    let field = match word {
        "HELP" => &mut family.help,
        "TYPE" if ["counter", "gauge", "histogram"].contains(&rest) => &mut family.kind,
        _ => return Err("an unknown comment or type".to_owned()),
    };
    if !field.is_empty() || !family.samples.is_empty() {
        return Err("twice, or behind samples".to_owned());
    }
    rest.clone_into(field);
    Ok(())
}

fn take_sample(scrape: &mut Scrape, current: &str, line: &str) -> Result<(), String> {
    let end = line.find(['{', ' ']).ok_or("no value")?;
    let (name, rest) = line.split_at(end);
    let family = scrape.0.get_mut(current).ok_or("outside of a family")?;
    let part = name.strip_prefix(current).ok_or("outside of its family")?;
    let parts: &[&str] = match family.kind.as_str() {
        "histogram" => &["_bucket", "_sum", "_count"],
        _ => &[""],
    };
    if !parts.contains(&part) {
        return Err("outside of its family".to_owned());
    }
    let (labels, value) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    let value: f64 = value
        .strip_prefix(' ')
        .ok_or("no space")?
        .parse()
        .map_err(|_| "not a number")?;
    if !value.is_finite() || (family.kind == "counter" && value < 0.0) {
        return Err("an impossible value".to_owned());
    }
    // Of a histogram the number of values is kept.
    match part {
        "_bucket" if labels.iter().any(|(name, _)| name == "le") => return Ok(()),
        "_bucket" => return Err("a bucket without a bound".to_owned()),
        "_sum" => return Ok(()),
        _ => {}
    }
    family
        .labels
        .insert(labels.iter().map(|(name, _)| name.clone()).collect());
    let mut key: Vec<String> = labels
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    key.sort();
    match family.samples.insert(key.join(","), value) {
        Some(_) => Err("the same labels twice".to_owned()),
        None => Ok(()),
    }
}

type Labels = Vec<(String, String)>;

/// Behind the `{`: the labels, and what follows the `}`.
fn labels(mut rest: &str) -> Result<(Labels, &str), String> {
    let mut labels = Labels::new();
    loop {
        let (name, quoted) = rest.split_once("=\"").ok_or("a label without a value")?;
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return Err("not a label name".to_owned());
        }
        let mut value = String::new();
        let mut chars = quoted.char_indices();
        let end = loop {
            match chars.next().ok_or("an open quote")? {
                (at, '"') => break at,
                (_, '\\') => value.push(match chars.next() {
                    Some((_, 'n')) => '\n',
                    Some((_, escaped @ ('\\' | '"'))) => escaped,
                    _ => return Err("an unknown escape".to_owned()),
                }),
                (_, char) => value.push(char),
            }
        };
        labels.push((name.to_owned(), value));
        rest = &quoted[end + 1..];
        match (rest.strip_prefix('}'), rest.strip_prefix(',')) {
            (Some(value), _) => return Ok((labels, value)),
            (_, Some(next)) => rest = next,
            _ => return Err("no comma".to_owned()),
        }
    }
}

#[test]
fn is_strict() {
    let check = |body: &str, good: bool| {
        let text = format!("# HELP a A.\n# TYPE a gauge\n{body}\n");
        assert_eq!(parse(&text).is_ok(), good, "{text}");
    };
    check("a 1", true);
    check("a{b=\"x\\\"\\\\\\n\",c=\"\"} 1.5", true);
    check("", false);
    check("b 1", false);
    check("a NaN", false);
    check("a one", false);
    check("a{b=\"x\"} 1\na{b=\"x\"} 2", false);
    check("a{b=\"x} 1", false);
    check("a{b=\"\\x\"} 1", false);
    check("a 1\n# TYPE b gauge\nb 1", false);
    check("a 1\n# HELP b B.\n# TYPE b gauge\nb 1\na 2", false);
    assert!(parse("# HELP a A.\n# TYPE a gauge\na 1").is_err());
}
