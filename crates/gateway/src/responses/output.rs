//! The items of an answer.

/// What the model's answer is made of, in the order of appearance.
#[derive(Debug, Clone, PartialEq)]
pub enum OutputItem {
    Message {
        id: String,
        /// The text of its one part; with a refusal, a second part.
        text: String,
        refusal: Option<String>,
    },
    FunctionCall {
        /// Also the `call_id`.
        id: String,
        name: String,
        namespace: Option<String>,
        arguments: String,
    },
    CustomToolCall {
        /// Also the `call_id`.
        id: String,
        name: String,
        input: String,
    },
    Reasoning {
        id: String,
        summary: Vec<String>,
        encrypted: Option<String>,
    },
}
