//! Where each item is, by its id.
//!
//! Clients echo items with whatever ids they like. So an id may stand in several answers, and what it names is
//! the output that has it, or else the input that had it first. The others wait in line, so that an id names
//! something as long as anything that has it is kept.

use std::collections::HashMap;
use std::sync::Arc;

use super::Stored;
use crate::responses::item::Item;

/// Those that have an id: outputs first, then the oldest first; an answer at most once. Never empty.
#[derive(Default)]
pub(super) struct Items(HashMap<String, Vec<Found>>);

/// An item where it is kept. Nothing is copied to find it.
#[derive(Debug, Clone)]
pub struct Found {
    stored: Arc<Stored>,
    slot: Slot,
}

#[derive(Debug, Clone, Copy)]
enum Slot {
    Output(usize),
    Input(usize),
}

impl Found {
    pub fn item(&self) -> Option<&Item> {
        match self.slot {
            Slot::Output(at) => self.stored.output.get(at),
            Slot::Input(at) => self.stored.input.get(at),
        }
    }

    /// Whether it was said here, and not echoed by a client.
    pub fn is_output(&self) -> bool {
        matches!(self.slot, Slot::Output(_))
    }
}

impl Items {
    pub(super) fn find(&self, id: &str) -> Option<Found> {
        self.0.get(id)?.first().cloned()
    }

    pub(super) fn add(&mut self, stored: &Arc<Stored>) {
        for (at, item) in stored.output.iter().enumerate() {
            self.add_one(stored, item, Slot::Output(at));
        }
        for (at, item) in stored.input.iter().enumerate() {
            self.add_one(stored, item, Slot::Input(at));
        }
    }

    fn add_one(&mut self, stored: &Arc<Stored>, item: &Item, slot: Slot) {
        let Some(id) = item.id() else { return };
        let line = self.0.entry(id.to_owned()).or_default();
        if line.iter().any(|found| Arc::ptr_eq(&found.stored, stored)) {
            return;
        }
        let place = match slot {
            Slot::Output(_) => line.iter().take_while(|found| found.is_output()).count(),
            Slot::Input(_) => line.len(),
        };
        line.insert(place, Found { stored: stored.clone(), slot });
    }

    pub(super) fn remove(&mut self, stored: &Arc<Stored>) {
        for id in stored.items().filter_map(Item::id) {
            let Some(line) = self.0.get_mut(id) else { continue };
            line.retain(|found| !Arc::ptr_eq(&found.stored, stored));
            if line.is_empty() {
                self.0.remove(id);
            }
        }
    }
}
