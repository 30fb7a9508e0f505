//! The closed vocabularies of the table: concepts, forms, kinds, operations, layers, finish classes.
//!
//! Each has one word, which the table, the documentation and metric labels share. Names that are open (dialects,
//! providers, models) are data and stand elsewhere.

macro_rules! words {
    ($(#[$meta:meta])* $vis:vis $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// Every one, in order.
            $vis const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// As the table writes it.
            #[must_use]
            $vis fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The one with this word.
            #[must_use]
            $vis fn of(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

words! {
    /// What a span is about.
    pub Kind {
        /// A model was asked for text.
        Inference = "inference",
        /// A model was asked for vectors.
        Embeddings = "embeddings",
        /// Documents were looked up.
        Retrieval = "retrieval",
        /// Documents were put in order by a model.
        Rerank = "rerank",
        /// A tool ran.
        Tool = "tool",
        /// An agent ran or was made.
        Agent = "agent",
        /// A chain, workflow, task or step.
        Workflow = "workflow",
        /// A check of input or output.
        Guardrail = "guardrail",
        /// A judgement of an answer.
        Evaluator = "evaluator",
        /// A part of the work of a serving engine.
        EnginePhase = "engine_phase",
        /// The HTTP side of a gateway.
        Http = "http",
        /// Of a known library, but none of these.
        Other = "other",
    }
}

words! {
    /// The operation, as OpenTelemetry 1.37 and later name it where it does.
    pub Operation {
        /// Chat completion.
        Chat = "chat",
        /// Plain completion.
        TextCompletion = "text_completion",
        /// Multimodal generation.
        GenerateContent = "generate_content",
        /// Vectors.
        Embeddings = "embeddings",
        /// Look-up of documents.
        Retrieval = "retrieval",
        /// Ordering of documents.
        Rerank = "rerank",
        /// A tool.
        ExecuteTool = "execute_tool",
        /// An agent is made.
        CreateAgent = "create_agent",
        /// An agent runs.
        InvokeAgent = "invoke_agent",
        /// A workflow, chain or step of one.
        InvokeWorkflow = "invoke_workflow",
        /// Planning.
        Plan = "plan",
        /// The memory family.
        Memory = "memory",
        /// A guardrail.
        Guardrail = "guardrail",
    }
}

words! {
    /// Who reports. One call is reported by up to four layers, and by up to three instrumentations of the client's.
    // In the order of authority: of two that know as much, the earlier is believed.
    pub Stand {
        /// Client: the provider's own SDK.
        Sdk = "sdk",
        /// Client: an instrumentation around an SDK.
        Client = "client",
        /// Client: a framework above it.
        Framework = "framework",
        /// A proxy between client and model.
        Gateway = "gateway",
        /// What picks an engine.
        Router = "router",
        /// What runs the model.
        Engine = "engine",
    }
}

words! {
    /// The side of the call that a span was recorded on.
    pub Layer {
        /// The caller.
        Client = "client",
        /// A proxy.
        Gateway = "gateway",
        /// What picks an engine.
        Router = "router",
        /// What runs the model.
        Engine = "engine",
    }
}

impl Stand {
    /// The layer it is part of.
    #[must_use]
    pub fn layer(self) -> Layer {
        match self {
            Self::Sdk | Self::Client | Self::Framework => Layer::Client,
            Self::Gateway => Layer::Gateway,
            Self::Router => Layer::Router,
            Self::Engine => Layer::Engine,
        }
    }
}

words! {
    /// Why a model stopped.
    pub Finish {
        /// It was done.
        Stop = "stop",
        /// A limit of tokens.
        Length = "length",
        /// A filter or a refusal.
        ContentFilter = "content_filter",
        /// It asks for a tool.
        ToolCall = "tool_call",
        /// It failed, or the reader of a stream says so.
        Error = "error",
        /// The caller left.
        Abort = "abort",
        /// A word that no line of the table knows.
        Other = "other",
    }
}

words! {
    /// What a key tells.
    pub(super) Concept {
        /// Kind and operation.
        Kind = "kind",
        /// The provider.
        Provider = "provider",
        /// The model asked for.
        RequestModel = "request_model",
        /// The model that answered.
        ResponseModel = "response_model",
        /// The answer was streamed.
        Stream = "stream",
        /// Tokens in, cached ones included.
        InputTokens = "input_tokens",
        /// Tokens out, reasoning included.
        OutputTokens = "output_tokens",
        /// Tokens in that a cache had.
        CachedTokens = "cached_tokens",
        /// Tokens in that a cache took.
        CacheWriteTokens = "cache_write_tokens",
        /// Tokens out that were reasoning.
        ReasoningTokens = "reasoning_tokens",
        /// Time to the first token.
        Ttft = "ttft",
        /// Time for each token behind the first.
        TimePerOutputToken = "time_per_output_token",
        /// Time in a queue.
        Queue = "queue",
        /// Where the queue begins.
        QueueStart = "queue_start",
        /// Where the queue ends.
        QueueEnd = "queue_end",
        /// Time of the prefill.
        Prefill = "prefill",
        /// Time of the decode.
        Decode = "decode",
        /// Why it stopped.
        FinishReason = "finish_reason",
        /// What failed.
        ErrorType = "error_type",
        /// That it failed.
        Error = "error",
        /// An exception was recorded.
        Exception = "exception",
        /// A cache had a part of the prompt.
        CacheHit = "cache_hit",
        /// The tool that ran.
        Tool = "tool",
        /// The conversation or session.
        ConversationId = "conversation_id",
        /// The provider's id of the answer.
        ResponseId = "response_id",
        /// An evaluation's name.
        ScoreName = "score_name",
        /// An evaluation's number.
        ScoreValue = "score_value",
        /// An evaluation's word.
        ScoreLabel = "score_label",
    }
}

words! {
    /// How a value is written.
    pub(super) Form {
        /// Looked up in `[kinds]`.
        Kind = "kind",
        /// A text.
        Str = "str",
        /// Texts: a list, JSON text of one, or one alone.
        Strs = "strs",
        /// A name with or without its module.
        Type = "type",
        /// A bool or its name.
        Bool = "bool",
        /// A whole number, as int, double or text.
        Int = "int",
        /// A number.
        Float = "float",
        /// Seconds.
        S = "s",
        /// Milliseconds.
        Ms = "ms",
        /// Microseconds.
        Us = "us",
        /// Nanoseconds.
        Ns = "ns",
        /// A duration as Rust's `Debug` writes it.
        Rust = "rust",
        /// A timestamp, counted from the span's start.
        Iso = "iso",
        /// Tokens in a second.
        Rate = "rate",
        /// An event's time, counted from the span's start.
        Offset = "offset",
        /// The span's own duration.
        Span = "span",
        /// Being there.
        Mark = "mark",
        /// A level: `ERROR`.
        Level = "level",
        /// A status code of HTTP.
        Http = "http",
    }
}

words! {
    /// What a text attribute holds.
    pub TextField {
        /// What the user asked, and history.
        Prompt = "prompt",
        /// What the model said.
        Answer = "answer",
        /// What the model thought before it said it.
        Reasoning = "reasoning",
        /// What the operator told it.
        System = "system",
        /// What it hands to a tool.
        ToolArguments = "tool_arguments",
        /// What a tool said.
        ToolResult = "tool_results",
        /// What was looked up.
        Documents = "documents",
    }
}
