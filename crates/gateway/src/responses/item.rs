//! The items of a conversation: what came in with a request or was answered earlier.
//!
//! Clients send these in many spellings (no `type` on messages, a string for content, whole output items echoed
//! back with fields of their own). Reading is lenient about what is there besides, strict about what must be.

/// One item, whatever its spelling was.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    Message {
        id: Option<String>,
        role: Role,
        content: Vec<Content>,
        /// `commentary` or `final_answer`, as some clients mark messages of the assistant.
        phase: Option<String>,
    },
    FunctionCall {
        id: Option<String>,
        call_id: String,
        name: String,
        namespace: Option<String>,
        /// JSON text.
        arguments: String,
    },
    FunctionCallOutput {
        id: Option<String>,
        call_id: String,
        output: Vec<Content>,
    },
    CustomToolCall {
        id: Option<String>,
        call_id: String,
        name: String,
        input: String,
    },
    CustomToolCallOutput {
        id: Option<String>,
        call_id: String,
        output: Vec<Content>,
    },
    Reasoning {
        id: Option<String>,
        summary: Vec<String>,
        encrypted: Option<String>,
    },
    /// What `/v1/responses/compact` made of earlier items; opaque to clients.
    Compaction {
        id: Option<String>,
        encrypted: String,
    },
    /// An item of an earlier answer by its id. Gone once the store has looked it up.
    Reference {
        id: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    User,
    Assistant,
    System,
    Developer,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// `input_text` and `output_text` alike.
    Text(String),
    Image {
        url: String,
        detail: Option<String>,
    },
    Refusal(String),
}
