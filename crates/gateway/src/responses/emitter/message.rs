//! A message that is being said: a text, or a refusal, or a text that ends in a refusal.

use crate::responses::event::{Encoder, EventType, Part, Place};
use crate::responses::output::OutputItem;
use crate::responses::wire_item::WirePart;

pub(super) struct OpenMessage {
    id: String,
    place: Place,
    text: String,
    /// Where the text is, while more of it may come.
    text_part: Option<Place>,
    refusal: Option<(String, Place)>,
}

impl OpenMessage {
    pub(super) fn new(id: String, output_index: usize, encoder: &Encoder) -> OpenMessage {
        let place = encoder.place(&id, output_index);
        OpenMessage { id, place, text: String::new(), text_part: None, refusal: None }
    }

    /// The item as it is announced.
    pub(super) fn bare(&self) -> OutputItem {
        OutputItem::Message { id: self.id.clone(), text: String::new(), refusal: None }
    }

    /// Adds to the text if it is the last thing that was said, and says whether it was.
    pub(super) fn more_text(&mut self, delta: &str, encoder: &mut Encoder) -> bool {
        let Some(place) = &self.text_part else { return false };
        if !delta.is_empty() {
            encoder.delta(EventType::TextDelta, place, delta);
            self.text.push_str(delta);
        }
        true
    }

    /// Begins the text.
    pub(super) fn first_text(&mut self, text: String, encoder: &mut Encoder) {
        let place = encoder.place_of(&self.place, Part::Content(0));
        encoder.part(EventType::PartAdded, &place, &WirePart::Text(""));
        encoder.delta(EventType::TextDelta, &place, &text);
        self.text = text;
        self.text_part = Some(place);
    }

    pub(super) fn refusal(&mut self, delta: &str, encoder: &mut Encoder) {
        self.close_text(encoder);
        let (refusal, place) = self.refusal.get_or_insert_with(|| {
            let index = usize::from(!self.text.is_empty());
            let place = encoder.place_of(&self.place, Part::Content(index));
            encoder.part(EventType::PartAdded, &place, &WirePart::Refusal(""));
            (String::new(), place)
        });
        encoder.delta(EventType::RefusalDelta, place, delta);
        refusal.push_str(delta);
    }

    pub(super) fn close(mut self, encoder: &mut Encoder) -> OutputItem {
        self.close_text(encoder);
        let refusal = self.refusal.map(|(refusal, place)| {
            encoder.done(EventType::RefusalDone, &place, "refusal", &refusal);
            encoder.part(EventType::PartDone, &place, &WirePart::Refusal(&refusal));
            refusal
        });
        OutputItem::Message { id: self.id, text: self.text, refusal }
    }

    fn close_text(&mut self, encoder: &mut Encoder) {
        if let Some(place) = self.text_part.take() {
            encoder.done(EventType::TextDone, &place, "text", &self.text);
            encoder.part(EventType::PartDone, &place, &WirePart::Text(&self.text));
        }
    }
}
