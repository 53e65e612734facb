//! A disk for tests that fails when told to, and can lose its power.
//!
//! Every operation also happens in a real folder, so that readers see what a running process would see. Beside
//! that it keeps what a disk would have after a power cut: synced bytes for certain, and of the bytes and names
//! that were not synced any part, in any order, down to single sectors.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::ThreadId;

use crate::disk::{Dir, Disk, LogFile};

const SECTOR: usize = 512;

/// What the n-th operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Fails and changes nothing.
    Refuse,
    /// Writes half of the bytes, then fails as a full disk does.
    Short,
    /// Panics, as a bug would.
    Panic,
}

/// Where syncs wait while the test holds the disk.
#[derive(Default)]
struct Gate {
    held: Mutex<Held>,
    moved: Condvar,
}

#[derive(Default)]
struct Held {
    closed: bool,
    waiting: bool,
}

#[derive(Default)]
struct State {
    files: Vec<Inode>,
    /// Names now, and names that are certain to survive.
    names: BTreeMap<String, usize>,
    synced_names: BTreeMap<String, usize>,
    operations: u64,
    fail_at: Option<(u64, Fault)>,
    /// Who met the failure.
    failed: Option<ThreadId>,
    /// Operations that the same thread tried after it; a journal that retries would show here. What another
    /// thread was in the middle of may come to its end.
    after_failure: u64,
}

#[derive(Default)]
struct Inode {
    synced: Vec<u8>,
    unsynced: Vec<Change>,
}

enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate { len: usize },
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Change::Write { offset, bytes } => put(content, *offset, bytes),
            Change::Truncate { len } => content.resize(*len, 0),
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
    state: Arc<Mutex<State>>,
    gate: Arc<Gate>,
    path: PathBuf,
}

impl SimDisk {
    /// A disk whose folder is empty.
    pub(crate) fn new(path: &Path) -> SimDisk {
        SimDisk { state: Arc::default(), gate: Arc::default(), path: path.to_owned() }
    }

    /// A disk with everything in the folder on it for certain.
    pub(crate) fn load(path: &Path) -> SimDisk {
        let disk = SimDisk::new(path);
        let mut state = disk.state.lock().unwrap();
        for entry in std::fs::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            let synced = std::fs::read(entry.path()).unwrap();
            let inode = state.files.len();
            state.files.push(Inode { synced, unsynced: Vec::new() });
            state.names.insert(entry.file_name().into_string().unwrap(), inode);
        }
        state.synced_names = state.names.clone();
        drop(state);
        disk
    }

    pub(crate) fn fail_at(&self, operation: u64, fault: Fault) {
        self.state.lock().unwrap().fail_at = Some((operation, fault));
    }

    /// Lets no sync come to its end until [`SimDisk::release`].
    pub(crate) fn hold(&self) {
        self.gate.held.lock().unwrap().closed = true;
    }

    /// Returns when a sync is being held.
    pub(crate) fn wait_until_held(&self) {
        let held = self.gate.held.lock().unwrap();
        drop(self.gate.moved.wait_while(held, |held| !held.waiting).unwrap());
    }

    pub(crate) fn release(&self) {
        *self.gate.held.lock().unwrap() = Held::default();
        self.gate.moved.notify_all();
    }

    fn pass_gate(&self) {
        let mut held = self.gate.held.lock().unwrap();
        held.waiting = held.closed;
        self.gate.moved.notify_all();
        drop(self.gate.moved.wait_while(held, |held| held.closed).unwrap());
    }

    pub(crate) fn operations(&self) -> u64 {
        self.state.lock().unwrap().operations
    }

    pub(crate) fn failed(&self) -> bool {
        self.state.lock().unwrap().failed.is_some()
    }

    /// File operations tried after the failure.
    pub(crate) fn after_failure(&self) -> u64 {
        self.state.lock().unwrap().after_failure
    }

    /// Writes what survives a power cut into `target`. `chance` decides what of the unsynced is there.
    pub(crate) fn power_cut(&self, target: &Path, chance: &mut dyn FnMut() -> bool) {
        let state = self.state.lock().unwrap();
        std::fs::create_dir_all(target).unwrap();
        let names = if chance() { &state.names } else { &state.synced_names };
        for (name, inode) in names {
            let inode = &state.files[*inode];
            let mut content = inode.synced.clone();
            for change in &inode.unsynced {
                match change {
                    Change::Write { offset, bytes } => {
                        for (index, sector) in bytes.chunks(SECTOR).enumerate() {
                            if chance() {
                                put(&mut content, offset + index * SECTOR, sector);
                            }
                        }
                    }
                    Change::Truncate { .. } if chance() => change.apply(&mut content),
                    Change::Truncate { .. } => {}
                }
            }
            let mut file = std::fs::File::create(target.join(name)).unwrap();
            io::Write::write_all(&mut file, &content).unwrap();
        }
    }

    /// Counts an operation; says whether it has to fail.
    fn step(&self) -> Option<Fault> {
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
        assert!(fault != Some(Fault::Panic), "injected");
        fault
    }

    fn refuse(&self) -> io::Result<()> {
        match self.step() {
            Some(_) => Err(io::Error::other("injected")),
            None => Ok(()),
        }
    }

    fn real(&self) -> Dir {
        Dir::open(&self.path).unwrap()
    }

    fn change(&self, inode: usize, change: Change) {
        self.state.lock().unwrap().files[inode].unsynced.push(change);
    }
}

struct SimFile {
    disk: SimDisk,
    inode: usize,
    real: Box<dyn LogFile>,
}

impl Disk for SimDisk {
    fn create(&mut self, name: &str) -> io::Result<Box<dyn LogFile>> {
        self.refuse()?;
        let real = self.real().create(name)?;
        let mut state = self.state.lock().unwrap();
        let inode = state.files.len();
        state.files.push(Inode::default());
        state.names.insert(name.to_owned(), inode);
        drop(state);
        Ok(Box::new(SimFile { disk: self.clone(), inode, real }))
    }

    fn open(&mut self, name: &str) -> io::Result<Box<dyn LogFile>> {
        self.refuse()?;
        let real = self.real().open(name)?;
        let inode = self.state.lock().unwrap().names[name];
        Ok(Box::new(SimFile { disk: self.clone(), inode, real }))
    }

    fn replace(&mut self, name: &str, temporary: &str, bytes: &[u8]) -> io::Result<()> {
        // Four things can fail in here: make, sync, rename, sync the names. Before the rename nothing
        // shows; after it the new text may or may not survive.
        self.refuse()?;
        self.refuse()?;
        let mut state = self.state.lock().unwrap();
        let inode = state.files.len();
        state.files.push(Inode { synced: bytes.to_vec(), unsynced: Vec::new() });
        state.names.insert(name.to_owned(), inode);
        drop(state);
        self.real().replace(name, temporary, bytes)?;
        self.sync_names()
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.refuse()?;
        self.state.lock().unwrap().names.remove(name);
        self.real().remove(name)
    }

    fn sync_names(&mut self) -> io::Result<()> {
        self.refuse()?;
        let mut state = self.state.lock().unwrap();
        state.synced_names = state.names.clone();
        Ok(())
    }

    fn share(&self) -> io::Result<Box<dyn Disk>> {
        Ok(Box::new(self.clone()))
    }
}

impl LogFile for SimFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let (bytes, failed) = match self.disk.step() {
            None => (bytes, false),
            Some(Fault::Refuse | Fault::Panic) => (&bytes[..0], true),
            Some(Fault::Short) => (&bytes[..bytes.len() / 2], true),
        };
        self.real.write_at(offset, bytes)?;
        self.disk.change(self.inode, Change::Write { offset: offset as usize, bytes: bytes.to_vec() });
        if failed { Err(io::Error::from(io::ErrorKind::StorageFull)) } else { Ok(()) }
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.disk.refuse()?;
        self.disk.change(self.inode, Change::Truncate { len: len as usize });
        self.real.truncate(len)
    }

    fn sync(&mut self) -> io::Result<()> {
        // After a failed sync the kernel forgets which pages were dirty: they may never reach the disk.
        self.disk.refuse()?;
        self.disk.pass_gate();
        let mut state = self.disk.state.lock().unwrap();
        let inode = &mut state.files[self.inode];
        for change in std::mem::take(&mut inode.unsynced) {
            change.apply(&mut inode.synced);
        }
        Ok(())
    }
}
