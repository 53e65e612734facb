//! From what a client refers to, to what was said.

use std::collections::HashMap;

use crate::responses::error::ApiError;
use crate::responses::item::Item;
use crate::responses::request::Request;
use crate::responses::store::Store;

/// Everything that was said before the request.
pub(super) fn earlier(request: &Request, store: &Store, also: Option<&Store>) -> Result<Vec<Item>, ApiError> {
    let Some(previous) = &request.previous_response_id else { return Ok(Vec::new()) };
    match also {
        // What this connection knows may continue what everybody knows.
        Some(also) if also.get(previous).is_some() => also.conversation_with(previous, store),
        Some(_) | None => store.conversation(previous),
    }
}

/// The conversation with what the request adds, each reference replaced by the item that it names.
pub(super) fn resolved(
    mut said: Vec<Item>,
    input: &[Item],
    store: &Store,
    also: Option<&Store>,
) -> Result<Vec<Item>, ApiError> {
    let known: HashMap<String, usize> =
        said.iter().enumerate().filter_map(|(at, item)| Some((item.id()?.to_owned(), at))).collect();
    for (position, item) in input.iter().enumerate() {
        let Item::Reference { id } = item else {
            said.push(item.clone());
            continue;
        };
        if known.contains_key(id) {
            // It stands in the conversation already.
            continue;
        }
        let found = also.and_then(|also| also.item(id)).or_else(|| store.item(id)).ok_or_else(|| {
            ApiError::invalid(
                format!("input[{position}].id"),
                "item_not_found",
                format!("no item `{id}` is kept; it was deleted, is too old, or was made with `store: false`. Send the item itself instead"),
            )
        })?;
        said.push(found);
    }
    Ok(said)
}

pub fn unknown_response(id: &str) -> ApiError {
    ApiError::not_found(
        "response_not_found",
        format!("no response `{id}` is kept; it was deleted, is too old, or was made with `store: false`"),
    )
}
