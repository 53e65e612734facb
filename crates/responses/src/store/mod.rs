//! The store of responses that clients continue: by `previous_response_id`, by reference to an item, by address.
//!
//! Limited in number and in bytes. The least recently used response is removed first, and using one uses everything
//! that it continues, so a conversation is never cut in its middle. In a folder, a response is a file that is
//! completely written before the client gets the end of the answer.

mod conversation;
mod disk_store;
mod item_index;
mod lru_index;
#[cfg(test)]
mod tests;
mod weight;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use envelope::SessionId;

use self::disk_store::DiskStore;
use self::lru_index::LruIndex;
use super::item::ConversationItem;

pub use self::conversation::SizeEstimate;
pub use self::disk_store::StoreError;
pub use self::item_index::FoundItem;

/// The limits of a store. A response larger than `bytes` is not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreLimits {
    pub responses: usize,
    pub bytes: usize,
}

impl Default for StoreLimits {
    fn default() -> StoreLimits {
        StoreLimits { responses: 4_096, bytes: 128 << 20 }
    }
}

/// A response with its input.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredResponse {
    pub id: String,
    pub previous: Option<String>,
    /// The session of the runs of its conversation, if calls of Tollgate's own tools were recorded.
    pub session: Option<SessionId>,
    /// The input of the request; every item has an id.
    pub input: Vec<ConversationItem>,
    pub output: Vec<ConversationItem>,
    /// The response object as the client got it: JSON text.
    pub object: String,
}

impl StoredResponse {
    /// Returns input and output in order.
    fn items(&self) -> impl Iterator<Item = &ConversationItem> {
        self.input.iter().chain(&self.output)
    }
}

pub struct ResponseStore {
    lru_index: Mutex<LruIndex>,
    disk: Option<Arc<DiskStore>>,
}

impl ResponseStore {
    pub fn in_memory(limits: StoreLimits) -> ResponseStore {
        ResponseStore { lru_index: Mutex::new(LruIndex::new(limits)), disk: None }
    }

    /// Opens a folder, creates it if it is missing, and loads its files. A file that cannot be read stays and is
    /// logged. Fails if another user can change the folder.
    pub fn on_disk(folder: PathBuf, limits: StoreLimits) -> Result<ResponseStore, StoreError> {
        let disk = DiskStore::open(folder)?;
        let mut lru_index = LruIndex::new(limits);
        for gone in lru_index.load(disk.load()?) {
            disk.remove(&gone)?;
        }
        Ok(ResponseStore { lru_index: Mutex::new(lru_index), disk: Some(Arc::new(disk)) })
    }

    pub fn get(&self, id: &str) -> Option<Arc<StoredResponse>> {
        let mut lru_index = self.lru_index();
        lru_index.touch(id);
        lru_index.peek(id)
    }

    /// Returns the number of responses and bytes.
    pub fn size(&self) -> (usize, usize) {
        self.lru_index().size()
    }

    /// Returns an item of any stored response.
    pub fn item(&self, id: &str) -> Option<FoundItem> {
        self.lru_index().item(id)
    }

    /// Stores a response. It is on disk, if there is a folder, when this returns.
    pub async fn insert(&self, stored: StoredResponse) -> Result<(), StoreError> {
        let most = self.lru_index().limits().bytes;
        let weight = weight::response_weight(&stored);
        if weight > most {
            return Err(StoreError::TooHeavy { id: stored.id, bytes: weight, most });
        }
        let stored = Arc::new(stored);
        let bytes = match &self.disk {
            Some(disk) => {
                let (disk, stored) = (disk.clone(), stored.clone());
                blocking(move || disk.write(&stored, most)).await?
            }
            None => weight,
        };
        let gone = self.lru_index().put(stored, bytes);
        self.remove_files(gone).await
    }

    /// Removes a response. Returns whether it existed.
    pub async fn remove(&self, id: &str) -> Result<bool, StoreError> {
        let was_there = self.lru_index().remove(id);
        if was_there {
            self.remove_files(vec![id.to_owned()]).await?;
        }
        Ok(was_there)
    }

    async fn remove_files(&self, ids: Vec<String>) -> Result<(), StoreError> {
        match &self.disk {
            Some(disk) if !ids.is_empty() => {
                let disk = disk.clone();
                blocking(move || ids.iter().try_for_each(|id| disk.remove(id))).await
            }
            Some(_) | None => Ok(()),
        }
    }

    fn lru_index(&self) -> MutexGuard<'_, LruIndex> {
        self.lru_index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(StoreError::Interrupted))
}
