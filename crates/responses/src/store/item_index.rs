//! An index of items by their ids.
//!
//! Clients echo items with ids of their choice, so several responses may contain an id. It names the output item that
//! has it, or else the first input item. The others wait in line, so that an id is known as long as any item with it
//! is stored.

use std::collections::HashMap;
use std::sync::Arc;

use super::StoredResponse;
use crate::item::ConversationItem;

/// The items with an id: outputs first, then the oldest first; a response at most once. Never empty.
#[derive(Default)]
pub(super) struct ItemIndex(HashMap<String, Vec<FoundItem>>);

/// An item of a stored response, without a copy.
#[derive(Debug, Clone)]
pub struct FoundItem {
    stored: Arc<StoredResponse>,
    slot: ItemSlot,
}

#[derive(Debug, Clone, Copy)]
enum ItemSlot {
    Output(usize),
    Input(usize),
}

impl FoundItem {
    pub fn item(&self) -> Option<&ConversationItem> {
        match self.slot {
            ItemSlot::Output(at) => self.stored.output.get(at),
            ItemSlot::Input(at) => self.stored.input.get(at),
        }
    }

    /// The id of the response that contains it.
    pub fn response_id(&self) -> &str {
        &self.stored.id
    }

    /// Whether it is an output item, not one that a client echoed.
    pub fn is_output(&self) -> bool {
        matches!(self.slot, ItemSlot::Output(_))
    }
}

impl ItemIndex {
    pub(super) fn find(&self, id: &str) -> Option<FoundItem> {
        self.0.get(id)?.first().cloned()
    }

    pub(super) fn add(&mut self, stored: &Arc<StoredResponse>) {
        for (at, item) in stored.output.iter().enumerate() {
            self.add_one(stored, item, ItemSlot::Output(at));
        }
        for (at, item) in stored.input.iter().enumerate() {
            self.add_one(stored, item, ItemSlot::Input(at));
        }
    }

    fn add_one(&mut self, stored: &Arc<StoredResponse>, item: &ConversationItem, slot: ItemSlot) {
        let Some(id) = item.id() else { return };
        let line = self.0.entry(id.to_owned()).or_default();
        if line.iter().any(|found| Arc::ptr_eq(&found.stored, stored)) {
            return;
        }
        let place = match slot {
            ItemSlot::Output(_) => line.iter().take_while(|found| found.is_output()).count(),
            ItemSlot::Input(_) => line.len(),
        };
        line.insert(place, FoundItem { stored: stored.clone(), slot });
    }

    pub(super) fn remove(&mut self, stored: &Arc<StoredResponse>) {
        for id in stored.items().filter_map(ConversationItem::id) {
            let Some(line) = self.0.get_mut(id) else { continue };
            line.retain(|found| !Arc::ptr_eq(&found.stored, stored));
            if line.is_empty() {
                self.0.remove(id);
            }
        }
    }
}
