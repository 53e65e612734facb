//! From a request and its conversation to the turn that a text model is given.
//!
//! A model without tools is told in words how to call, gets calls and outputs as lines of text, and never sees a text
//! of anybody else that could be taken for a call, a record or another speaker. Whatever a note or a tool says, what
//! the scanner finds in the model's answer was written by the model.
//!
//! Pure: the same request and conversation give the same bytes.

mod calls;
mod compact;
mod escape;
mod example;
mod flat;
mod line;
mod manifest;
mod marker;
mod native;
mod pattern;
mod record;
mod repair;
mod schema;
#[cfg(test)]
mod tests;
mod unescaper;

use backend::{Capabilities, OutputSchema, Reasoning, Sampling, Turn};

use self::calls::Calls;
use super::error::ApiError;
use super::item::{Content, Item};
use super::request::{Format, Request};

pub use self::compact::compact;
pub use self::escape::{escape, unescape};
pub use self::record::{OutputPart, Record, records};
pub use self::repair::{Problem, repair};
pub use self::unescaper::Unescaper;

/// How the model is given its tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// In words; it calls them in its text.
    Sentinel,
    /// As the backend's own.
    Native,
}

/// The turn that answers a request. `conversation` is everything that was said, the request's own input included, with
/// references already resolved.
///
/// What the backend cannot do is not asked of it: fields that it would drop stay empty, and images that it cannot take
/// are refused.
pub fn turn(
    request: &Request,
    conversation: &[Item],
    mode: Mode,
    can: Capabilities,
) -> Result<Turn, ApiError> {
    let conversation = &*compact::expand(conversation)?;
    if !can.images && conversation.iter().any(has_image) {
        return Err(no_images(&request.model));
    }
    let calls = Calls::of(conversation)?;
    let (history, needs, tools) = match mode {
        Mode::Sentinel => {
            let (history, needs) = flat::history(request, conversation, &calls)?;
            (history, needs, Vec::new())
        }
        Mode::Native => {
            let history = native::history(request, conversation, &calls)?;
            (history, manifest::Needs::default(), native::tools(request))
        }
    };
    Ok(Turn {
        model: request.model.clone(),
        instructions: manifest::instructions(request, mode, needs),
        history,
        tools,
        reasoning: reasoning(request, can),
        verbosity: request.verbosity.clone().filter(|_| can.verbosity),
        sampling: sampling(request, can),
        output_schema: output_schema(request, mode, can),
    })
}

fn reasoning(request: &Request, can: Capabilities) -> Reasoning {
    if !can.reasoning {
        return Reasoning::default();
    }
    Reasoning { effort: request.reasoning_effort.clone(), summary: request.reasoning_summary.clone() }
}

fn sampling(request: &Request, can: Capabilities) -> Sampling {
    if !can.sampling {
        return Sampling::default();
    }
    Sampling {
        temperature: request.temperature,
        top_p: request.top_p,
        max_output_tokens: request.max_output_tokens,
    }
}

fn output_schema(request: &Request, mode: Mode, can: Capabilities) -> Option<OutputSchema> {
    // A service that holds a model to a schema holds it to nothing but JSON: it could not write a call.
    let calls_in_text = mode == Mode::Sentinel && manifest::allowed(request).next().is_some();
    match &request.format {
        Format::JsonSchema { name, schema, strict, .. } if can.output_schema && !calls_in_text => {
            Some(OutputSchema { name: name.clone(), schema: schema.clone(), strict: *strict })
        }
        Format::JsonSchema { .. } | Format::JsonObject | Format::Text => None,
    }
}

fn has_image(item: &Item) -> bool {
    let content = match item {
        Item::Message { content, .. } => content,
        Item::FunctionCallOutput { output, .. } | Item::CustomToolCallOutput { output, .. } => output,
        Item::FunctionCall { .. }
        | Item::CustomToolCall { .. }
        | Item::Reasoning { .. }
        | Item::Compaction { .. }
        | Item::Reference { .. } => return false,
    };
    content.iter().any(|part| matches!(part, Content::Image { .. }))
}

fn no_images(model: &str) -> ApiError {
    ApiError::invalid(
        "input",
        "images_not_supported",
        format!("the model `{model}` takes no images; leave them out, or choose a model that does"),
    )
}

/// An item that was to be replaced by what it stands for, and could not be.
fn unresolved(item: &Item) -> ApiError {
    let (code, what) = if let Item::Reference { id } = item {
        ("item_not_found", format!("no item `{id}` is kept"))
    } else {
        ("invalid_compaction", "the compaction item was not made by this server".to_owned())
    };
    ApiError::invalid("input", code, format!("{what}; send the items themselves instead"))
}
