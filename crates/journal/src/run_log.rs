//! The handle on the record of one run.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use envelope::{Confirmation, DataRef, ExecutionEvent, Hash, ToolCall, ToolResult};
use serde::Serialize;

use crate::commit::{LogAppender, RawRecords, RunLogFiles, WalState};
use crate::disk::{FolderHandle, RunDisk};
use crate::error::JournalError;
use crate::line::{MAX_CHAIN, MAX_LINE, write_line};
use crate::log_kind::{ChainHead, LogKind, Seq};
use crate::no_links::is_link_error;
use crate::object_folder::ObjectFolder;
use crate::record_lines::LineForm;
use crate::record_serializer::serialize_record;
use crate::recover::{RecoveredRun, RecoveryReport, recover};
use crate::run_folder::JournalRecord;
use crate::run_header::{RUN_FILE, RunFile, RunHeader};
use crate::wal::{WAL_FILE, WalCheckpoint, WalWriter};
use crate::writer::JournalWriter;

/// The record of one run, open for appending. Cheap to clone; all clones are the same journal.
#[derive(Clone)]
pub struct Journal {
    backend: Arc<JournalBackend>,
}

enum JournalBackend {
    Disk(Box<DiskJournal>),
    Memory(Box<MemoryJournal>),
}

struct DiskJournal {
    folder: FolderHandle,
    form: LineForm,
    /// Guards `run.json`; the logs belong to the committer.
    run: Mutex<(RunFile, Box<dyn RunDisk>)>,
    writer: Arc<JournalWriter>,
    committer: Mutex<Option<JoinHandle<()>>>,
    objects: ObjectFolder,
    /// The first failure to store something beside the record.
    first_loss: OnceLock<String>,
}

struct MemoryJournal {
    form: LineForm,
    run: Mutex<RunFile>,
    logs: Mutex<MemoryLogs>,
    objects: Mutex<HashMap<Hash, Vec<u8>>>,
}

struct MemoryLogs {
    head: ChainHead,
    newest: Seq,
    /// Not chained yet: that is done on reading.
    raw: RawRecords,
    lines: [Vec<u8>; 3],
}

impl MemoryLogs {
    fn chain_pending(&mut self) -> &MemoryLogs {
        let MemoryLogs { head, raw, lines, .. } = self;
        raw.chain_each(head, |head, kind, body| {
            *head = write_line(head, kind, body, &mut lines[kind.index()]);
        });
        raw.clear(0);
        self
    }
}

impl Journal {
    /// Starts the record of a run in a new folder, and locks it.
    ///
    /// Fails with [`JournalError::Exists`] if the folder exists.
    pub fn create(run_dir: &Path, header: &RunHeader) -> Result<Journal, JournalError> {
        let folder = FolderHandle::create(run_dir).map_err(|source| {
            if source.kind() == io::ErrorKind::AlreadyExists {
                return JournalError::Exists { path: run_dir.to_owned() };
            }
            io_error("create", run_dir, source)
        })?;
        let disk = folder.duplicate().map_err(|source| io_error("open", run_dir, source))?;
        let make = || {
            let (header, contents) = header.with_hashes()?;
            // Until `run.json` names them, the lock alone keeps a prune from removing them.
            let _shared = ObjectFolder::for_run(run_dir).put_for_header(&contents)?;
            Journal::create_in(folder, Box::new(disk), &header)
        };
        let made = make();
        if made.is_err() {
            // The run was not started. On a full disk, its remains would block the next attempt.
            let _left = std::fs::remove_dir_all(run_dir);
        }
        made
    }

    pub(crate) fn create_in(
        folder: FolderHandle,
        mut disk: Box<dyn RunDisk>,
        header: &RunHeader,
    ) -> Result<Journal, JournalError> {
        lock(&folder)?;
        let run = RunFile::new(header);
        let text = run.to_json()?;
        let start = run.start();
        // `run.json` is written last: a folder without it is not a run, so a crash leaves no partial run.
        let mut make = || -> io::Result<RunLogFiles> {
            let mut log =
                |kind: LogKind| Ok::<LogAppender, io::Error>(LogAppender::new(disk.create(kind.file())?, 0));
            let logs = [log(LogKind::Call)?, log(LogKind::Result)?, log(LogKind::Event)?];
            let wal =
                WalWriter::format(disk.create(WAL_FILE)?, &WalCheckpoint { head: start, lens: [0; 3] })?;
            disk.replace(RUN_FILE, RUN_FILE_TEMPORARY, &text)?;
            Ok(RunLogFiles { disk: disk.share()?, logs, wal_state: WalState::Log(wal) })
        };
        let files = make().map_err(|source| io_error("start the journal in", folder.path(), source))?;
        Journal::start(folder, disk, run, files, start)
    }

    /// Continues the record of a run that was interrupted by a crash, or closed. Reports the records lost at
    /// the end (never an acknowledged one) and the records restored from the write-ahead log. A closed run
    /// stays unchanged until something is appended.
    pub fn reopen(run_dir: &Path) -> Result<(Journal, RecoveryReport), JournalError> {
        let folder = open_run(run_dir)?;
        let disk = folder.duplicate().map_err(|source| io_error("open", run_dir, source))?;
        Journal::reopen_in(folder, Box::new(disk))
    }

    pub(crate) fn reopen_in(
        folder: FolderHandle,
        mut disk: Box<dyn RunDisk>,
    ) -> Result<(Journal, RecoveryReport), JournalError> {
        lock(&folder)?;
        let RecoveredRun { run, files, recovery } = recover(&folder, disk.as_mut())?;
        let head = recovery.head;
        Ok((Journal::start(folder, disk, run, files, head)?, recovery))
    }

    fn start(
        folder: FolderHandle,
        disk: Box<dyn RunDisk>,
        run: RunFile,
        files: RunLogFiles,
        head: ChainHead,
    ) -> Result<Journal, JournalError> {
        let writer = Arc::new(JournalWriter::new(head));
        let committer = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn({
                let writer = Arc::clone(&writer);
                move || writer.run(files)
            })
            .map_err(|source| io_error("start the committer of", folder.path(), source))?;
        let objects =
            ObjectFolder::for_writer(&folder).map_err(|source| io_error("open", folder.path(), source))?;
        let on_disk = DiskJournal {
            folder,
            form: LineForm::of(&run.header),
            run: Mutex::new((run, disk)),
            writer,
            committer: Mutex::new(Some(committer)),
            objects,
            first_loss: OnceLock::new(),
        };
        Ok(Journal { backend: Arc::new(JournalBackend::Disk(Box::new(on_disk))) })
    }

    /// Creates a journal in memory with the same chain; it ends with the process.
    pub fn in_memory(header: &RunHeader) -> Journal {
        // A header always has a JSON form; without one there is nothing to keep.
        let (header, contents) = header.with_hashes().unwrap_or_else(|_error| (header.clone(), Vec::new()));
        let objects = contents.into_iter().map(|bytes| (Hash::of(&bytes), bytes)).collect();
        let run = RunFile::new(&header);
        let lines = [Vec::new(), Vec::new(), Vec::new()];
        let logs = Mutex::new(MemoryLogs { head: run.start(), newest: 0, raw: RawRecords::default(), lines });
        let form = LineForm::of(&header);
        let memory = MemoryJournal { form, run: Mutex::new(run), logs, objects: Mutex::new(objects) };
        Journal { backend: Arc::new(JournalBackend::Memory(Box::new(memory))) }
    }

    /// Appends a call. Not durable yet.
    pub fn call(&self, call: &ToolCall) -> Result<Seq, JournalError> {
        match self.form() {
            LineForm::Whole => self.append(LogKind::Call, call),
            LineForm::Short(run) => self.append(LogKind::Call, &run.call_line(call)),
        }
    }

    /// Appends a result. Not durable yet.
    pub fn result(&self, result: &ToolResult) -> Result<Seq, JournalError> {
        match self.form() {
            LineForm::Whole => self.append(LogKind::Result, result),
            LineForm::Short(run) => self.append(LogKind::Result, &run.result_line(result)),
        }
    }

    /// Appends an event. Not durable yet.
    pub fn event(&self, event: &ExecutionEvent) -> Result<Seq, JournalError> {
        match self.form() {
            LineForm::Whole => self.append(LogKind::Event, event),
            LineForm::Short(run) => self.append(LogKind::Event, &run.event_line(event)),
        }
    }

    fn form(&self) -> &LineForm {
        match &*self.backend {
            JournalBackend::Disk(on_disk) => &on_disk.form,
            JournalBackend::Memory(memory) => &memory.form,
        }
    }

    /// Appends a record. Blocks only when megabytes are queued, and then only for the committer, which has a
    /// thread of its own and takes no lock but the queue's, so that a blocked caller blocks no other task.
    fn append(&self, kind: LogKind, record: &impl Serialize) -> Result<Seq, JournalError> {
        // One buffer per thread: a record is serialized once and copied once, into the queue.
        thread_local!(static BODY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
        let mut body = BODY.take();
        body.clear();
        serialize_record(&mut body, record).map_err(JournalError::NotJson)?;
        if body.len() + MAX_CHAIN > MAX_LINE {
            return Err(JournalError::TooLarge { bytes: body.len(), limit: MAX_LINE - MAX_CHAIN });
        }
        let seq = match &*self.backend {
            JournalBackend::Disk(on_disk) => on_disk.writer.append(kind, &body),
            JournalBackend::Memory(memory) => {
                let mut logs = lock_mutex(&memory.logs);
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

    /// Resolves when everything up to `upto` is on the disk; immediately for a journal in memory.
    pub async fn durable(&self, upto: Seq) -> Result<(), JournalError> {
        match &*self.backend {
            JournalBackend::Disk(on_disk) => on_disk.writer.durable(upto).await,
            JournalBackend::Memory(_) => Ok(()),
        }
    }

    /// Adds the confirmation to `run.json`. Durable when this returns.
    ///
    /// Blocks for a few syncs: call it where blocking is allowed, not on a thread of the async runtime. It
    /// needs neither the committer nor room in the queue, so it completes while appends wait for room.
    pub fn confirm(&self, confirmation: &Confirmation) -> Result<(), JournalError> {
        match &*self.backend {
            JournalBackend::Memory(memory) => {
                lock_mutex(&memory.run).confirmation = Some(confirmation.clone());
            }
            JournalBackend::Disk(on_disk) => {
                let (run, disk) = &mut *lock_mutex(&on_disk.run);
                on_disk.writer.check_open()?;
                run.confirmation = Some(confirmation.clone());
                let text = run.to_json()?;
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
    /// Blocks for a write and a few syncs: call it where blocking is allowed, not on a thread of the async
    /// runtime. It shares nothing with the logs, so it completes while appends wait for room.
    pub fn put_object(&self, bytes: &[u8]) -> Result<DataRef, JournalError> {
        match &*self.backend {
            JournalBackend::Disk(on_disk) => self.note_failure(on_disk.objects.put(bytes)),
            JournalBackend::Memory(memory) => {
                let hash = Hash::of(bytes);
                lock_mutex(&memory.objects).entry(hash).or_insert_with(|| bytes.to_vec());
                Ok(DataRef { hash, bytes: bytes.len() as u64 })
            }
        }
    }

    /// Like [`Journal::put_object`], for content that is read in pieces and can be large.
    pub fn put_object_from(&self, content: &mut dyn Read) -> Result<DataRef, JournalError> {
        match &*self.backend {
            JournalBackend::Disk(on_disk) => self.note_failure(on_disk.objects.put_from(content)),
            JournalBackend::Memory(_) => {
                let mut bytes = Vec::new();
                let read = content.read_to_end(&mut bytes);
                read.map_err(|source| io_error("read", Path::new("the content to keep"), source))?;
                self.put_object(&bytes)
            }
        }
    }

    /// Reads back an object that [`Journal::put_object`] stored.
    pub fn object(&self, data: &DataRef) -> Result<Vec<u8>, JournalError> {
        match &*self.backend {
            JournalBackend::Disk(on_disk) => on_disk.objects.get(data),
            JournalBackend::Memory(memory) => lock_mutex(&memory.objects)
                .get(&data.hash)
                .cloned()
                .ok_or(JournalError::ObjectMissing { hash: data.hash }),
        }
    }

    /// Like [`Journal::object`], for content that can be large: written to `into` and checked on the way.
    /// After an error, the written bytes are not the object.
    pub fn object_to(&self, data: &DataRef, into: &mut dyn Write) -> Result<(), JournalError> {
        match &*self.backend {
            JournalBackend::Disk(on_disk) => on_disk.objects.copy_to(data, into),
            JournalBackend::Memory(_) => {
                let bytes = self.object(data)?;
                into.write_all(&bytes)
                    .map_err(|source| io_error("write", Path::new("the kept content"), source))
            }
        }
    }

    /// Returns the newest chained record. After [`Journal::close`], a copy of it kept elsewhere proves that
    /// the record is complete.
    pub fn head(&self) -> ChainHead {
        match &*self.backend {
            JournalBackend::Disk(on_disk) => on_disk.writer.head(),
            JournalBackend::Memory(memory) => lock_mutex(&memory.logs).chain_pending().head,
        }
    }

    /// Syncs everything, removes the write-ahead log and releases the folder. Can be called twice.
    ///
    /// For a run that has ended: a folder without `run.finished` and without the write-ahead log counts as
    /// truncated. Drop the journal of an unfinished run instead, so that it can be resumed.
    pub fn close(&self) -> Result<ChainHead, JournalError> {
        match &*self.backend {
            JournalBackend::Disk(on_disk) => {
                on_disk.stop(true);
                let head = on_disk.writer.outcome()?;
                let forgotten = on_disk.objects.forget_stored();
                forgotten.map_err(|source| io_error("close", on_disk.folder.path(), source))?;
                on_disk
                    .folder
                    .unlock()
                    .map_err(|source| io_error("unlock", on_disk.folder.path(), source))?;
                Ok(head)
            }
            JournalBackend::Memory(_) => Ok(self.head()),
        }
    }

    /// Returns the reason why nothing more may be done in this run: the record cannot be written, or
    /// something that a result would have named could not be stored beside it. In the second case records can
    /// still be appended, so that the failure itself is recorded.
    pub fn failure(&self) -> Option<String> {
        match &*self.backend {
            JournalBackend::Disk(on_disk) => {
                on_disk.writer.failure().or_else(|| on_disk.first_loss.get().cloned())
            }
            JournalBackend::Memory(_) => None,
        }
    }

    /// Records that something beside the record could not be stored.
    pub fn report_loss(&self, why: &str) {
        if let JournalBackend::Disk(on_disk) = &*self.backend {
            on_disk.first_loss.get_or_init(|| why.to_owned());
        }
    }

    /// Calls [`Journal::report_loss`] if `kept` is an error.
    pub(crate) fn note_failure<T>(&self, kept: Result<T, JournalError>) -> Result<T, JournalError> {
        kept.inspect_err(|error| self.report_loss(&error.to_string()))
    }

    /// Returns the handle on the run folder; `None` for a journal in memory.
    pub(crate) fn folder(&self) -> Option<&FolderHandle> {
        match &*self.backend {
            JournalBackend::Disk(on_disk) => Some(&on_disk.folder),
            JournalBackend::Memory(_) => None,
        }
    }

    /// Returns the path of the run folder; `None` for a journal in memory.
    pub fn run_dir(&self) -> Option<&Path> {
        match &*self.backend {
            JournalBackend::Disk(on_disk) => Some(on_disk.folder.path()),
            JournalBackend::Memory(_) => None,
        }
    }

    /// Returns the records of one log of a journal in memory, as a reader of a run folder gets them; empty for one on
    /// disk, which [`crate::RunFolder`] reads.
    pub fn records(&self, kind: LogKind) -> Vec<JournalRecord> {
        let read = |line: &String| self.form().read(kind, line.as_bytes()).ok();
        self.lines(kind).iter().filter_map(read).collect()
    }

    /// Returns the lines of one log of a journal in memory; empty for one on disk, which has files to read.
    pub fn lines(&self, kind: LogKind) -> Vec<String> {
        match &*self.backend {
            JournalBackend::Disk(_) => Vec::new(),
            JournalBackend::Memory(memory) => {
                let mut logs = lock_mutex(&memory.logs);
                String::from_utf8_lossy(&logs.chain_pending().lines[kind.index()])
                    .lines()
                    .map(str::to_owned)
                    .collect()
            }
        }
    }
}

/// Larger buffers, grown by one huge record, are freed.
const MAX_KEPT_BUFFER: usize = 1 << 20;
/// Written only by the writer that holds the lock.
const RUN_FILE_TEMPORARY: &str = "run.json.tmp";
/// A lock check holds the shared lock for a moment only; this many failed attempts in a row mean a real
/// writer.
const LOCK_TRIES: u32 = 1000;
/// Attempts before the first pause: most lock checks are over by then.
const LOCK_TRIES_AT_ONCE: u32 = 50;
const LOCK_PAUSE: Duration = Duration::from_millis(1);

impl DiskJournal {
    fn stop(&self, close: bool) {
        self.writer.stop(close);
        if let Some(committer) = lock_mutex(&self.committer).take() {
            // If the committer panicked, it has stopped the journal itself.
            let _joined = committer.join();
        }
    }
}

impl Drop for DiskJournal {
    fn drop(&mut self) {
        self.stop(false);
    }
}

/// Locks a mutex. A panic leaves nothing half changed behind these locks, so poisoning is ignored.
fn lock_mutex<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks a run for its writer.
pub(crate) fn lock(folder: &FolderHandle) -> Result<(), JournalError> {
    let failed = |source| io_error("lock", folder.path(), source);
    for turn in 0..LOCK_TRIES {
        if folder.lock().map_err(failed)? {
            return Ok(());
        }
        // A shared lock is a check that will be released in a moment. A writer holds an exclusive lock;
        // waiting for a writer is up to the caller.
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

/// Opens the folder of a run. Fails with a "not a run" error if it does not exist.
pub(crate) fn open_run(run_dir: &Path) -> Result<FolderHandle, JournalError> {
    FolderHandle::open(run_dir).map_err(|source| {
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
