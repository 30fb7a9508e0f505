//! Messages that are spread over many attributes (`gen_ai.prompt.0.role`, `gen_ai.prompt.0.content`): what attributes
//! beside each other say of one another.

use super::class::{FieldClass, is_kind, of_member, of_role, of_type};
use super::keys::Found;
use crate::otlp::AnyValue;
use hashbrown::HashMap;

/// Classes of parts, by the beginning of their keys.
#[derive(Debug, Default)]
pub(super) struct Groups<'a> {
    classes: HashMap<&'a [u8], FieldClass>,
}

impl<'a> Groups<'a> {
    /// Learns from an attribute.
    pub(super) fn add(&mut self, key: &'a [u8], value: AnyValue<'_>) {
        let AnyValue::Str(word) = value else { return };
        let Some((group, last)) = parent(key) else {
            return;
        };
        let class = if is_kind(last) {
            of_type(word)
        } else if last == b"role" {
            of_role(word)
        } else {
            None
        };
        if let Some(class) = class {
            self.classes.insert(group, class);
        }
    }

    /// The class of an attribute: of the nearest part around it that tells one.
    pub(super) fn class_of(&self, key: &[u8], found: &Found<'_>) -> FieldClass {
        let mut at = key;
        while at.len() > found.beginning
            && let Some((group, last)) = parent(at)
        {
            if let Some(class) = of_member(last).or_else(|| self.classes.get(group).copied()) {
                return class;
            }
            at = group;
        }
        found.class
    }
}

/// The key without its last part, and that.
fn parent(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let dot = memchr::memrchr(b'.', key)?;
    Some((key.get(..dot)?, key.get(dot + 1..)?))
}

/// The last part of a key.
pub(super) fn last(key: &[u8]) -> &[u8] {
    parent(key).map_or(key, |(_, last)| last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::genai::Dialects;
    use crate::redaction::keys::Keys;

    #[test]
    fn the_nearest_part_tells() {
        let keys = Keys::of(&Dialects::with("").unwrap());
        let mut groups = Groups::default();
        for (key, word) in [
            ("gen_ai.prompt.0.role", "system"),
            ("gen_ai.prompt.1.role", "user"),
            ("gen_ai.prompt.2.role", "assistant"),
            ("llm.input_messages.0.message.role", "tool"),
            (
                "llm.output_messages.0.message.contents.1.message_content.type",
                "reasoning",
            ),
        ] {
            groups.add(key.as_bytes(), AnyValue::Str(word.as_bytes()));
        }
        let check = |key: &str, expected| {
            let found = keys.find(key.as_bytes()).unwrap();
            assert_eq!(groups.class_of(key.as_bytes(), &found), expected, "{key}");
        };
        check("gen_ai.prompt.0.content", FieldClass::System);
        check("gen_ai.prompt.1.content", FieldClass::Prompt);
        check("gen_ai.prompt.2.content", FieldClass::Answer);
        check(
            "gen_ai.prompt.2.tool_calls.0.arguments",
            FieldClass::ToolArguments,
        );
        check("gen_ai.prompt.3.content", FieldClass::Prompt);
        check(
            "llm.input_messages.0.message.content",
            FieldClass::ToolResults,
        );
        check("llm.output_messages.0.message.content", FieldClass::Answer);
        check(
            "llm.output_messages.0.message.contents.1.message_content.text",
            FieldClass::Reasoning,
        );
        check("input.value", FieldClass::Prompt);
    }
}
