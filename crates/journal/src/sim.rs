//! A simulated disk for tests, with injected failures and power cuts.
//!
//! Every operation also happens in a real folder, so that readers see what they would see beside a running
//! process. In addition it tracks the content after a power cut: synced bytes for certain, and any part of
//! the unsynced bytes and names, in any order, down to single sectors.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::ThreadId;

use crate::disk::{FolderHandle, LogFile, RunDisk};

const SECTOR: usize = 512;

/// The failure to inject at the n-th operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiskFault {
    /// Fails and changes nothing.
    Refuse,
    /// Writes half of the bytes, then fails like a full disk.
    Short,
    /// Panics like a bug.
    Panic,
}

/// Blocks syncs while the test holds the disk.
#[derive(Default)]
struct SyncGate {
    held: Mutex<GateState>,
    moved: Condvar,
}

#[derive(Default)]
struct GateState {
    closed: bool,
    waiting: bool,
    panic_on_release: bool,
}

#[derive(Default)]
struct SimState {
    files: Vec<SimInode>,
    /// Current names, and names that are certain to survive.
    names: BTreeMap<String, usize>,
    synced_names: BTreeMap<String, usize>,
    operations: u64,
    /// Completed syncs of files; syncs of names are not counted.
    syncs: u64,
    fail_at: Option<(u64, DiskFault)>,
    /// The thread that got the failure.
    failed: Option<ThreadId>,
    /// Operations by the same thread after the failure; a journal that retries would show here. An operation
    /// in progress on another thread can still complete.
    after_failure: u64,
}

#[derive(Default)]
struct SimInode {
    synced: Vec<u8>,
    unsynced: Vec<UnsyncedChange>,
}

enum UnsyncedChange {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate { len: usize },
}

impl UnsyncedChange {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            UnsyncedChange::Write { offset, bytes } => put(content, *offset, bytes),
            UnsyncedChange::Truncate { len } => content.resize(*len, 0),
        }
    }
}

fn put(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[offset..end].copy_from_slice(bytes);
}

/// A shared handle; the journal owns one, the test keeps one.
#[derive(Clone)]
pub(crate) struct SimDisk {
    state: Arc<Mutex<SimState>>,
    gate: Arc<SyncGate>,
    path: PathBuf,
}

impl SimDisk {
    /// Creates a disk with an empty folder.
    pub(crate) fn new(path: &Path) -> SimDisk {
        SimDisk { state: Arc::default(), gate: Arc::default(), path: path.to_owned() }
    }

    /// Creates a disk with the content of the folder, all of it synced.
    pub(crate) fn load(path: &Path) -> SimDisk {
        let disk = SimDisk::new(path);
        let mut state = disk.state.lock().unwrap();
        for entry in std::fs::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            let synced = std::fs::read(entry.path()).unwrap();
            let inode = state.files.len();
            state.files.push(SimInode { synced, unsynced: Vec::new() });
            state.names.insert(entry.file_name().into_string().unwrap(), inode);
        }
        state.synced_names = state.names.clone();
        drop(state);
        disk
    }

    pub(crate) fn fail_at(&self, operation: u64, fault: DiskFault) {
        self.state.lock().unwrap().fail_at = Some((operation, fault));
    }

    /// Blocks every sync until [`SimDisk::release`].
    pub(crate) fn hold(&self) {
        self.gate.held.lock().unwrap().closed = true;
    }

    /// Returns when a sync is blocked.
    pub(crate) fn wait_until_held(&self) {
        let held = self.gate.held.lock().unwrap();
        drop(self.gate.moved.wait_while(held, |held| !held.waiting).unwrap());
    }

    pub(crate) fn release(&self) {
        self.gate.held.lock().unwrap().closed = false;
        self.gate.moved.notify_all();
    }

    /// Makes the blocked sync panic as soon as it is released.
    pub(crate) fn panic_on_release(&self) {
        self.gate.held.lock().unwrap().panic_on_release = true;
    }

    fn pass_gate(&self) {
        let mut held = self.gate.held.lock().unwrap();
        held.waiting = held.closed;
        self.gate.moved.notify_all();
        let mut held = self.gate.moved.wait_while(held, |held| held.closed).unwrap();
        held.waiting = false;
        let panics = std::mem::take(&mut held.panic_on_release);
        drop(held);
        assert!(!panics, "injected");
    }

    pub(crate) fn operations(&self) -> u64 {
        self.state.lock().unwrap().operations
    }

    /// Returns the number of file syncs that completed.
    pub(crate) fn syncs(&self) -> u64 {
        self.state.lock().unwrap().syncs
    }

    pub(crate) fn failed(&self) -> bool {
        self.state.lock().unwrap().failed.is_some()
    }

    /// Returns the number of operations after the failure.
    pub(crate) fn after_failure(&self) -> u64 {
        self.state.lock().unwrap().after_failure
    }

    /// Writes the content that survives a power cut into `target`. `chance` decides which unsynced parts
    /// survive.
    pub(crate) fn power_cut(&self, target: &Path, chance: &mut dyn FnMut() -> bool) {
        let state = self.state.lock().unwrap();
        std::fs::create_dir_all(target).unwrap();
        let names = if chance() { &state.names } else { &state.synced_names };
        for (name, inode) in names {
            let inode = &state.files[*inode];
            let mut content = inode.synced.clone();
            for change in &inode.unsynced {
                match change {
                    UnsyncedChange::Write { offset, bytes } => {
                        for (index, sector) in bytes.chunks(SECTOR).enumerate() {
                            if chance() {
                                put(&mut content, offset + index * SECTOR, sector);
                            }
                        }
                    }
                    UnsyncedChange::Truncate { .. } if chance() => change.apply(&mut content),
                    UnsyncedChange::Truncate { .. } => {}
                }
            }
            let mut file = std::fs::File::create(target.join(name)).unwrap();
            io::Write::write_all(&mut file, &content).unwrap();
        }
    }

    /// Counts an operation; returns the failure to inject.
    fn next_fault(&self) -> Option<DiskFault> {
        let mut state = self.state.lock().unwrap();
        state.operations += 1;
        let here = std::thread::current().id();
        if state.failed == Some(here) {
            state.after_failure += 1;
        }
        let fault = state.fail_at.filter(|(at, _)| *at == state.operations).map(|(_, fault)| fault);
        if fault.is_some() {
            state.failed = Some(here);
        }
        drop(state);
        assert!(fault != Some(DiskFault::Panic), "injected");
        fault
    }

    fn check_fault(&self) -> io::Result<()> {
        match self.next_fault() {
            Some(_) => Err(io::Error::other("injected")),
            None => Ok(()),
        }
    }

    fn folder(&self) -> FolderHandle {
        FolderHandle::open(&self.path).unwrap()
    }

    fn change(&self, inode: usize, change: UnsyncedChange) {
        self.state.lock().unwrap().files[inode].unsynced.push(change);
    }
}

struct SimFile {
    disk: SimDisk,
    inode: usize,
    real: Box<dyn LogFile>,
}

impl RunDisk for SimDisk {
    fn create(&mut self, name: &str) -> io::Result<Box<dyn LogFile>> {
        self.check_fault()?;
        let real = self.folder().create(name)?;
        let mut state = self.state.lock().unwrap();
        let inode = state.files.len();
        state.files.push(SimInode::default());
        state.names.insert(name.to_owned(), inode);
        drop(state);
        Ok(Box::new(SimFile { disk: self.clone(), inode, real }))
    }

    fn open(&mut self, name: &str) -> io::Result<Box<dyn LogFile>> {
        self.check_fault()?;
        let real = self.folder().open(name)?;
        let inode = self.state.lock().unwrap().names[name];
        Ok(Box::new(SimFile { disk: self.clone(), inode, real }))
    }

    fn replace(&mut self, name: &str, temporary: &str, bytes: &[u8]) -> io::Result<()> {
        // Four operations can fail here: create, sync, rename, sync the names. Before the rename nothing is
        // visible; after it the new text may or may not survive.
        self.check_fault()?;
        self.check_fault()?;
        let mut state = self.state.lock().unwrap();
        let inode = state.files.len();
        state.files.push(SimInode { synced: bytes.to_vec(), unsynced: Vec::new() });
        state.names.insert(name.to_owned(), inode);
        drop(state);
        self.folder().replace(name, temporary, bytes)?;
        self.sync_names()
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.check_fault()?;
        self.state.lock().unwrap().names.remove(name);
        self.folder().remove(name)
    }

    fn sync_names(&mut self) -> io::Result<()> {
        self.check_fault()?;
        let mut state = self.state.lock().unwrap();
        state.synced_names = state.names.clone();
        Ok(())
    }

    fn share(&self) -> io::Result<Box<dyn RunDisk>> {
        Ok(Box::new(self.clone()))
    }
}

impl LogFile for SimFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let (bytes, failed) = match self.disk.next_fault() {
            None => (bytes, false),
            Some(DiskFault::Refuse | DiskFault::Panic) => (&bytes[..0], true),
            Some(DiskFault::Short) => (&bytes[..bytes.len() / 2], true),
        };
        self.real.write_at(offset, bytes)?;
        self.disk
            .change(self.inode, UnsyncedChange::Write { offset: offset as usize, bytes: bytes.to_vec() });
        if failed { Err(io::Error::from(io::ErrorKind::StorageFull)) } else { Ok(()) }
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.disk.check_fault()?;
        self.disk.change(self.inode, UnsyncedChange::Truncate { len: len as usize });
        self.real.truncate(len)
    }

    fn sync(&mut self) -> io::Result<()> {
        // After a failed sync the kernel forgets which pages were dirty, so they may never reach the disk.
        self.disk.check_fault()?;
        self.disk.pass_gate();
        let mut state = self.disk.state.lock().unwrap();
        state.syncs += 1;
        let inode = &mut state.files[self.inode];
        for change in std::mem::take(&mut inode.unsynced) {
            change.apply(&mut inode.synced);
        }
        Ok(())
    }
}
