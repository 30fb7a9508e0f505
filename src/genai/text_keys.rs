//! Attributes of spans and span events whose text is a prompt or an answer.
//!
//! Source: the dialects of OpenTelemetry (five generations), OpenLLMetry, OpenInference, Langfuse, LangSmith, OpenLIT,
//! Pydantic AI, MLflow, Vercel AI, LiteLLM, Dify and TGI, read from their sources or recorded on the wire. Tool
//! definitions are left out: they are larger than the prompt and the same in each request.

/// A key, or the beginning of many (`*` at the end).
pub const TEXT_KEYS: &[&str] = &[
    // OpenTelemetry 1.37 and later.
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.retrieval.documents",
    "gen_ai.retrieval.query.text",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    // OpenTelemetry 1.26 to 1.36, as span events and in some SDKs as attributes.
    "gen_ai.prompt",
    "gen_ai.completion",
    "gen_ai.event.content",
    "content",
    // OpenLLMetry (old), LiteLLM v1, LangSmith, agentgateway.
    "gen_ai.prompt.*",
    "gen_ai.completion.*",
    "traceloop.entity.input",
    "traceloop.entity.output",
    "llm.openai.messages",
    "llm.anthropic.messages",
    // OpenInference.
    "input.value",
    "output.value",
    "llm.input_messages.*",
    "llm.output_messages.*",
    "llm.prompts.*",
    "llm.choices.*",
    "retrieval.documents.*",
    "retrieval.query",
    // Langfuse.
    "langfuse.observation.input",
    "langfuse.observation.output",
    "langfuse.trace.input",
    "langfuse.trace.output",
    // Pydantic AI, Logfire.
    "events",
    "all_messages_events",
    "pydantic_ai.all_messages",
    "final_result",
    "tool_arguments",
    "tool_response",
    // MLflow.
    "mlflow.spanInputs",
    "mlflow.spanOutputs",
    // Vercel AI.
    "ai.prompt",
    "ai.prompt.messages",
    "ai.response.text",
    "ai.result.text",
    "ai.response.object",
    "ai.response.toolCalls",
    "ai.toolCall.args",
    "ai.toolCall.result",
    // TGI.
    "generation",
];
