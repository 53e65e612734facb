//! The JSON of a request: long texts among short options.

use bytes::Bytes;
use envelope::json_text;
use serde::Serialize;

use crate::{BackendError, ErrorKind};

/// An object that is being written.
pub(super) struct Json(Vec<u8>);

impl Json {
    pub(super) fn with_room(bytes: usize) -> Json {
        Json(Vec::with_capacity(bytes))
    }

    /// Appends what is JSON already, or a part of it.
    pub(super) fn raw(&mut self, json: &str) -> &mut Json {
        self.bytes(json.as_bytes())
    }

    /// The same for bytes.
    pub(super) fn bytes(&mut self, json: &[u8]) -> &mut Json {
        self.0.extend_from_slice(json);
        self
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Json {
        self.0.push(b'"');
        json_text(text, |bytes| self.0.extend_from_slice(bytes));
        self.0.push(b'"');
        self
    }

    /// Appends a text and gives what it looks like.
    pub(super) fn text_written(&mut self, text: &str) -> &[u8] {
        let at = self.0.len();
        self.text(text);
        &self.0[at..]
    }

    /// Appends a list, each entry by itself.
    pub(super) fn list<T>(
        &mut self,
        entries: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Json, T) -> Result<(), BackendError>,
    ) -> Result<&mut Json, BackendError> {
        self.0.push(b'[');
        for (index, entry) in entries.into_iter().enumerate() {
            if index > 0 {
                self.0.push(b',');
            }
            write(self, entry)?;
        }
        self.0.push(b']');
        Ok(self)
    }

    /// Appends the fields of an object to the one that is being written, and ends it.
    pub(super) fn end_with(mut self, fields: &impl Serialize) -> Result<Bytes, BackendError> {
        let at = self.0.len();
        serde_json::to_writer(&mut self.0, fields).map_err(|error| {
            BackendError::new(ErrorKind::BadRequest, format!("the request cannot be written: {error}"))
        })?;
        if self.0[at..] == *b"{}" {
            self.0.truncate(at);
            self.0.push(b'}');
        } else {
            self.0[at] = b',';
        }
        Ok(self.0.into())
    }
}
