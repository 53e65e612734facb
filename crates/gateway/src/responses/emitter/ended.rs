//! An answer that was written.

use backend::Usage;
use bytes::{Bytes, BytesMut};
use serde_json::Value;

use crate::responses::object::{Outcome, Shell, State};
use crate::responses::output::SentItem;

pub struct Ended {
    /// The last events, and the end of the stream.
    pub bytes: Bytes,
    pub output: Vec<SentItem>,
    pub(super) shell: Shell,
    pub(super) outcome: Outcome,
    pub(super) completed_at: Option<u64>,
    pub(super) usage: Option<Usage>,
}

impl Ended {
    /// The response object as JSON text.
    pub fn object_json(&self) -> Bytes {
        let Ended { outcome, completed_at, output, usage, .. } = self;
        let state = State { outcome, completed_at: *completed_at, output, usage: *usage };
        let mut out = BytesMut::with_capacity(self.shell.room());
        self.shell.write(&mut out, &state);
        out.freeze()
    }

    /// The response object as a value, for whoever keeps it.
    pub fn object(&self) -> Value {
        serde_json::from_slice(&self.object_json()).unwrap_or_default()
    }
}
