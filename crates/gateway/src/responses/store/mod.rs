//! Answers that clients may come back to: by `previous_response_id`, by reference to an item, by address.
//!
//! Bounded in number and in bytes. What was not used for the longest time goes first, and using an answer uses
//! everything that it continues, so a conversation is never cut in its middle. On disk, when a folder is given,
//! an answer is a file that is written whole before the client is told that the answer is complete.

mod disk;
mod shelf;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::disk::Disk;
use self::shelf::Shelf;
use super::error::ApiError;
use super::item::Item;

pub use self::disk::StoreError;

/// How much is kept.
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

/// An answer with what it answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    pub id: String,
    pub previous: Option<String>,
    /// What the request added to the conversation; every item has an id.
    pub input: Vec<Item>,
    pub output: Vec<Item>,
    /// The response object as the client saw it: JSON text.
    pub object: String,
}

pub struct Store {
    shelf: Mutex<Shelf>,
    disk: Option<Arc<Disk>>,
}

impl Store {
    pub fn in_memory(limits: StoreLimits) -> Store {
        Store { shelf: Mutex::new(Shelf::new(limits)), disk: None }
    }

    /// Opens a folder, making it if need be, and remembers what is in it. A file that cannot be read is left
    /// where it is and named in the log.
    pub fn on_disk(folder: PathBuf, limits: StoreLimits) -> Result<Store, StoreError> {
        let disk = Disk::open(folder)?;
        let mut shelf = Shelf::new(limits);
        for (stored, bytes) in disk.load()? {
            for gone in shelf.put(Arc::new(stored), bytes) {
                disk.remove(&gone)?;
            }
        }
        Ok(Store { shelf: Mutex::new(shelf), disk: Some(Arc::new(disk)) })
    }

    pub fn get(&self, id: &str) -> Option<Arc<Stored>> {
        self.shelf().get(id)
    }

    /// How many answers and bytes are kept.
    pub fn size(&self) -> (usize, usize) {
        self.shelf().size()
    }

    /// An item of any answer that is kept.
    pub fn item(&self, id: &str) -> Option<Item> {
        self.shelf().item(id)
    }

    /// Everything that was said up to and including an answer, oldest first.
    pub fn conversation(&self, id: &str) -> Result<Vec<Item>, ApiError> {
        self.shelf().chain(id).map(in_order).map_err(|missing| not_kept(id, &missing))
    }

    /// The same for an answer that is kept here and may continue one that another store has.
    pub fn conversation_with(&self, id: &str, other: &Store) -> Result<Vec<Item>, ApiError> {
        let (chain, missing) = self.shelf().part_of_chain(id);
        let mut said = match missing {
            Some(missing) => other.conversation(&missing)?,
            None => Vec::new(),
        };
        said.extend(in_order(chain));
        Ok(said)
    }

    /// Keeps an answer. It is on disk, where there is one, when this returns.
    pub async fn keep(&self, stored: Stored) -> Result<(), StoreError> {
        let stored = Arc::new(stored);
        let bytes = match &self.disk {
            Some(disk) => {
                let (disk, stored) = (disk.clone(), stored.clone());
                blocking(move || disk.write(&stored)).await?
            }
            None => shelf::weight(&stored),
        };
        let gone = self.shelf().put(stored, bytes);
        self.forget_files(gone).await
    }

    /// Whether there was one.
    pub async fn remove(&self, id: &str) -> Result<bool, StoreError> {
        let was_there = self.shelf().remove(id);
        if was_there {
            self.forget_files(vec![id.to_owned()]).await?;
        }
        Ok(was_there)
    }

    async fn forget_files(&self, ids: Vec<String>) -> Result<(), StoreError> {
        match &self.disk {
            Some(disk) if !ids.is_empty() => {
                let disk = disk.clone();
                blocking(move || ids.iter().try_for_each(|id| disk.remove(id))).await
            }
            Some(_) | None => Ok(()),
        }
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(StoreError::Interrupted))
}

fn in_order(newest_first: Vec<Arc<Stored>>) -> Vec<Item> {
    newest_first.iter().rev().flat_map(|stored| stored.input.iter().chain(&stored.output).cloned()).collect()
}

fn not_kept(id: &str, missing: &str) -> ApiError {
    let what = if missing == id {
        format!("no response `{id}` is kept; it was deleted, is too old, or was made with `store: false`")
    } else {
        format!("response `{id}` continues `{missing}`, which is not kept any more")
    };
    let mut error = ApiError::not_found(
        "previous_response_not_found",
        format!("{what}. Send the whole conversation as `input` instead"),
    );
    error.param = Some("previous_response_id".to_owned());
    error
}
