//! A message that is being written: a text, a refusal, or a text that ends in a refusal.

use crate::event::{ContentPart, EventEncoder, EventPosition, ResponseEventType};
use crate::output::OutputItem;
use crate::wire_item::WirePart;

pub(super) struct OpenMessage {
    id: String,
    position: EventPosition,
    text: String,
    /// The position of the text, while more of it may come.
    text_part: Option<EventPosition>,
    refusal: Option<(String, EventPosition)>,
}

impl OpenMessage {
    pub(super) fn new(id: String, output_index: usize) -> OpenMessage {
        let position = EventPosition::new(&id, output_index);
        OpenMessage { id, position, text: String::new(), text_part: None, refusal: None }
    }

    /// Returns the item as it is announced.
    pub(super) fn announced(&self) -> OutputItem {
        OutputItem::Message { id: self.id.clone(), text: String::new(), refusal: None }
    }

    /// Adds to the text. Returns false without open text.
    pub(super) fn append_text(&mut self, delta: &str, encoder: &mut EventEncoder) -> bool {
        let Some(position) = &self.text_part else { return false };
        if !delta.is_empty() {
            encoder.text(ResponseEventType::TextDelta, position, &[("delta", delta)]);
            self.text.push_str(delta);
        }
        true
    }

    pub(super) fn begin_text(&mut self, text: String, encoder: &mut EventEncoder) {
        let position = self.position.of_part(ContentPart::Content(0));
        encoder.part(ResponseEventType::PartAdded, &position, WirePart::text(""));
        encoder.text(ResponseEventType::TextDelta, &position, &[("delta", &text)]);
        self.text = text;
        self.text_part = Some(position);
    }

    pub(super) fn append_refusal(&mut self, delta: &str, encoder: &mut EventEncoder) {
        self.close_text(encoder);
        let (refusal, position) = self.refusal.get_or_insert_with(|| {
            let index = usize::from(!self.text.is_empty());
            let position = self.position.of_part(ContentPart::Content(index));
            encoder.part(ResponseEventType::PartAdded, &position, WirePart::Refusal { refusal: "" });
            (String::new(), position)
        });
        encoder.text(ResponseEventType::RefusalDelta, position, &[("delta", delta)]);
        refusal.push_str(delta);
    }

    pub(super) fn close(mut self, encoder: &mut EventEncoder) -> OutputItem {
        self.close_text(encoder);
        let refusal = self.refusal.map(|(refusal, position)| {
            encoder.text(ResponseEventType::RefusalDone, &position, &[("refusal", &refusal)]);
            encoder.part(ResponseEventType::PartDone, &position, WirePart::Refusal { refusal: &refusal });
            refusal
        });
        OutputItem::Message { id: self.id, text: self.text, refusal }
    }

    fn close_text(&mut self, encoder: &mut EventEncoder) {
        if let Some(position) = self.text_part.take() {
            encoder.text(ResponseEventType::TextDone, &position, &[("text", &self.text)]);
            encoder.part(ResponseEventType::PartDone, &position, WirePart::text(&self.text));
        }
    }
}
