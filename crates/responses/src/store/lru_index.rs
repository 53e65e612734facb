//! Stored responses in memory, in the order of last use.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::item_index::{FoundItem, ItemIndex};
use super::{StoreLimits, StoredResponse};

/// A used response moves to the end of `by_use`; the front is removed first.
pub(super) struct LruIndex {
    limits: StoreLimits,
    kept: HashMap<String, LruEntry>,
    by_use: BTreeMap<u64, String>,
    items: ItemIndex,
    uses: u64,
    bytes: usize,
}

struct LruEntry {
    stored: Arc<StoredResponse>,
    bytes: usize,
    used: u64,
}

impl LruIndex {
    pub(super) fn new(limits: StoreLimits) -> LruIndex {
        LruIndex {
            limits,
            kept: HashMap::new(),
            by_use: BTreeMap::new(),
            items: ItemIndex::default(),
            uses: 0,
            bytes: 0,
        }
    }

    pub(super) fn limits(&self) -> StoreLimits {
        self.limits
    }

    pub(super) fn size(&self) -> (usize, usize) {
        (self.kept.len(), self.bytes)
    }

    /// Returns a response without marking it as used; see [`LruIndex::touch`].
    pub(super) fn peek(&self, id: &str) -> Option<Arc<StoredResponse>> {
        self.kept.get(id).map(|kept| kept.stored.clone())
    }

    pub(super) fn item(&self, id: &str) -> Option<FoundItem> {
        self.items.find(id)
    }

    /// Inserts a response and returns the ids of those that were removed. The newest always stays.
    pub(super) fn put(&mut self, stored: Arc<StoredResponse>, bytes: usize) -> Vec<String> {
        let id = stored.id.clone();
        self.insert(stored, bytes);
        // The oldest is used last, so that it is kept as long as its continuations. A missing one is reported when it
        // is requested.
        for continued in self.chain(&id, &HashSet::new()).iter().skip(1) {
            self.touch(continued);
        }
        self.trim(Some(&id))
    }

    /// Inserts loaded responses, oldest first, and returns the ids of those that were removed. The order of use is
    /// the one of single inserts, but each response is visited once, however long the conversations are.
    pub(super) fn load(&mut self, before: Vec<(StoredResponse, usize)>) -> Vec<String> {
        for (stored, bytes) in before {
            self.insert(Arc::new(stored), bytes);
        }
        let newest_first: Vec<String> = self.by_use.values().rev().cloned().collect();
        let mut placed: HashSet<String> = HashSet::new();
        let mut last_used_first: Vec<String> = Vec::new();
        for id in newest_first {
            let chain = self.chain(&id, &placed);
            placed.extend(chain.iter().cloned());
            last_used_first.extend(chain.into_iter().rev());
        }
        for id in last_used_first.iter().rev() {
            self.touch(id);
        }
        self.trim(None)
    }

    /// Returns a response and those it continues, newest first, up to one that is missing or in `known`.
    fn chain(&self, id: &str, known: &HashSet<String>) -> Vec<String> {
        let mut chain: Vec<String> = Vec::new();
        let mut next = Some(id);
        // A manipulated file could lead in a circle.
        while let Some(kept) = next
            .filter(|id| !known.contains(*id) && chain.len() < self.kept.len())
            .and_then(|id| self.kept.get(id))
        {
            chain.push(kept.stored.id.clone());
            next = kept.stored.previous.as_deref();
        }
        chain
    }

    fn insert(&mut self, stored: Arc<StoredResponse>, bytes: usize) {
        let id = stored.id.clone();
        self.remove(&id);
        self.items.add(&stored);
        self.uses += 1;
        self.bytes += bytes;
        self.by_use.insert(self.uses, id.clone());
        self.kept.insert(id, LruEntry { stored, bytes, used: self.uses });
    }

    /// Removes the least recently used responses over the limits, except `stays`.
    fn trim(&mut self, stays: Option<&str>) -> Vec<String> {
        let mut gone = Vec::new();
        while self.kept.len() > self.limits.responses.max(1) || self.bytes > self.limits.bytes {
            let Some(oldest) = self.by_use.values().find(|id| Some(id.as_str()) != stays).cloned() else {
                break;
            };
            self.remove(&oldest);
            gone.push(oldest);
        }
        gone
    }

    pub(super) fn remove(&mut self, id: &str) -> bool {
        let Some(kept) = self.kept.remove(id) else { return false };
        self.by_use.remove(&kept.used);
        self.bytes -= kept.bytes;
        self.items.remove(&kept.stored);
        true
    }

    pub(super) fn touch(&mut self, id: &str) {
        if let Some(kept) = self.kept.get_mut(id) {
            self.by_use.remove(&kept.used);
            self.uses += 1;
            kept.used = self.uses;
            self.by_use.insert(self.uses, id.to_owned());
        }
    }

    #[cfg(test)]
    pub(super) fn in_order_of_use(&self) -> Vec<&str> {
        self.by_use.values().map(String::as_str).collect()
    }
}
