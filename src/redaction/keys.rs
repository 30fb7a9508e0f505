//! Which class an attribute's key has, and which rule of the operator's it meets.

use super::class::FieldClass;
use super::settings::{Action, AttributeRule};
use crate::genai::Dialects;
use hashbrown::HashMap;

/// Keys that hold text beside those in which rules look for prompts and answers: what errors say, what evaluations quote,
/// copies that libraries make under names of their own (found in the recordings), and definitions of tools, which are the
/// operator's text as instructions are.
const MORE: [(&str, FieldClass); 26] = [
    ("exception.message", FieldClass::Error),
    ("exception.stacktrace", FieldClass::Error),
    ("error.message", FieldClass::Error),
    ("error.stack", FieldClass::Error),
    ("langfuse.observation.status_message", FieldClass::Error),
    ("gen_ai.evaluation.explanation", FieldClass::Answer),
    ("llm.input_messages", FieldClass::Prompt),
    ("llm.output_messages", FieldClass::Answer),
    ("llm.None.input", FieldClass::Prompt),
    ("llm.openai.choices", FieldClass::Answer),
    ("llm.invocation_parameters", FieldClass::Prompt),
    ("llm.prompt_template.*", FieldClass::Prompt),
    ("llm.tools.*", FieldClass::System),
    ("embedding.embeddings.*", FieldClass::Prompt),
    ("gen_ai.task.input", FieldClass::Prompt),
    ("gen_ai.task.output", FieldClass::Answer),
    ("gen_ai.tool.definitions", FieldClass::System),
    ("gen_ai.tool.description", FieldClass::System),
    ("tool.description", FieldClass::System),
    ("instructions", FieldClass::System),
    ("tools", FieldClass::System),
    ("model_request_parameters", FieldClass::System),
    ("mlflow.chat.tools", FieldClass::System),
    ("mlflow.chunk.value", FieldClass::Answer),
    ("logfire.msg", FieldClass::Prompt),
    ("final_result", FieldClass::Answer),
];

/// The class of a key, and what of the key stands behind the beginning that tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found<'k> {
    pub(super) class: FieldClass,
    pub(super) beginning: usize,
    pub(super) rest: &'k [u8],
}

/// Classes by key.
#[derive(Debug, Default)]
pub(super) struct Keys {
    exact: HashMap<Box<[u8]>, FieldClass>,
    /// Longest first.
    beginnings: Vec<(Box<[u8]>, FieldClass)>,
}

impl Keys {
    pub(super) fn of(dialects: &Dialects) -> Self {
        let mut keys = Self::default();
        let known = dialects
            .text_keys()
            .map(|(key, field)| (key, FieldClass::of_field(field.word())));
        for (key, class) in MORE.into_iter().chain(known) {
            match key.strip_suffix('*') {
                Some(beginning) => keys.beginnings.push((beginning.as_bytes().into(), class)),
                None => _ = keys.exact.insert(key.as_bytes().into(), class),
            }
        }
        keys.beginnings
            .sort_by_key(|(beginning, _)| std::cmp::Reverse(beginning.len()));
        keys
    }

    pub(super) fn find<'k>(&self, key: &'k [u8]) -> Option<Found<'k>> {
        if let Some(class) = self.exact.get(key) {
            return Some(Found {
                class: *class,
                beginning: key.len(),
                rest: &[],
            });
        }
        self.beginnings.iter().find_map(|(beginning, class)| {
            let rest = key.strip_prefix(&**beginning)?;
            Some(Found {
                class: *class,
                beginning: beginning.len(),
                rest,
            })
        })
    }
}

/// The first rule that names the key.
pub(super) fn rule_of<'r>(rules: &'r [AttributeRule], key: &[u8]) -> Option<&'r Action> {
    let named = |rule: &&AttributeRule| {
        let mut keys = rule.keys.iter();
        keys.any(|pattern| matches(pattern.as_bytes(), key))
    };
    rules.iter().find(named).map(|rule| &rule.action)
}

/// `*` in the pattern is any text. Linear in the text for each part of the pattern.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let mut parts = pattern.split(|byte| *byte == b'*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match memchr::memmem::find(rest, part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let check = |pattern: &str, text: &str, expected: bool| {
            let found = matches(pattern.as_bytes(), text.as_bytes());
            assert_eq!(found, expected, "{pattern} {text}");
        };
        check("user.id", "user.id", true);
        check("user.id", "user.id2", false);
        check("user.*", "user.", true);
        check("user.*", "users", false);
        check("*", "", true);
        check("*.id", "a.b.id", true);
        check("a*b*c", "a.b.b.c", true);
        check("a*b*c", "a.c.b", false);
        check("ab*ba", "aba", false);
        check("", "", true);
        check("", "a", false);
    }

    #[test]
    fn the_longest_beginning_tells() {
        let keys = Keys::of(&Dialects::with("").unwrap());
        let check = |key: &str, expected| {
            let found = keys.find(key.as_bytes()).map(|found| found.class);
            assert_eq!(found, expected, "{key}");
        };
        check("gen_ai.input.messages", Some(FieldClass::Prompt));
        check("gen_ai.completion.0.content", Some(FieldClass::Answer));
        check("gen_ai.tool.call.result", Some(FieldClass::ToolResults));
        check(
            "retrieval.documents.0.document.content",
            Some(FieldClass::Documents),
        );
        check("exception.message", Some(FieldClass::Error));
        check("gen_ai.request.model", None);
        check("http.route", None);
    }
}
