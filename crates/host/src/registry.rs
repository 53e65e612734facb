//! The registry at which hosts attach and detach while the program runs. One host is attached at a time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use envelope::Failure;
use vault::HOST_DEADLINE;

use crate::connection::{AttachedHost, HostConnection, too_many_open_notes};
use crate::headless::HeadlessNotes;
use crate::protocol::{HostError, HostEvent, HostHello, MAX_NAME_BYTES, MAX_OPEN_NOTES, PROTOCOL_VERSION};

/// Attached host of one vault, shared by the slots that are built with it. Cheap to clone; all clones are the same registry.
#[derive(Clone)]
pub struct HostRegistry(Arc<RegistryState>);

struct RegistryState {
    attached: RwLock<Option<Arc<AttachedHost>>>,
    deadline: Duration,
    vault_id: Option<String>,
    last_number: AtomicU64,
    /// Notes of the headless hosts beside the attached one.
    headless: Mutex<Vec<Weak<HeadlessNotes>>>,
}

/// The attachment of a host. Dropping it detaches the host.
pub struct HostAttachment {
    host: Arc<AttachedHost>,
    registry: HostRegistry,
}

impl Default for HostRegistry {
    fn default() -> HostRegistry {
        HostRegistry::new(HOST_DEADLINE, None)
    }
}

impl HostRegistry {
    /// Number of the headless host among the attachments.
    pub(crate) const HEADLESS: u64 = 0;

    /// Creates a registry with the deadline of a request. With `vault_id`, a host that names another vault is
    /// refused.
    pub fn new(deadline: Duration, vault_id: Option<String>) -> HostRegistry {
        HostRegistry(Arc::new(RegistryState {
            attached: RwLock::default(),
            deadline,
            vault_id,
            last_number: AtomicU64::new(HostRegistry::HEADLESS),
            headless: Mutex::default(),
        }))
    }

    /// Attaches a host. Requests go to it until it detaches or misses a deadline. Must be called within a runtime.
    ///
    /// Fails with `precondition_failed` if the host speaks another version or shows another vault, with
    /// `invalid_arguments` if its name is too long or it has too many notes open, and with `conflict` if another
    /// host is attached or the headless host has unsaved text.
    pub fn attach(
        &self,
        hello: HostHello,
        connection: Arc<dyn HostConnection>,
    ) -> Result<HostAttachment, HostError> {
        let refused = |code, message: String| Err(HostError::new(code, message));
        if hello.version != PROTOCOL_VERSION {
            let message = format!(
                "version {} of the host protocol is not known; use {PROTOCOL_VERSION}",
                hello.version
            );
            return refused(Failure::PreconditionFailed, message);
        }
        if let (Some(given), Some(own)) = (&hello.vault, &self.0.vault_id)
            && given != own
        {
            return refused(Failure::PreconditionFailed, "the host shows another vault".to_owned());
        }
        if hello.name.len() > MAX_NAME_BYTES {
            let message = format!("the name of the host has more than {MAX_NAME_BYTES} bytes");
            return refused(Failure::InvalidArguments, message);
        }
        if hello.open_notes.len() > MAX_OPEN_NOTES {
            return refused(Failure::InvalidArguments, too_many_open_notes());
        }
        let mut attached = self.0.attached.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(other) = attached.as_ref().filter(|host| !host.is_detached()) {
            let message = format!("{} is attached already", other.hello().name.escape_debug());
            return refused(Failure::Conflict, message);
        }
        // Under the lock: a request that begins now waits for it and goes to the new host.
        if self.has_unsaved_notes() {
            return refused(
                Failure::Conflict,
                "notes have unsaved text; run the command `app:save-all` first".to_owned(),
            );
        }
        let number = self.0.last_number.fetch_add(1, Ordering::Relaxed) + 1;
        let host = Arc::new(AttachedHost::new(number, hello, connection, self.0.deadline));
        *attached = Some(host.clone());
        Ok(HostAttachment { host, registry: self.clone() })
    }

    /// Returns the greeting of the attached host, or `None` while headless hosts are used.
    pub fn attached(&self) -> Option<HostHello> {
        self.current().map(|host| host.hello().clone())
    }

    /// Returns the deadline of a request.
    pub fn deadline(&self) -> Duration {
        self.0.deadline
    }

    pub(crate) fn current(&self) -> Option<Arc<AttachedHost>> {
        let attached = self.0.attached.read().unwrap_or_else(PoisonError::into_inner);
        attached.as_ref().filter(|host| !host.is_detached()).cloned()
    }

    /// Adds the notes of a headless host, which must be saved before a host attaches.
    pub(crate) fn add(&self, notes: &Arc<HeadlessNotes>) {
        let mut headless = self.0.headless.lock().unwrap_or_else(PoisonError::into_inner);
        headless.retain(|notes| notes.strong_count() > 0);
        headless.push(Arc::downgrade(notes));
    }

    fn has_unsaved_notes(&self) -> bool {
        let headless = self.0.headless.lock().unwrap_or_else(PoisonError::into_inner);
        headless.iter().filter_map(Weak::upgrade).any(|notes| notes.has_unsaved())
    }
}

impl HostAttachment {
    /// Takes a message that the host sends on its own.
    pub fn receive_event(&self, event: HostEvent) {
        self.host.receive_event(event);
    }

    /// Detaches the host and tells it why.
    pub fn detach(&self, reason: &str) {
        self.host.detach(reason);
    }

    /// Completes when the host is detached, for whatever reason.
    pub async fn wait_until_detached(&self) {
        self.host.wait_until_detached().await;
    }
}

impl Drop for HostAttachment {
    fn drop(&mut self) {
        self.host.detach("the connection ended");
        let mut attached = self.registry.0.attached.write().unwrap_or_else(PoisonError::into_inner);
        attached.take_if(|host| host.number() == self.host.number());
    }
}
