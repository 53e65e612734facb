//! What is kept, in memory, in the order of last use.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::items::{Found, Items};
use super::{StoreLimits, Stored};

/// Every change of a use goes to the end of `by_use`; the front is what goes first.
pub(super) struct Shelf {
    limits: StoreLimits,
    kept: HashMap<String, Kept>,
    by_use: BTreeMap<u64, String>,
    items: Items,
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
            items: Items::default(),
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

    /// Looking is no use; see [`Shelf::touch`].
    pub(super) fn look(&self, id: &str) -> Option<Arc<Stored>> {
        self.kept.get(id).map(|kept| kept.stored.clone())
    }

    pub(super) fn item(&self, id: &str) -> Option<Found> {
        self.items.find(id)
    }

    /// Keeps an answer and gives the ids of those that had to go. The newest always stays.
    pub(super) fn put(&mut self, stored: Arc<Stored>, bytes: usize) -> Vec<String> {
        let id = stored.id.clone();
        self.insert(stored, bytes);
        // The oldest is used last, so that it stays as long as what continues it. What is missing in the chain
        // is said when somebody asks for it.
        for continued in self.chain(&id, &HashSet::new()).iter().skip(1) {
            self.touch(continued);
        }
        self.trim(Some(&id))
    }

    /// Puts in what was kept before, oldest first, each followed by its size, and gives the ids of those that
    /// had to go. The order of use becomes the one that putting them in one by one would give, but each is
    /// looked at once only, however long the conversations are.
    pub(super) fn fill(&mut self, before: Vec<(Stored, usize)>) -> Vec<String> {
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

    /// An answer and what it continues, newest first, up to one that is not here or is among `known`.
    fn chain(&self, id: &str, known: &HashSet<String>) -> Vec<String> {
        let mut chain: Vec<String> = Vec::new();
        let mut next = Some(id);
        // A file that was tampered with could lead round in a circle.
        while let Some(kept) = next
            .filter(|id| !known.contains(*id) && chain.len() < self.kept.len())
            .and_then(|id| self.kept.get(id))
        {
            chain.push(kept.stored.id.clone());
            next = kept.stored.previous.as_deref();
        }
        chain
    }

    fn insert(&mut self, stored: Arc<Stored>, bytes: usize) {
        let id = stored.id.clone();
        self.remove(&id);
        self.items.add(&stored);
        self.uses += 1;
        self.bytes += bytes;
        self.by_use.insert(self.uses, id.clone());
        self.kept.insert(id, Kept { stored, bytes, used: self.uses });
    }

    /// Removes what is too much, but not the one that `stays`.
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
