//! The table as a page of the documentation.

use super::dialects::Dialects;
use super::rows::{DialectRow, KeyRow, Rows};
use super::words::{Concept, Form};
use std::fmt::Write;

const HEAD: &str = "\
# LLM dialects

Printed from `src/genai/dialects.table`; a test keeps it so. What a span says is read by these rows, whatever library wrote
it: of several keys that tell one concept the one with the lowest priority number counts. Keys marked with \\* rest on
documentation alone; every other stands in a recording (`tests/fixtures/llm`).

## Dialects

The first row whose conditions all hold names the dialect and the layer. `framework` and `sdk` are the outer and the inner part
of the client layer. A span for which none holds is of no dialect and costs one look-up for each attribute.

| dialect | layer | kind, where no key tells it | conditions |
| --- | --- | --- | --- |
";

/// The page, in Markdown.
#[must_use]
pub fn reference(dialects: &Dialects) -> String {
    let rows = &dialects.rows;
    let mut out = HEAD.to_owned();
    for row in &rows.dialects {
        dialect(&mut out, row);
    }
    out += "\n## Keys\n\n`{i}` and `{j}` stand for numbers, `KEY#PATH` is a value inside JSON text, `event:NAME` an event and ";
    out += "`event:NAME@KEY` its attribute, `name:NAME` a span of that name. Times are kept as nanoseconds.\n";
    let forms: Vec<&str> = Form::ALL.iter().map(|form| form.word()).collect();
    let _ = writeln!(out, "\nForms: {}.", forms.join(", "));
    for concept in Concept::ALL {
        keys(&mut out, rows, *concept);
    }
    kinds(&mut out, rows);
    words(&mut out, rows);
    texts(&mut out, rows);
    out
}

// Writing to a string cannot fail, here and below.

fn dialect(out: &mut String, row: &DialectRow) {
    let conditions = row.text.replace(',', ", ");
    let _ = writeln!(
        out,
        "| {} | {} | {}{} | {conditions} |",
        row.dialect,
        row.stand.word(),
        row.kind.word(),
        if row.fixed { ", always" } else { "" },
    );
}

fn keys(out: &mut String, rows: &Rows, concept: Concept) {
    let mut own: Vec<&KeyRow> = rows
        .keys
        .iter()
        .filter(|row| row.concept == concept)
        .collect();
    own.sort_by_key(|row| row.priority);
    let _ = write!(
        out,
        "\n### {}\n\n| key | form | priority | only |\n| --- | --- | --- | --- |\n",
        concept.word()
    );
    for row in own {
        let mark = if row.doc { " \\*" } else { "" };
        let _ = writeln!(
            out,
            "| `{}`{mark} | {} | {} | {} |",
            row.text.replace('~', " "),
            row.form.word(),
            row.priority,
            only(row)
        );
    }
}

fn only(row: &KeyRow) -> String {
    let mut parts = Vec::new();
    if !row.only.is_empty() {
        let names = row.only.join(", ");
        parts.push(if row.except {
            format!("not {names}")
        } else {
            names
        });
    }
    parts.extend(row.since.as_ref().map(|version| format!("since {version}")));
    parts.extend(row.until.as_ref().map(|version| format!("until {version}")));
    parts.extend(
        row.named
            .as_ref()
            .map(|name| format!("named {}", String::from_utf8_lossy(name))),
    );
    parts.join("; ")
}

fn kinds(out: &mut String, rows: &Rows) {
    *out += "\n## Kinds and operations\n\n| key | value | kind | operation |\n| --- | --- | --- | --- |\n";
    for row in &rows.kinds {
        let value = row.value.as_deref().map_or("any other".into(), |value| {
            format!("`{}`", String::from_utf8_lossy(value))
        });
        let _ = writeln!(
            out,
            "| `{}` | {value} | {} | {} |",
            row.key,
            row.kind.word(),
            row.operation.map_or("", super::words::Operation::word),
        );
    }
}

fn words(out: &mut String, rows: &Rows) {
    *out += "\n## Finish reasons\n\n| value | class |\n| --- | --- |\n";
    for (value, class) in &rows.finish {
        let _ = writeln!(out, "| `{value}` | {} |", class.word());
    }
    *out += "\n## Providers\n\n| value | provider |\n| --- | --- |\n";
    for (value, provider) in &rows.providers {
        let provider = provider.as_deref().unwrap_or("(none)");
        let _ = writeln!(out, "| `{value}` | {provider} |");
    }
}

fn texts(out: &mut String, rows: &Rows) {
    *out += "\n## Text\n\nAttributes of spans and events that hold a prompt or an answer.\n\n| key | field |\n| --- | --- |\n";
    for row in &rows.texts {
        let _ = writeln!(out, "| `{}` | {} |", row.key, row.field.word());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_in_docs_is_fresh() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/dialects.md");
        let page = reference(&Dialects::with("").unwrap());
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &page).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == page,
            "docs/dialects.md is stale: run this test with UPDATE_DOCS=1"
        );
    }
}
