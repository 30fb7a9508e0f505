//! `ParseCSV`: one record, whose line breaks belong to its fields, read as Go's `encoding/csv` reads it.

use super::super::error::EvalError;
use super::super::evaluate::Scene;
use super::super::expression::Call;
use super::super::value::{Out, Value};
use super::entries::Entries;
use memchr::memmem;
use std::borrow::Cow;

pub(super) fn prepare(call: &mut Call) -> Result<(), String> {
    for index in [2, 3] {
        if let Some(text) = call.literal_str(index)
            && text.chars().count() != 1
        {
            return Err("a delimiter is one character".into());
        }
    }
    match call.literal_str(4) {
        None | Some("strict" | "lazyQuotes" | "ignoreQuotes") => Ok(()),
        _ => Err("the mode is strict, lazyQuotes or ignoreQuotes".into()),
    }
}

pub(super) fn parse<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let (text, header) = (call.text(scene, 0)?, call.text(scene, 1)?);
    if header.is_empty() {
        return Err(EvalError::Invalid("a CSV header is empty"));
    }
    let delimiter = call.literal_or(2, ",");
    let between = if call.has(3) {
        call.literal_or(3, ",")
    } else {
        delimiter
    };
    let names = split(&header, between);
    let fields = match call.literal_str(4) {
        Some("ignoreQuotes") => split(&text, delimiter),
        mode => record(&text, delimiter, mode == Some("lazyQuotes"))?,
    };
    if names.len() != fields.len() {
        return Err(EvalError::Invalid(
            "a CSV text has another number of fields than its header",
        ));
    }
    let mut entries = Entries::default();
    for (name, field) in names.into_iter().zip(fields) {
        let value = Value::text(field);
        entries.put(Cow::Owned(name), value);
    }
    Ok(entries.into_map(false))
}

fn split(text: &[u8], delimiter: &[u8]) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    let mut start = 0;
    for at in memmem::find_iter(text, delimiter) {
        out.push(text.get(start..at).unwrap_or_default().to_vec());
        start = at + delimiter.len();
    }
    out.push(text.get(start..).unwrap_or_default().to_vec());
    out
}

/// The text's lines with their breaks, `\r\n` as `\n`.
fn lines(text: &[u8]) -> Vec<Vec<u8>> {
    let mut out: Vec<Vec<u8>> = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let mut line = line.to_vec();
        if line.ends_with(b"\r\n") {
            line.truncate(line.len() - 2);
            line.push(b'\n');
        } else if line.ends_with(b"\r") {
            line.pop();
        }
        out.push(line);
    }
    out
}

/// Fields of all records of the text; a record's first field goes on with the last of the record before. Empty lines are
/// left out. A fault ends its record, and is an error only where the record has no field yet.
fn record(text: &[u8], delimiter: &[u8], lazy: bool) -> Result<Vec<Vec<u8>>, EvalError> {
    if matches!(delimiter, b"\"" | b"\r" | b"\n") {
        return Err(EvalError::Invalid(
            "this character cannot delimit CSV fields",
        ));
    }
    let lines = lines(text);
    let mut lines = lines.iter().map(Vec::as_slice);
    let mut out: Vec<Vec<u8>> = Vec::new();
    while let Some(line) = lines.next() {
        if matches!(line, b"" | b"\n") {
            continue;
        }
        let (fields, sound) = fields(line, &mut lines, delimiter, lazy);
        if !sound && fields.is_empty() {
            return Err(EvalError::Invalid(
                "a CSV text has a quote where none can be",
            ));
        }
        let mut fields = fields.into_iter();
        if let Some(last) = out.last_mut() {
            last.push(b'\n');
            last.extend(fields.next().unwrap_or_default());
        }
        out.extend(fields);
    }
    if out.is_empty() {
        return Err(EvalError::Invalid("a CSV text has no line"));
    }
    Ok(out)
}

/// The fields of one record, which quotes may carry over several lines, and whether it is sound.
fn fields<'t>(
    line: &'t [u8],
    more: &mut impl Iterator<Item = &'t [u8]>,
    delimiter: &[u8],
    lazy: bool,
) -> (Vec<Vec<u8>>, bool) {
    let mut out = Vec::new();
    let mut rest = line;
    loop {
        if let Some(quoted) = rest.strip_prefix(b"\"") {
            match quoted_field(quoted, more, delimiter, lazy) {
                Quoted::Field(field, Some(after)) => {
                    out.push(field);
                    rest = after;
                }
                Quoted::Field(field, None) => {
                    out.push(field);
                    return (out, true);
                }
                Quoted::Fault => return (out, false),
            }
            continue;
        }
        let end = memmem::find(rest, delimiter);
        let field = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        let field = match end {
            Some(_) => field,
            None => field.strip_suffix(b"\n").unwrap_or(field),
        };
        if !lazy && field.contains(&b'"') {
            return (out, false);
        }
        out.push(field.to_vec());
        match end {
            Some(at) => rest = rest.get(at + delimiter.len()..).unwrap_or_default(),
            None => return (out, true),
        }
    }
}

enum Quoted<'t> {
    /// The field, and what stands behind its delimiter; nothing when the record ends.
    Field(Vec<u8>, Option<&'t [u8]>),
    Fault,
}

/// A field behind its opening quote.
fn quoted_field<'t>(
    line: &'t [u8],
    more: &mut impl Iterator<Item = &'t [u8]>,
    delimiter: &[u8],
    lazy: bool,
) -> Quoted<'t> {
    let (mut field, mut rest) = (Vec::new(), line);
    loop {
        let Some(at) = memchr::memchr(b'"', rest) else {
            field.extend_from_slice(rest);
            match more.next() {
                Some(line) => rest = line,
                None if lazy => return Quoted::Field(field, None),
                None => return Quoted::Fault,
            }
            continue;
        };
        let (text, after) = rest.split_at(at);
        field.extend_from_slice(text);
        let after = after.get(1..).unwrap_or_default();
        if let Some(after) = after.strip_prefix(b"\"") {
            field.push(b'"');
            rest = after;
        } else if let Some(after) = after.strip_prefix(delimiter) {
            return Quoted::Field(field, Some(after));
        } else if matches!(after, b"" | b"\n") {
            return Quoted::Field(field, None);
        } else if lazy {
            field.push(b'"');
            rest = after;
        } else {
            return Quoted::Fault;
        }
    }
}
