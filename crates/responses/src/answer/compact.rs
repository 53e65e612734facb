//! Compaction of a conversation, without a model.

use receipts::preview::tokenizer::estimate;
use serde_json::{Value, json};

use super::{Responder, resolve};
use crate::error::ApiError;
use crate::prompt;
use crate::request::Request;

impl Responder {
    /// Returns the answer to a request to compact its conversation.
    pub fn compact(&self, request: &Request) -> Result<Value, ApiError> {
        let earlier = resolve::earlier_conversation(request, &self.parts.store, None)?;
        let conversation =
            resolve::resolve_references(earlier, request.input.clone(), &self.parts.store, None)?;
        let compacted = prompt::compact(&conversation)?;
        let unique = (self.parts.unique)();
        let tokens = estimate(&compacted);
        Ok(json!({
            "id": format!("resp_{unique}"),
            "object": "response.compaction",
            "created_at": self.seconds(),
            "output": [{ "type": "compaction", "id": format!("cmp_{unique}"), "encrypted_content": compacted }],
            "usage": {
                "input_tokens": 0,
                "input_tokens_details": { "cached_tokens": 0 },
                "output_tokens": tokens,
                "output_tokens_details": { "reasoning_tokens": 0 },
                "total_tokens": tokens,
            },
        }))
    }
}
