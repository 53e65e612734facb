//! Parses the input of a request: one text, or a list of items in all the spellings that clients use.

use serde_json::Value;

use super::content;
use super::field_path::FieldPath;
use super::fields::{self, UnreadFields};
use crate::error::ApiError;
use crate::item::{ConversationItem, ItemContent, ItemRole};

const MAX_ITEMS: usize = 16_384;
const MAX_CALL_ID_CHARS: usize = 512;

/// Items of tools that other services run themselves. A text model cannot use them, and a conversation from elsewhere
/// must not fail because of them.
const OF_HOSTED_TOOLS: [&str; 18] = [
    "apply_patch_call",
    "apply_patch_call_output",
    "code_interpreter_call",
    "computer_call",
    "computer_call_output",
    "file_search_call",
    "image_generation_call",
    "local_shell_call",
    "local_shell_call_output",
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_call",
    "mcp_list_tools",
    "shell_call",
    "shell_call_output",
    "tool_search_call",
    "tool_search_output",
    "web_search_call",
];

/// The parsed input.
pub(super) struct RequestInput {
    pub(super) items: Vec<ConversationItem>,
    /// The `tools` of `additional_tools` items, with the index of their item.
    pub(super) additional_tools: Vec<(usize, Vec<Value>)>,
    /// The types of ignored items.
    pub(super) left_out: Vec<String>,
}

/// One element of the list.
enum InputEntry {
    Item(ConversationItem),
    AdditionalTools(Vec<Value>),
    LeftOut(String),
}

pub(super) fn read(value: Option<Value>, at: &FieldPath<'_>) -> Result<RequestInput, ApiError> {
    let mut input = RequestInput { items: Vec::new(), additional_tools: Vec::new(), left_out: Vec::new() };
    let list = match value {
        None => return Ok(input),
        Some(Value::String(text)) => {
            input.items.push(message(ItemRole::User, vec![ItemContent::Text(text)]));
            return Ok(input);
        }
        Some(Value::Array(list)) => fields::check_length(list, at, MAX_ITEMS)?,
        Some(other) => return Err(fields::wrong_type(at, "a string or an array of items", &other)),
    };
    input.items.reserve(list.len());
    for (index, value) in list.into_iter().enumerate() {
        match read_entry(value, at.index(index))? {
            InputEntry::Item(item) => input.items.push(item),
            InputEntry::AdditionalTools(tools) => input.additional_tools.push((index, tools)),
            InputEntry::LeftOut(kind) => input.left_out.push(kind),
        }
    }
    Ok(input)
}

fn read_entry(value: Value, at: FieldPath<'_>) -> Result<InputEntry, ApiError> {
    let mut item = UnreadFields::new(value, at)?;
    let kind = match item.string("type")? {
        Some(kind) => kind,
        None if item.has("role") => "message".to_owned(),
        // The only item besides messages that may be written without a type.
        None if item.has("id") => "item_reference".to_owned(),
        None => return Err(fields::missing(&item.at.key("type"), "the type of the item")),
    };
    let item = match kind.as_str() {
        "message" => read_message(item)?,
        "agent_message" => read_agent_message(item)?,
        "function_call" => ConversationItem::FunctionCall {
            id: item.string("id")?,
            call_id: call_id(&mut item)?,
            name: item.required_text("name")?,
            namespace: item.string("namespace")?,
            arguments: item.required_string("arguments")?,
        },
        "custom_tool_call" => ConversationItem::CustomToolCall {
            id: item.string("id")?,
            call_id: call_id(&mut item)?,
            name: item.required_text("name")?,
            namespace: item.string("namespace")?,
            input: item.required_string("input")?,
        },
        "function_call_output" => {
            let (id, call_id, output) = read_output(item)?;
            ConversationItem::FunctionCallOutput { id, call_id, output }
        }
        "custom_tool_call_output" => {
            let (id, call_id, output) = read_output(item)?;
            ConversationItem::CustomToolCallOutput { id, call_id, output }
        }
        "reasoning" => read_reasoning(item)?,
        "compaction" | "compaction_summary" | "context_compaction" => ConversationItem::Compaction {
            id: item.string("id")?,
            encrypted: item.required_text("encrypted_content")?,
        },
        "item_reference" => ConversationItem::Reference { id: item.required_text("id")? },
        "additional_tools" => {
            let tools = item.array("tools", usize::MAX)?;
            return Ok(InputEntry::AdditionalTools(tools.unwrap_or_default()));
        }
        "compaction_trigger" => {
            return Err(fields::unsupported(&item.at, "send the items to POST /v1/responses/compact"));
        }
        hosted if OF_HOSTED_TOOLS.contains(&hosted) => return Ok(InputEntry::LeftOut(kind)),
        other => {
            let expected =
                "the type of an item, such as \"message\", \"function_call\" or \"function_call_output\"";
            return Err(fields::invalid(&item.at.key("type"), expected, &fields::quoted(other)));
        }
    };
    Ok(InputEntry::Item(item))
}

fn message(role: ItemRole, content: Vec<ItemContent>) -> ConversationItem {
    ConversationItem::Message { id: None, role, content, phase: None }
}

fn read_message(mut item: UnreadFields<'_>) -> Result<ConversationItem, ApiError> {
    const ROLES: [&str; 4] = ["user", "assistant", "system", "developer"];
    let role = match item.word("role", &ROLES)?.as_deref() {
        Some("user") => ItemRole::User,
        Some("assistant") => ItemRole::Assistant,
        Some("system") => ItemRole::System,
        Some("developer") => ItemRole::Developer,
        Some(_) | None => return Err(fields::missing(&item.at.key("role"), &fields::one_of_words(&ROLES))),
    };
    let content = read_content(&mut item, "content")?;
    Ok(ConversationItem::Message { id: item.string("id")?, role, content, phase: item.string("phase")? })
}

/// Parses a message of another agent of the client. For the model it is a user message.
fn read_agent_message(mut item: UnreadFields<'_>) -> Result<ConversationItem, ApiError> {
    let content = read_content(&mut item, "content")?;
    Ok(ConversationItem::Message { id: item.string("id")?, role: ItemRole::User, content, phase: None })
}

fn read_content(item: &mut UnreadFields<'_>, key: &str) -> Result<Vec<ItemContent>, ApiError> {
    let value = item.value(key);
    let at = item.at.key(key);
    let value = value.ok_or_else(|| fields::missing(&at, "a string or an array of content parts"))?;
    content::read(value, &at)
}

fn read_output(mut item: UnreadFields<'_>) -> Result<(Option<String>, String, Vec<ItemContent>), ApiError> {
    let call_id = call_id(&mut item)?;
    let output = read_content(&mut item, "output")?;
    Ok((item.string("id")?, call_id, output))
}

fn call_id(item: &mut UnreadFields<'_>) -> Result<String, ApiError> {
    let call_id = item.required_text("call_id")?;
    if call_id.chars().count() > MAX_CALL_ID_CHARS {
        let at = item.at.key("call_id");
        let message = format!("`{at}` is longer than {MAX_CALL_ID_CHARS} characters");
        return Err(ApiError::invalid(at.to_string(), "string_above_max_length", message));
    }
    Ok(call_id)
}

fn read_reasoning(mut item: UnreadFields<'_>) -> Result<ConversationItem, ApiError> {
    let mut summary = texts(&mut item, "summary")?;
    // Open models send their reasoning itself and no summary.
    let content = texts(&mut item, "content")?;
    if summary.is_empty() {
        summary = content;
    }
    Ok(ConversationItem::Reasoning {
        id: item.string("id")?,
        summary,
        encrypted: item.string("encrypted_content")?,
    })
}

/// Parses the texts of a list of `{type, text}`.
fn texts(item: &mut UnreadFields<'_>, key: &str) -> Result<Vec<String>, ApiError> {
    let parts = item.array(key, usize::MAX)?.unwrap_or_default();
    let at = item.at.key(key);
    let read = |(index, part)| UnreadFields::new(part, at.index(index))?.required_string("text");
    parts.into_iter().enumerate().map(read).collect()
}
