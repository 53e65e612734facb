//! Reasoning that is being told: its summary part by part, and at last its sealed form.

use crate::responses::event::{Encoder, EventType, Part, Place};
use crate::responses::output::{OutputItem, Sealed};
use crate::responses::wire_item::WirePart;

pub(super) struct OpenReasoning {
    id: String,
    place: Place,
    /// The last one is open while there is an `open_part`.
    summary: Vec<String>,
    /// The number that the backend gave to the open part, and where that part is.
    open_part: Option<(u32, Place)>,
}

impl OpenReasoning {
    pub(super) fn new(id: String, output_index: usize, encoder: &Encoder) -> OpenReasoning {
        let place = encoder.place(&id, output_index);
        OpenReasoning { id, place, summary: Vec::new(), open_part: None }
    }

    /// The item as it is announced.
    pub(super) fn bare(&self) -> OutputItem {
        OutputItem::Reasoning { id: self.id.clone(), summary: Vec::new(), encrypted: None }
    }

    /// Another number is another part, whatever it is: clients are given numbers without gaps.
    pub(super) fn more(&mut self, part: u32, delta: &str, encoder: &mut Encoder) {
        if self.open_part.as_ref().is_none_or(|(open, _)| *open != part) {
            self.close_part(encoder);
            let place = encoder.place_of(&self.place, Part::Summary(self.summary.len()));
            encoder.part(EventType::SummaryPartAdded, &place, &WirePart::Summary(""));
            self.summary.push(String::new());
            self.open_part = Some((part, place));
        }
        if let (Some((_, place)), Some(text)) = (&self.open_part, self.summary.last_mut()) {
            encoder.delta(EventType::SummaryTextDelta, place, delta);
            text.push_str(delta);
        }
    }

    pub(super) fn close(mut self, encrypted: Option<Sealed>, encoder: &mut Encoder) -> OutputItem {
        self.close_part(encoder);
        OutputItem::Reasoning { id: self.id, summary: self.summary, encrypted }
    }

    fn close_part(&mut self, encoder: &mut Encoder) {
        if let (Some((_, place)), Some(text)) = (self.open_part.take(), self.summary.last()) {
            encoder.done(EventType::SummaryTextDone, &place, "text", text);
            encoder.part(EventType::SummaryPartDone, &place, &WirePart::Summary(text));
        }
    }
}
