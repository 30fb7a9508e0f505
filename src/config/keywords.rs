//! `prompt_keyword`: keywords inline and from files, one a line; `prompt_regex`: expressions over the same texts.
//!
//! Files are looked for beside the config file that names them. No keyword gets into a message.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::fields::Fields;
use super::item::Item;
use super::leaves;
use crate::genai::TextField;
use crate::rules::{PolicyKind, TextFields};

/// Bytes of one keyword file; a million keywords of 16 bytes.
const MAX_FILE: u64 = 16 << 20;

/// Decodes the block.
pub(crate) fn decode(block: &Item<'_>) -> Option<PolicyKind> {
    let mut fields = block.fields()?;
    let inline = fields
        .get("keywords")
        .map(|item| item.list())
        .unwrap_or_default();
    let files = fields
        .get("files")
        .map(|item| item.list())
        .unwrap_or_default();
    let mut keywords = Vec::new();
    let mut complete = true;
    for item in &inline {
        match item.string() {
            Some(keyword) if keyword.trim().is_empty() => {
                item.error("a keyword must not be empty: it would match every prompt");
                complete = false;
            }
            Some(keyword) => keywords.push(keyword),
            None => complete = false,
        }
    }
    for item in &files {
        match item.string().map(|path| read(item, &path)) {
            Some(Ok(lines)) => keywords.extend(lines),
            Some(Err(why)) => {
                item.error(why);
                complete = false;
            }
            None => complete = false,
        }
    }
    keywords.sort_unstable();
    keywords.dedup();
    if complete && keywords.is_empty() {
        block.error("no keyword: expected `keywords`, `files` or both");
        return None;
    }
    let whole_words = fields
        .get("whole_words")
        .map_or(Some(false), |item| item.boolean());
    let (text_fields, whole_words) = (text_fields(&mut fields)?, whole_words?);
    complete.then_some(PolicyKind::PromptKeyword {
        keywords,
        fields: text_fields,
        whole_words,
    })
}

/// Decodes the block of `prompt_regex`.
pub(crate) fn decode_regex(block: &Item<'_>) -> Option<PolicyKind> {
    let mut fields = block.fields()?;
    let list = fields.require("expressions", "a list of regular expressions")?;
    let items = list.list();
    if items.is_empty() {
        list.error("expected at least one regular expression");
    }
    let compiles = |item: &Item<'_>| {
        let expression = item.string()?;
        leaves::compiles(item, &expression).then_some(expression)
    };
    let expressions: Vec<String> = items.iter().filter_map(compiles).collect();
    let text_fields = text_fields(&mut fields)?;
    let complete = expressions.len() == items.len() && !items.is_empty();
    complete.then_some(PolicyKind::PromptRegex {
        expressions,
        fields: text_fields,
    })
}

/// Which texts are looked at; all where the key is absent.
fn text_fields(fields: &mut Fields<'_>) -> Option<TextFields> {
    let words: Vec<(&str, TextField)> = TextField::ALL.iter().map(|it| (it.word(), *it)).collect();
    let Some(list) = fields.get("fields") else {
        return Some(TextFields::ALL);
    };
    let items = list.list();
    if items.is_empty() {
        list.error("expected at least one kind of text; without the key all are searched");
        return None;
    }
    let read: Vec<TextField> = items
        .iter()
        .filter_map(|item| item.one_of(&words))
        .collect();
    (read.len() == items.len()).then(|| TextFields::of(&read))
}

/// The lines of a file that are not blank.
fn read(item: &Item<'_>, path: &str) -> Result<Vec<String>, String> {
    let path = item
        .decoder
        .sources
        .directory(item.node.place)
        .join(Path::new(path));
    let cannot =
        |error: std::io::Error| format!("the keyword file cannot be opened: {}", error.kind());
    // Before it is opened: opening a pipe waits for its writer.
    if !std::fs::metadata(&path).map_err(cannot)?.is_file() {
        return Err("the keyword file is not a regular file".to_owned());
    }
    let file = File::open(&path).map_err(cannot)?;
    let mut text = String::new();
    let read = file.take(MAX_FILE + 1).read_to_string(&mut text);
    read.map_err(|error| format!("the keyword file cannot be read: {}", error.kind()))?;
    if text.len() as u64 > MAX_FILE {
        return Err("the keyword file is larger than 16 MiB".to_owned());
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let lines: Vec<String> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(ToOwned::to_owned)
        .collect();
    if lines.is_empty() {
        return Err("the keyword file has no keyword".to_owned());
    }
    Ok(lines)
}
