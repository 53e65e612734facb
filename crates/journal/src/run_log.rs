//! The handle on the record of one run.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use envelope::{Confirmation, DataRef, ExecutionEvent, Hash, ToolCall, ToolResult, write_json};
use serde::Serialize;

use crate::commit::{Ahead, Files, Log, Raw};
use crate::disk::{Dir, Disk};
use crate::error::JournalError;
use crate::header::{RUN_FILE, RunFile, RunHeader};
use crate::kind::{ChainHead, Kind, Seq};
use crate::line::{MAX_CHAIN, MAX_LINE, escape_line_breaks, write_line};
use crate::no_links::is_link_error;
use crate::objects::Objects;
use crate::recover::{Recovered, Recovery, recover};
use crate::wal::{Checkpoint, WAL_FILE, Wal};
use crate::writer::Writer;

/// The record of one run, open for appending. Cheap to clone; all clones are the same journal.
#[derive(Clone)]
pub struct Journal {
    place: Arc<Place>,
}

enum Place {
    Disk(Box<OnDisk>),
    Memory(Box<InMemory>),
}

struct OnDisk {
    folder: Dir,
    /// Guards `run.json`; the logs belong to the committer.
    run: Mutex<(RunFile, Box<dyn Disk>)>,
    writer: Arc<Writer>,
    committer: Mutex<Option<JoinHandle<()>>>,
    objects: Objects,
    /// The first thing beside the record that could not be kept.
    lost: OnceLock<String>,
}

struct InMemory {
    run: Mutex<RunFile>,
    logs: Mutex<MemoryLogs>,
    objects: Mutex<HashMap<Hash, Vec<u8>>>,
}

struct MemoryLogs {
    head: ChainHead,
    newest: Seq,
    /// Not chained yet: that is done when somebody looks.
    raw: Raw,
    lines: [Vec<u8>; 3],
}

impl MemoryLogs {
    fn chained(&mut self) -> &MemoryLogs {
        let MemoryLogs { head, raw, lines, .. } = self;
        raw.chain_into(head, |head, kind, body| {
            *head = write_line(head, kind, body, &mut lines[kind.index()]);
        });
        raw.clear(0);
        self
    }
}

impl Journal {
    /// Starts the record of a run in a folder that must not exist yet, and locks it.
    pub fn create(run_dir: &Path, header: &RunHeader) -> Result<Journal, JournalError> {
        let folder = Dir::create(run_dir).map_err(|source| {
            if source.kind() == io::ErrorKind::AlreadyExists {
                return JournalError::Exists { path: run_dir.to_owned() };
            }
            io_error("create", run_dir, source)
        })?;
        let disk = folder.duplicate().map_err(|source| io_error("open", run_dir, source))?;
        let made = Journal::create_in(folder, Box::new(disk), header);
        if made.is_err() {
            // No run came of it. On a full disk, what it left would stand in the way of the next try.
            let _left = std::fs::remove_dir_all(run_dir);
        }
        made
    }

    pub(crate) fn create_in(
        folder: Dir,
        mut disk: Box<dyn Disk>,
        header: &RunHeader,
    ) -> Result<Journal, JournalError> {
        lock(&folder)?;
        let run = RunFile::new(header);
        let text = run.print()?;
        let start = run.start();
        // `run.json` comes last: a folder without it is not a run, so a crash on the way leaves no half run.
        let mut make = || -> io::Result<Files> {
            let mut log = |kind: Kind| Ok::<Log, io::Error>(Log::new(disk.create(kind.file())?, 0));
            let logs = [log(Kind::Call)?, log(Kind::Result)?, log(Kind::Event)?];
            let wal = Wal::format(disk.create(WAL_FILE)?, &Checkpoint { head: start, lens: [0; 3] })?;
            disk.replace(RUN_FILE, RUN_FILE_TEMPORARY, &text)?;
            Ok(Files { disk: disk.share()?, logs, ahead: Ahead::Log(wal) })
        };
        let files = make().map_err(|source| io_error("start the journal in", folder.path(), source))?;
        Journal::start(folder, disk, run, files, start)
    }

    /// Continues the record of a run that a crash interrupted, or that was closed. Says what was lost at
    /// the end (never a record that was acknowledged) and what the write-ahead log gave back. A run that was
    /// closed stays as it is until something is appended.
    pub fn reopen(run_dir: &Path) -> Result<(Journal, Recovery), JournalError> {
        let folder = open_run(run_dir)?;
        let disk = folder.duplicate().map_err(|source| io_error("open", run_dir, source))?;
        Journal::reopen_in(folder, Box::new(disk))
    }

    pub(crate) fn reopen_in(
        folder: Dir,
        mut disk: Box<dyn Disk>,
    ) -> Result<(Journal, Recovery), JournalError> {
        lock(&folder)?;
        let Recovered { run, files, recovery } = recover(&folder, disk.as_mut())?;
        let head = recovery.head;
        Ok((Journal::start(folder, disk, run, files, head)?, recovery))
    }

    fn start(
        folder: Dir,
        disk: Box<dyn Disk>,
        run: RunFile,
        files: Files,
        head: ChainHead,
    ) -> Result<Journal, JournalError> {
        let writer = Arc::new(Writer::new(head));
        let committer = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn({
                let writer = Arc::clone(&writer);
                move || writer.run(files)
            })
            .map_err(|source| io_error("start the committer of", folder.path(), source))?;
        let objects = Objects::beside(folder.path());
        let on_disk = OnDisk {
            folder,
            run: Mutex::new((run, disk)),
            writer,
            committer: Mutex::new(Some(committer)),
            objects,
            lost: OnceLock::new(),
        };
        Ok(Journal { place: Arc::new(Place::Disk(Box::new(on_disk))) })
    }

    /// A journal with the same chain that lives and dies with the process.
    pub fn in_memory(header: &RunHeader) -> Journal {
        let run = RunFile::new(header);
        let lines = [Vec::new(), Vec::new(), Vec::new()];
        let logs = Mutex::new(MemoryLogs { head: run.start(), newest: 0, raw: Raw::default(), lines });
        let memory = InMemory { run: Mutex::new(run), logs, objects: Mutex::new(HashMap::new()) };
        Journal { place: Arc::new(Place::Memory(Box::new(memory))) }
    }

    /// Appends a call. Not durable yet.
    pub fn call(&self, call: &ToolCall) -> Result<Seq, JournalError> {
        self.append(Kind::Call, call)
    }

    /// Appends a result. Not durable yet.
    pub fn result(&self, result: &ToolResult) -> Result<Seq, JournalError> {
        self.append(Kind::Result, result)
    }

    /// Appends an event. Not durable yet.
    pub fn event(&self, event: &ExecutionEvent) -> Result<Seq, JournalError> {
        self.append(Kind::Event, event)
    }

    /// Waits for room only when megabytes are queued, and then for the committer alone, which has a thread of
    /// its own and takes no lock of ours but the queue's: whoever waits here holds nobody up.
    fn append(&self, kind: Kind, record: &impl Serialize) -> Result<Seq, JournalError> {
        // One buffer per thread: a record is serialised once and copied once, into the queue.
        thread_local!(static BODY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
        let mut body = BODY.take();
        body.clear();
        write_json(&mut body, record).map_err(JournalError::NotJson)?;
        escape_line_breaks(&mut body);
        if body.len() + MAX_CHAIN > MAX_LINE {
            return Err(JournalError::TooLarge { bytes: body.len(), limit: MAX_LINE - MAX_CHAIN });
        }
        let seq = match &*self.place {
            Place::Disk(on_disk) => on_disk.writer.append(kind, &body),
            Place::Memory(memory) => {
                let mut logs = guard(&memory.logs);
                logs.raw.push(kind, &body);
                logs.newest += 1;
                Ok(logs.newest)
            }
        };
        if body.capacity() <= MAX_KEPT_BUFFER {
            BODY.set(body);
        }
        seq
    }

    /// Resolves when everything up to `upto` is on the disk; at once for a journal in memory.
    pub async fn durable(&self, upto: Seq) -> Result<(), JournalError> {
        match &*self.place {
            Place::Disk(on_disk) => on_disk.writer.durable(upto).await,
            Place::Memory(_) => Ok(()),
        }
    }

    /// Adds the confirmation to `run.json`. Durable when this returns.
    ///
    /// Blocks for a few syncs: call it where blocking is allowed, not on a thread of the runtime. It needs
    /// neither the committer nor room in the queue, so it comes to its end while appends wait for room.
    pub fn confirm(&self, confirmation: &Confirmation) -> Result<(), JournalError> {
        match &*self.place {
            Place::Memory(memory) => guard(&memory.run).confirmation = Some(confirmation.clone()),
            Place::Disk(on_disk) => {
                let (run, disk) = &mut *guard(&on_disk.run);
                on_disk.writer.check_open()?;
                run.confirmation = Some(confirmation.clone());
                let text = run.print()?;
                if let Err(source) = disk.replace(RUN_FILE, RUN_FILE_TEMPORARY, &text) {
                    on_disk.writer.fail(&source.to_string());
                    return Err(io_error("write", &on_disk.folder.path().join(RUN_FILE), source));
                }
            }
        }
        Ok(())
    }

    /// Stores bytes once, by their hash, beside the runs. Durable when this returns.
    ///
    /// Blocks for a write and a few syncs: call it where blocking is allowed, not on a thread of the runtime.
    /// It shares nothing with the logs, so it comes to its end while appends wait for room.
    pub fn put_object(&self, bytes: &[u8]) -> Result<DataRef, JournalError> {
        match &*self.place {
            Place::Disk(on_disk) => self.noting(on_disk.objects.put(bytes)),
            Place::Memory(memory) => {
                let hash = Hash::of(bytes);
                guard(&memory.objects).entry(hash).or_insert_with(|| bytes.to_vec());
                Ok(DataRef { hash, bytes: bytes.len() as u64 })
            }
        }
    }

    /// [`Journal::put_object`] for content that comes in pieces and may be large.
    pub fn put_object_from(&self, content: &mut dyn Read) -> Result<DataRef, JournalError> {
        match &*self.place {
            Place::Disk(on_disk) => self.noting(on_disk.objects.put_from(content)),
            Place::Memory(_) => {
                let mut bytes = Vec::new();
                let read = content.read_to_end(&mut bytes);
                read.map_err(|source| io_error("read", Path::new("the content to keep"), source))?;
                self.put_object(&bytes)
            }
        }
    }

    /// Reads back what [`Journal::put_object`] stored.
    pub fn object(&self, data: &DataRef) -> Result<Vec<u8>, JournalError> {
        match &*self.place {
            Place::Disk(on_disk) => on_disk.objects.get(data),
            Place::Memory(memory) => guard(&memory.objects)
                .get(&data.hash)
                .cloned()
                .ok_or(JournalError::ObjectMissing { hash: data.hash }),
        }
    }

    /// [`Journal::object`] for content that may be large: written to `into` and checked on the way. After an
    /// error, what was written is not the object.
    pub fn object_to(&self, data: &DataRef, into: &mut dyn Write) -> Result<(), JournalError> {
        match &*self.place {
            Place::Disk(on_disk) => on_disk.objects.copy_to(data, into),
            Place::Memory(_) => {
                let bytes = self.object(data)?;
                into.write_all(&bytes)
                    .map_err(|source| io_error("write", Path::new("the kept content"), source))
            }
        }
    }

    /// The newest record that is chained; after [`Journal::close`], what a person keeps elsewhere to prove
    /// the record whole.
    pub fn head(&self) -> ChainHead {
        match &*self.place {
            Place::Disk(on_disk) => on_disk.writer.head(),
            Place::Memory(memory) => guard(&memory.logs).chained().head,
        }
    }

    /// Syncs everything, removes the write-ahead log and releases the folder. Closing twice is fine.
    ///
    /// For a run that has come to its end: a folder without `run.finished` and without the write-ahead log was
    /// cut. A run that has not is dropped instead, and stays open for a resume.
    pub fn close(&self) -> Result<ChainHead, JournalError> {
        match &*self.place {
            Place::Disk(on_disk) => {
                on_disk.stop(true);
                let head = on_disk.writer.ending()?;
                on_disk
                    .folder
                    .unlock()
                    .map_err(|source| io_error("unlock", on_disk.folder.path(), source))?;
                Ok(head)
            }
            Place::Memory(_) => Ok(self.head()),
        }
    }

    /// Why nothing more may be done in this run, once that is so: the record cannot be written, or something
    /// that a result would have named could not be kept beside it. In the second case the record goes on, so
    /// that it can tell.
    pub fn failure(&self) -> Option<String> {
        match &*self.place {
            Place::Disk(on_disk) => on_disk.writer.failure().or_else(|| on_disk.lost.get().cloned()),
            Place::Memory(_) => None,
        }
    }

    /// Takes note that something beside the record could not be kept.
    pub fn lost(&self, why: &str) {
        if let Place::Disk(on_disk) = &*self.place {
            on_disk.lost.get_or_init(|| why.to_owned());
        }
    }

    /// [`Journal::lost`] for whatever fails in here.
    pub(crate) fn noting<T>(&self, kept: Result<T, JournalError>) -> Result<T, JournalError> {
        kept.inspect_err(|error| self.lost(&error.to_string()))
    }

    /// The handle on the run folder; none for a journal in memory.
    pub(crate) fn folder(&self) -> Option<&Dir> {
        match &*self.place {
            Place::Disk(on_disk) => Some(&on_disk.folder),
            Place::Memory(_) => None,
        }
    }

    /// The run folder; none for a journal in memory.
    pub fn run_dir(&self) -> Option<&Path> {
        match &*self.place {
            Place::Disk(on_disk) => Some(on_disk.folder.path()),
            Place::Memory(_) => None,
        }
    }

    /// The lines of one log of a journal in memory; empty for one on disk, which has files to read.
    pub fn lines(&self, kind: Kind) -> Vec<String> {
        match &*self.place {
            Place::Disk(_) => Vec::new(),
            Place::Memory(memory) => {
                let mut logs = guard(&memory.logs);
                String::from_utf8_lossy(&logs.chained().lines[kind.index()])
                    .lines()
                    .map(str::to_owned)
                    .collect()
            }
        }
    }
}

/// A buffer that one huge record blew up is given back.
const MAX_KEPT_BUFFER: usize = 1 << 20;
/// Only the one writer that holds the lock writes it.
const RUN_FILE_TEMPORARY: &str = "run.json.tmp";
/// Those who look at a lock let it go at once; so many times in a row nobody meets one of them.
const LOCK_TRIES: u32 = 1000;
/// Tries before the first pause: most who look are gone by then.
const LOCK_TRIES_AT_ONCE: u32 = 50;
const LOCK_PAUSE: Duration = Duration::from_millis(1);

impl OnDisk {
    fn stop(&self, close: bool) {
        self.writer.finish(close);
        if let Some(committer) = guard(&self.committer).take() {
            // If it panicked, it has stopped the journal itself.
            let _joined = committer.join();
        }
    }
}

impl Drop for OnDisk {
    fn drop(&mut self) {
        self.stop(false);
    }
}

/// Nothing behind these locks is left half changed by a panic.
fn guard<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn lock(folder: &Dir) -> Result<(), JournalError> {
    let failed = |source| io_error("lock", folder.path(), source);
    for turn in 0..LOCK_TRIES {
        if folder.lock().map_err(failed)? {
            return Ok(());
        }
        // Who shares the lock only looks, and is about to let it go. A writer does not share it: waiting for
        // one is up to the caller.
        if folder.is_locked().map_err(failed)? {
            break;
        }
        if turn < LOCK_TRIES_AT_ONCE {
            std::thread::yield_now();
        } else {
            std::thread::sleep(LOCK_PAUSE);
        }
    }
    Err(JournalError::Locked { path: folder.path().to_owned() })
}

/// Opens the folder of a run; one that is not there is not a run.
pub(crate) fn open_run(run_dir: &Path) -> Result<Dir, JournalError> {
    Dir::open(run_dir).map_err(|source| {
        if source.kind() == io::ErrorKind::NotFound {
            return JournalError::NotARun { path: run_dir.to_owned() };
        }
        io_error("open", run_dir, source)
    })
}

pub(crate) fn io_error(doing: &'static str, path: &Path, source: io::Error) -> JournalError {
    if is_link_error(&source) {
        return JournalError::Link { path: path.to_owned() };
    }
    JournalError::Io { doing, path: path.to_owned(), source }
}
