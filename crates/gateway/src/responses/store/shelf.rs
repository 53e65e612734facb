//! What is kept, in memory, in the order of last use.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::{StoreLimits, Stored};
use crate::responses::item::{Content, Item};

/// Every change of a use goes to the end of `by_use`; the front is what goes first.
pub(super) struct Shelf {
    limits: StoreLimits,
    kept: HashMap<String, Kept>,
    by_use: BTreeMap<u64, String>,
    /// Which answer an item belongs to.
    items: HashMap<String, String>,
    uses: u64,
    bytes: usize,
}

struct Kept {
    stored: Arc<Stored>,
    bytes: usize,
    used: u64,
}

impl Shelf {
    pub(super) fn new(limits: StoreLimits) -> Shelf {
        Shelf {
            limits,
            kept: HashMap::new(),
            by_use: BTreeMap::new(),
            items: HashMap::new(),
            uses: 0,
            bytes: 0,
        }
    }

    pub(super) fn size(&self) -> (usize, usize) {
        (self.kept.len(), self.bytes)
    }

    pub(super) fn get(&mut self, id: &str) -> Option<Arc<Stored>> {
        self.touch(id);
        self.kept.get(id).map(|kept| kept.stored.clone())
    }

    pub(super) fn item(&self, id: &str) -> Option<Item> {
        let stored = &self.kept.get(self.items.get(id)?)?.stored;
        stored.output.iter().chain(&stored.input).find(|item| item.id() == Some(id)).cloned()
    }

    /// An answer and all that it continues, newest first; or the id that is missing.
    pub(super) fn chain(&mut self, id: &str) -> Result<Vec<Arc<Stored>>, String> {
        match self.part_of_chain(id) {
            (chain, None) => Ok(chain),
            (_, Some(missing)) => Err(missing),
        }
    }

    /// As much of it as is here, newest first, and the id that is missing.
    pub(super) fn part_of_chain(&mut self, id: &str) -> (Vec<Arc<Stored>>, Option<String>) {
        let mut chain: Vec<Arc<Stored>> = Vec::new();
        let mut next = Some(id.to_owned());
        let mut missing = None;
        while let Some(id) = next.take() {
            // A file that was tampered with could lead round in a circle.
            match self.kept.get(&id).filter(|_| chain.len() <= self.kept.len()) {
                Some(kept) => {
                    next.clone_from(&kept.stored.previous);
                    chain.push(kept.stored.clone());
                }
                None => missing = Some(id),
            }
        }
        // The oldest is used last, so that it stays as long as what continues it.
        for stored in &chain {
            self.touch(&stored.id);
        }
        (chain, missing)
    }

    /// Keeps an answer and gives the ids of those that had to go. The newest always stays.
    pub(super) fn put(&mut self, stored: Arc<Stored>, bytes: usize) -> Vec<String> {
        let id = stored.id.clone();
        self.remove(&id);
        for item in stored.input.iter().chain(&stored.output) {
            if let Some(item) = item.id() {
                self.items.insert(item.to_owned(), id.clone());
            }
        }
        self.uses += 1;
        self.bytes += bytes;
        self.by_use.insert(self.uses, id.clone());
        let previous = stored.previous.clone();
        self.kept.insert(id, Kept { stored, bytes, used: self.uses });
        if let Some(previous) = previous {
            // What is missing in the chain is said when somebody asks for it.
            drop(self.chain(&previous));
        }
        let mut gone = Vec::new();
        while self.kept.len() > self.limits.responses.max(1)
            || (self.bytes > self.limits.bytes && self.kept.len() > 1)
        {
            let Some((_, oldest)) = self.by_use.first_key_value() else { break };
            let oldest = oldest.clone();
            self.remove(&oldest);
            gone.push(oldest);
        }
        gone
    }

    pub(super) fn remove(&mut self, id: &str) -> bool {
        let Some(kept) = self.kept.remove(id) else { return false };
        self.by_use.remove(&kept.used);
        self.bytes -= kept.bytes;
        for item in kept.stored.input.iter().chain(&kept.stored.output) {
            if let Some(item) = item.id()
                && self.items.get(item).is_some_and(|owner| owner == id)
            {
                self.items.remove(item);
            }
        }
        true
    }

    fn touch(&mut self, id: &str) {
        if let Some(kept) = self.kept.get_mut(id) {
            self.by_use.remove(&kept.used);
            self.uses += 1;
            kept.used = self.uses;
            self.by_use.insert(self.uses, id.to_owned());
        }
    }
}

/// About how many bytes an answer takes.
pub(super) fn weight(stored: &Stored) -> usize {
    const AN_ITEM: usize = 256;
    // The object repeats the output and the tools.
    let object = stored.object.len();
    let items: usize = stored.input.iter().chain(&stored.output).map(|item| AN_ITEM + text_of(item)).sum();
    object + items
}

fn text_of(item: &Item) -> usize {
    let in_content = |content: &[Content]| -> usize {
        content
            .iter()
            .map(|part| match part {
                Content::Text(text) | Content::Refusal(text) => text.len(),
                Content::Image { url, .. } => url.len(),
            })
            .sum()
    };
    match item {
        Item::Message { content, .. } => in_content(content),
        Item::FunctionCall { arguments, name, .. } => arguments.len() + name.len(),
        Item::FunctionCallOutput { output, .. } | Item::CustomToolCallOutput { output, .. } => {
            in_content(output)
        }
        Item::CustomToolCall { input, name, .. } => input.len() + name.len(),
        Item::Reasoning { summary, encrypted, .. } => {
            summary.iter().map(String::len).sum::<usize>() + encrypted.as_ref().map_or(0, String::len)
        }
        Item::Compaction { encrypted, .. } => encrypted.len(),
        Item::Reference { id } => id.len(),
    }
}
