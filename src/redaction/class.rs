//! The field classes, and the words by which parts of a message show theirs.
//!
//! The words are those of the recorded dialects (genai.md section 2 and 9): OpenAI, Anthropic, OpenTelemetry's message
//! schemas, Pydantic AI, Strands.

/// What a text is in a call of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FieldClass {
    /// What the user asked, and all of a request that is nothing more special.
    Prompt,
    /// What the model answered, in this call or an earlier one.
    Answer,
    /// What it thought before.
    Reasoning,
    /// Instructions of the operator.
    System,
    /// What a tool was called with.
    ToolArguments,
    /// What it gave back.
    ToolResults,
    /// What was retrieved.
    Documents,
    /// Messages and stack traces of errors: they often quote the request.
    Error,
}

impl FieldClass {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Prompt,
        Self::Answer,
        Self::Reasoning,
        Self::System,
        Self::ToolArguments,
        Self::ToolResults,
        Self::Documents,
        Self::Error,
    ];

    /// As the config writes it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Answer => "answer",
            Self::Reasoning => "reasoning",
            Self::System => "system",
            Self::ToolArguments => "tool_arguments",
            Self::ToolResults => "tool_results",
            Self::Documents => "documents",
            Self::Error => "error",
        }
    }

    /// The class that the dialect table calls so. What it does not tell apart is a prompt.
    pub(super) fn of_field(word: &str) -> Self {
        match word {
            "answer" => Self::Answer,
            "reasoning" => Self::Reasoning,
            "system" => Self::System,
            "tool_arguments" => Self::ToolArguments,
            "tool_result" | "tool_results" => Self::ToolResults,
            "documents" => Self::Documents,
            _ => Self::Prompt,
        }
    }

    /// The classes that a text of this one may hold parts of.
    pub(super) fn holds(self) -> &'static [Self] {
        const OF_PROMPT: [FieldClass; 7] = [
            FieldClass::Prompt,
            FieldClass::Answer,
            FieldClass::Reasoning,
            FieldClass::System,
            FieldClass::ToolArguments,
            FieldClass::ToolResults,
            FieldClass::Documents,
        ];
        match self {
            // A conversation's history is part of its next prompt, and frameworks report both in one text.
            Self::Prompt | Self::Answer => &OF_PROMPT,
            _ => &[],
        }
    }
}

/// By the `role` of a message.
pub(super) fn of_role(role: &[u8]) -> Option<FieldClass> {
    Some(match role {
        b"system" | b"developer" => FieldClass::System,
        b"user" | b"human" => FieldClass::Prompt,
        b"assistant" | b"model" | b"ai" => FieldClass::Answer,
        b"tool" | b"function" => FieldClass::ToolResults,
        _ => return None,
    })
}

/// By the `type` (or `part_kind`, or the name of the event) of a part.
pub(super) fn of_type(kind: &[u8]) -> Option<FieldClass> {
    Some(match kind {
        b"tool_call" | b"tool-call" | b"function_call" | b"tool_use" | b"toolUse" => {
            FieldClass::ToolArguments
        }
        b"tool_call_response"
        | b"tool_result"
        | b"tool-result"
        | b"tool-return"
        | b"function_call_output"
        | b"toolResult" => FieldClass::ToolResults,
        b"reasoning" | b"thinking" | b"redacted_thinking" => FieldClass::Reasoning,
        b"system" | b"system-prompt" => FieldClass::System,
        b"human" | b"user-prompt" => FieldClass::Prompt,
        b"ai" => FieldClass::Answer,
        b"tool" => FieldClass::ToolResults,
        b"document" => FieldClass::Documents,
        event => return of_event(event),
    })
}

/// By the name of a span event that is a message, or a part of one.
pub(super) fn of_event(name: &[u8]) -> Option<FieldClass> {
    Some(match name {
        b"gen_ai.system.message" | b"gen_ai.system_instructions" => FieldClass::System,
        b"gen_ai.user.message" | b"gen_ai.content.prompt" => FieldClass::Prompt,
        b"gen_ai.assistant.message" | b"gen_ai.choice" | b"gen_ai.content.completion" => {
            FieldClass::Answer
        }
        b"gen_ai.tool.message" => FieldClass::ToolResults,
        _ => return None,
    })
}

/// By the name under which a part stands.
pub(super) fn of_member(key: &[u8]) -> Option<FieldClass> {
    Some(match key {
        b"tool_calls" | b"tool_call" | b"toolCalls" | b"function_call" | b"arguments"
        | b"toolUse" => FieldClass::ToolArguments,
        b"tool_result" | b"toolResult" | b"tool_results" => FieldClass::ToolResults,
        b"reasoning" | b"reasoning_content" | b"reasoningContent" | b"thinking" => {
            FieldClass::Reasoning
        }
        b"system" | b"instructions" | b"system_instructions" | b"system_prompt" => {
            FieldClass::System
        }
        b"documents" | b"retrieved_documents" => FieldClass::Documents,
        b"choices" | b"completion" | b"completions" | b"generations" => FieldClass::Answer,
        _ => return None,
    })
}

/// Says what a part is and nothing of its text. Only a value that looks like a word is let through under it.
pub(super) fn is_structure(key: &[u8]) -> bool {
    is_kind(key) || matches!(key, b"role" | b"finish_reason" | b"index")
}

/// Names of members that tell a part's kind.
pub(super) fn is_kind(key: &[u8]) -> bool {
    matches!(
        key,
        b"type" | b"part_kind" | b"event.name" | b"message.type"
    )
}

/// A word that a program chose: no text of anybody.
pub(super) fn is_word(text: &[u8]) -> bool {
    const LONGEST: usize = 32;
    text.len() <= LONGEST
        && text
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_places() {
        for (number, class) in FieldClass::ALL.into_iter().enumerate() {
            assert_eq!(class as usize, number);
            if class != FieldClass::Error {
                assert_eq!(FieldClass::of_field(class.word()), class);
            }
        }
    }

    #[test]
    fn words_are_words() {
        let check = |text: &str, word: bool| assert_eq!(is_word(text.as_bytes()), word, "{text}");
        check("assistant", true);
        check("tool-calls", true);
        check("two words", false);
        check("请解释", false);
        check(&"x".repeat(33), false);
    }
}
