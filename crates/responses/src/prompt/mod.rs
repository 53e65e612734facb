//! Builds the prompt: turns a request and its conversation into a model turn.
//!
//! A model without native tools gets written instructions for calls, gets calls and outputs as lines of text, and
//! never gets untrusted text that could be taken for a call, a record or another speaker. Whatever a note or a tool
//! contains, a call that the scanner finds in the model's answer was written by the model.
//!
//! Pure: the same request and conversation give the same bytes.

mod call_index;
mod compaction;
mod escape;
mod schema_example;
mod text_history;
mod safe_json;
mod instructions;
mod marker;
mod native_history;
mod pattern_example;
mod record;
mod repair;
mod compact_schema;
#[cfg(test)]
mod tests;
mod unescaper;

use backend::{Capabilities, ModelTurn, OutputSchema, ReasoningSettings, SamplingSettings};

use self::call_index::CallIndex;
use super::error::ApiError;
use super::item::{ConversationItem, ItemContent};
use super::request::{Request, TextFormat};

pub use self::compaction::compact;
pub use self::escape::{escape, unescape};
pub use self::record::{OutputPart, PromptRecord, records};
pub use self::repair::{RepairReason, repair_entries};
pub use self::unescaper::Unescaper;

/// How the model gets its tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ToolPromptMode {
    /// As text; it calls them in its text.
    Sentinel,
    /// As native tools of the backend.
    Native,
}

/// Returns the model turn for a request. `conversation` includes the request's own input, with references already
/// resolved.
///
/// Options that the backend does not support stay empty. Fails if the conversation has images and the backend does
/// not accept them.
pub fn build_turn(
    request: &Request,
    conversation: &[ConversationItem],
    mode: ToolPromptMode,
    can: Capabilities,
) -> Result<ModelTurn, ApiError> {
    let conversation = &*compaction::expand(conversation)?;
    if !can.images && conversation.iter().any(has_image) {
        return Err(images_unsupported(&request.model));
    }
    let calls = CallIndex::new(conversation)?;
    let (history, needs, tools) = match mode {
        ToolPromptMode::Sentinel => {
            let (history, needs) = text_history::history(request, conversation, &calls)?;
            (history, needs, Vec::new())
        }
        ToolPromptMode::Native => {
            let history = native_history::history(request, conversation, &calls)?;
            (history, instructions::PromptNeeds::default(), native_history::tools(request))
        }
    };
    Ok(ModelTurn {
        model: request.model.clone(),
        instructions: instructions::instructions(request, mode, needs),
        history,
        tools,
        reasoning: reasoning(request, can),
        verbosity: request.verbosity.clone().filter(|_| can.verbosity),
        sampling: sampling(request, can),
        output_schema: output_schema(request, mode, can),
    })
}

fn reasoning(request: &Request, can: Capabilities) -> ReasoningSettings {
    if !can.reasoning {
        return ReasoningSettings::default();
    }
    ReasoningSettings { effort: request.reasoning_effort.clone(), summary: request.reasoning_summary.clone() }
}

fn sampling(request: &Request, can: Capabilities) -> SamplingSettings {
    if !can.sampling {
        return SamplingSettings::default();
    }
    SamplingSettings {
        temperature: request.temperature,
        top_p: request.top_p,
        max_output_tokens: request.max_output_tokens,
    }
}

fn output_schema(request: &Request, mode: ToolPromptMode, can: Capabilities) -> Option<OutputSchema> {
    // A service that enforces a schema allows nothing but JSON: the model could not write a call.
    let calls_in_text = mode == ToolPromptMode::Sentinel && instructions::allowed(request).next().is_some();
    match &request.format {
        TextFormat::JsonSchema { name, schema, strict, .. } if can.output_schema && !calls_in_text => {
            Some(OutputSchema { name: name.clone(), schema: schema.clone(), strict: *strict })
        }
        TextFormat::JsonSchema { .. } | TextFormat::JsonObject | TextFormat::Text => None,
    }
}

fn has_image(item: &ConversationItem) -> bool {
    let content = match item {
        ConversationItem::Message { content, .. } => content,
        ConversationItem::FunctionCallOutput { output, .. }
        | ConversationItem::CustomToolCallOutput { output, .. } => output,
        ConversationItem::FunctionCall { .. }
        | ConversationItem::CustomToolCall { .. }
        | ConversationItem::Reasoning { .. }
        | ConversationItem::Compaction { .. }
        | ConversationItem::Reference { .. } => return false,
    };
    content.iter().any(|part| matches!(part, ItemContent::Image { .. }))
}

fn images_unsupported(model: &str) -> ApiError {
    ApiError::invalid(
        "input",
        "images_not_supported",
        format!("the model `{model}` takes no images; leave them out, or choose a model that does"),
    )
}

/// The error for an item that could not be resolved.
fn unresolved_item(item: &ConversationItem) -> ApiError {
    let (code, what) = if let ConversationItem::Reference { id } = item {
        ("item_not_found", format!("no item `{id}` is kept"))
    } else {
        ("invalid_compaction", "the compaction item was not made by this server".to_owned())
    };
    ApiError::invalid("input", code, format!("{what}; send the items themselves instead"))
}
