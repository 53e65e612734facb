//! A reasoning item that is being written: its summary part by part, then its encrypted form.

use crate::event::{ContentPart, EventEncoder, EventPosition, ResponseEventType};
use crate::output::{EncryptedReasoning, OutputItem};
use crate::wire_item::WirePart;

pub(super) struct OpenReasoning {
    id: String,
    position: EventPosition,
    /// The last part is open while there is an `open_part`.
    summary: Vec<String>,
    /// The backend's number of the open part, and its position.
    open_part: Option<(u32, EventPosition)>,
}

impl OpenReasoning {
    pub(super) fn new(id: String, output_index: usize) -> OpenReasoning {
        let position = EventPosition::new(&id, output_index);
        OpenReasoning { id, position, summary: Vec::new(), open_part: None }
    }

    /// Returns the item as it is announced.
    pub(super) fn announced(&self) -> OutputItem {
        OutputItem::Reasoning { id: self.id.clone(), summary: Vec::new(), encrypted: None }
    }

    /// Adds to the summary. Another number starts another part; clients get numbers without gaps.
    pub(super) fn append(&mut self, part: u32, delta: &str, encoder: &mut EventEncoder) {
        if self.open_part.as_ref().is_none_or(|(open, _)| *open != part) {
            self.close_part(encoder);
            let position = self.position.of_part(ContentPart::Summary(self.summary.len()));
            encoder.part(ResponseEventType::SummaryPartAdded, &position, WirePart::Summary { text: "" });
            self.summary.push(String::new());
            self.open_part = Some((part, position));
        }
        if let (Some((_, position)), Some(text)) = (&self.open_part, self.summary.last_mut()) {
            encoder.text(ResponseEventType::SummaryTextDelta, position, &[("delta", delta)]);
            text.push_str(delta);
        }
    }

    pub(super) fn close(
        mut self,
        encrypted: Option<EncryptedReasoning>,
        encoder: &mut EventEncoder,
    ) -> OutputItem {
        self.close_part(encoder);
        OutputItem::Reasoning { id: self.id, summary: self.summary, encrypted }
    }

    fn close_part(&mut self, encoder: &mut EventEncoder) {
        if let (Some((_, position)), Some(text)) = (self.open_part.take(), self.summary.last()) {
            encoder.text(ResponseEventType::SummaryTextDone, &position, &[("text", text)]);
            encoder.part(ResponseEventType::SummaryPartDone, &position, WirePart::Summary { text });
        }
    }
}
