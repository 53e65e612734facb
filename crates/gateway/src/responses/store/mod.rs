//! Answers that clients may come back to: by `previous_response_id`, by reference to an item, by address.
//!
//! Bounded in number and in bytes. What was not used for the longest time goes first, and using an answer uses
//! everything that it continues, so a conversation is never cut in its middle. On disk, when a folder is given,
//! an answer is a file that is written whole before the client is told that the answer is complete.

mod conversation;
mod disk;
mod items;
mod shelf;
#[cfg(test)]
mod tests;
mod weight;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::disk::Disk;
use self::shelf::Shelf;
use super::item::Item;

pub use self::conversation::Scale;
pub use self::disk::StoreError;
pub use self::items::Found;

/// How much is kept. An answer that weighs more than `bytes` is not kept at all.
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

impl Stored {
    /// What was said, in this order.
    fn items(&self) -> impl Iterator<Item = &Item> {
        self.input.iter().chain(&self.output)
    }
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
    /// where it is and counted in the log. A folder that somebody else can change is refused.
    pub fn on_disk(folder: PathBuf, limits: StoreLimits) -> Result<Store, StoreError> {
        let disk = Disk::open(folder)?;
        let mut shelf = Shelf::new(limits);
        for gone in shelf.fill(disk.load()?) {
            disk.remove(&gone)?;
        }
        Ok(Store { shelf: Mutex::new(shelf), disk: Some(Arc::new(disk)) })
    }

    pub fn get(&self, id: &str) -> Option<Arc<Stored>> {
        let mut shelf = self.shelf();
        shelf.touch(id);
        shelf.look(id)
    }

    /// How many answers and bytes are kept.
    pub fn size(&self) -> (usize, usize) {
        self.shelf().size()
    }

    /// An item of any answer that is kept.
    pub fn item(&self, id: &str) -> Option<Found> {
        self.shelf().item(id)
    }

    /// Keeps an answer. It is on disk, where there is one, when this returns.
    pub async fn keep(&self, stored: Stored) -> Result<(), StoreError> {
        let most = self.shelf().limits().bytes;
        let weight = weight::of_answer(&stored);
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
