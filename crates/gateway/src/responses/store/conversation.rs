//! Everything that was said up to an answer, put together from one store or two.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Store, Stored, weight};
use crate::responses::error::ApiError;
use crate::responses::item::Item;

/// What one conversation may weigh: it is copied for every request that continues it.
const MOST_BYTES: usize = 64 << 20;

/// Weighs a conversation before anything of it is copied.
#[derive(Default)]
pub struct Scale {
    bytes: usize,
}

impl Scale {
    /// `param` names the field that brings the item in.
    pub fn add(&mut self, item: &Item, param: &str) -> Result<(), ApiError> {
        self.bytes = self.bytes.saturating_add(weight::of_item(item));
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

impl Store {
    /// Everything that was said up to and including an answer, oldest first.
    pub fn conversation(&self, id: &str) -> Result<Vec<Item>, ApiError> {
        self.conversation_with(id, None)
    }

    /// The same over two stores: each answer on the way is looked for in `also` first and then here, since
    /// either may continue what only the other has.
    pub fn conversation_with(&self, id: &str, also: Option<&Store>) -> Result<Vec<Item>, ApiError> {
        let stores: Vec<&Store> = also.into_iter().chain([self]).collect();
        let chain = chain(id, &stores).map_err(|missing| not_kept(id, &missing))?;
        let mut scale = Scale::default();
        for item in chain.iter().flat_map(|stored| stored.items()) {
            scale.add(item, "previous_response_id")?;
        }
        Ok(chain.iter().rev().flat_map(|stored| stored.items().cloned()).collect())
    }
}

/// An answer and all that it continues, newest first; or the id that is missing.
fn chain(id: &str, stores: &[&Store]) -> Result<Vec<Arc<Stored>>, String> {
    let mut chain: Vec<(Arc<Stored>, &Store)> = Vec::new();
    let mut seen: HashSet<String> = HashSet::new();
    let mut next = Some(id.to_owned());
    while let Some(id) = next.take() {
        let found = stores.iter().find_map(|store| Some((store.shelf().look(&id)?, *store)));
        // A file that was tampered with could lead round in a circle.
        let Some((stored, store)) = found.filter(|_| !seen.contains(&id)) else { return Err(id) };
        seen.insert(id);
        next.clone_from(&stored.previous);
        chain.push((stored, store));
    }
    // The oldest is used last, so that it stays as long as what continues it.
    for (stored, store) in &chain {
        store.shelf().touch(&stored.id);
    }
    Ok(chain.into_iter().map(|(stored, _)| stored).collect())
}

fn not_kept(id: &str, missing: &str) -> ApiError {
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
