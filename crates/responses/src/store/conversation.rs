//! The conversation up to a response, from one store or two.

use std::collections::HashSet;
use std::sync::Arc;

use super::{ResponseStore, StoredResponse, weight};
use crate::error::ApiError;
use crate::item::ConversationItem;

/// The limit of one conversation, which is copied for every request that continues it.
const MOST_BYTES: usize = 64 << 20;

/// Estimates the size of a conversation before it is copied.
#[derive(Default)]
pub struct SizeEstimate {
    bytes: usize,
}

impl SizeEstimate {
    /// Adds an item. Fails if the conversation is too large; `param` is the field that the item came with.
    pub fn add(&mut self, item: &ConversationItem, param: &str) -> Result<(), ApiError> {
        self.bytes = self.bytes.saturating_add(weight::item_weight(item));
        if self.bytes <= MOST_BYTES {
            return Ok(());
        }
        Err(ApiError::invalid(
            param,
            "conversation_too_large",
            format!(
                "the conversation with everything that it refers to takes more than {} MiB; send what still \
                 matters of it as `input` instead, or have it made small by `/v1/responses/compact`",
                MOST_BYTES >> 20
            ),
        ))
    }
}

impl ResponseStore {
    /// Returns the conversation up to and including a response, oldest item first.
    pub fn conversation(&self, id: &str) -> Result<Vec<ConversationItem>, ApiError> {
        self.conversation_with(id, None)
    }

    /// Does the same with two stores: each response is looked up in `also` first, since either store may continue a
    /// response of the other.
    pub fn conversation_with(
        &self,
        id: &str,
        also: Option<&ResponseStore>,
    ) -> Result<Vec<ConversationItem>, ApiError> {
        let stores: Vec<&ResponseStore> = also.into_iter().chain([self]).collect();
        let chain = response_chain(id, &stores).map_err(|missing| response_not_stored(id, &missing))?;
        let mut scale = SizeEstimate::default();
        for item in chain.iter().flat_map(|stored| stored.items()) {
            scale.add(item, "previous_response_id")?;
        }
        Ok(chain.iter().rev().flat_map(|stored| stored.items().cloned()).collect())
    }
}

/// Returns a response and all that it continues, newest first. Fails with the id that is missing.
fn response_chain(id: &str, stores: &[&ResponseStore]) -> Result<Vec<Arc<StoredResponse>>, String> {
    let mut chain: Vec<(Arc<StoredResponse>, &ResponseStore)> = Vec::new();
    let mut seen: HashSet<String> = HashSet::new();
    let mut next = Some(id.to_owned());
    while let Some(id) = next.take() {
        let found = stores.iter().find_map(|store| Some((store.lru_index().peek(&id)?, *store)));
        // A manipulated file could lead in a circle.
        let Some((stored, store)) = found.filter(|_| !seen.contains(&id)) else { return Err(id) };
        seen.insert(id);
        next.clone_from(&stored.previous);
        chain.push((stored, store));
    }
    // The oldest is used last, so that it is kept as long as its continuations.
    for (stored, store) in &chain {
        store.lru_index().touch(&stored.id);
    }
    Ok(chain.into_iter().map(|(stored, _)| stored).collect())
}

fn response_not_stored(id: &str, missing: &str) -> ApiError {
    let what = if missing == id {
        format!("no response `{id}` is kept; it was deleted, is too old, or was made with `store: false`")
    } else {
        format!("response `{id}` continues `{missing}`, which is not kept any more")
    };
    let mut error = ApiError::not_found(
        "previous_response_not_found",
        format!("{what}. Send the whole conversation as `input` instead"),
    );
    error.param = Some("previous_response_id".to_owned());
    error
}
