//! A conversation made small, without asking a model.

use serde_json::{Value, json};
use toolkit::preview::tokens::estimate;

use super::{Responder, resolve};
use crate::responses::error::ApiError;
use crate::responses::prompt;
use crate::responses::request::Request;

impl Responder {
    /// The object that answers a request to compact its conversation.
    pub fn compact(&self, request: &Request) -> Result<Value, ApiError> {
        let earlier = resolve::earlier(request, &self.parts.store, None)?;
        let said = resolve::resolved(earlier, request.input.clone(), &self.parts.store, None)?;
        let compacted = prompt::compact(&said)?;
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
