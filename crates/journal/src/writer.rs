//! The queue of records, and the committer thread that writes them to the disk.
//!
//! An append takes a short lock to get its number and to copy the record into the queue. One thread takes the
//! whole queue at once, chains the records by hash, and lets all waiting callers share one sync. Records
//! without a waiting caller are written a moment later, many at a time and without a sync: a killed process
//! loses almost nothing, and an append stays far cheaper than a system call. The queue is bounded, so a
//! caller that appends faster than the disk has to wait.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::commit::{LineBatch, RawRecords, RunLogFiles};
use crate::error::JournalError;
use crate::log_kind::{ChainHead, LogKind, Seq};

/// Maximum time that records without a waiting caller stay queued.
const LINGER: Duration = Duration::from_millis(2);
/// A queue of this size is written at once.
const FLUSH_BYTES: usize = 64 << 10;
/// Larger buffers, grown by one huge record, are freed.
const MAX_KEPT_BUFFER: usize = 1 << 20;
/// Maximum size of the queue, however slow the disk is.
const MAX_QUEUE_BYTES: usize = 8 << 20;

/// The newest durable record, or the failure.
#[derive(Debug, Clone, Default)]
pub(crate) struct SyncProgress {
    pub durable: Seq,
    pub failed: Option<Arc<str>>,
}

/// The state of the committer, which shows an appender whether to wake it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommitterState {
    /// Sleeps until it is woken.
    Asleep,
    /// Waits a moment for more records.
    Lingering,
    /// Checks the queue before it sleeps again.
    Awake,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommitStage {
    Open,
    /// Write the queue, then close the files for good.
    Closing,
    /// Write the queue and leave the rest to recovery: the last handle was dropped.
    Abandoned,
    Closed,
}

struct CommitQueue {
    /// The number of the newest record.
    newest: Seq,
    raw: RawRecords,
    /// The head of the chain, up to the records that the committer took.
    head: ChainHead,
    /// The newest record that a caller waits for.
    sync_wanted_upto: Seq,
    committer: CommitterState,
    stage: CommitStage,
    failed: Option<Arc<str>>,
}

/// Shared by the journal handles and the committer.
pub(crate) struct JournalWriter {
    queue: Mutex<CommitQueue>,
    wake: Condvar,
    /// Signalled when the committer took a full queue.
    room: Condvar,
    progress: watch::Sender<SyncProgress>,
}

impl JournalWriter {
    pub(crate) fn new(head: ChainHead) -> JournalWriter {
        JournalWriter {
            queue: Mutex::new(CommitQueue {
                newest: head.seq,
                raw: RawRecords::default(),
                head,
                sync_wanted_upto: 0,
                committer: CommitterState::Awake,
                stage: CommitStage::Open,
                failed: None,
            }),
            wake: Condvar::new(),
            room: Condvar::new(),
            progress: watch::Sender::new(SyncProgress { durable: head.seq, failed: None }),
        }
    }

    /// A panic while the lock was held cannot leave the queue half changed, because nothing in there panics
    /// between two related changes.
    fn lock(&self) -> MutexGuard<'_, CommitQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn append(&self, kind: LogKind, body: &[u8]) -> Result<Seq, JournalError> {
        let mut queue = self.lock();
        queue.check_open()?;
        while queue.raw.bytes.len() > MAX_QUEUE_BYTES {
            queue = self.room.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.check_open()?;
        }
        let before = queue.raw.bytes.len();
        queue.raw.push(kind, body);
        queue.newest += 1;
        let (seq, filled) = (queue.newest, before < FLUSH_BYTES && queue.raw.bytes.len() >= FLUSH_BYTES);
        let wake = match queue.committer {
            CommitterState::Asleep => true,
            CommitterState::Lingering => filled,
            CommitterState::Awake => false,
        };
        if wake {
            queue.committer = CommitterState::Awake;
            drop(queue);
            self.wake.notify_one();
        }
        Ok(seq)
    }

    /// Resolves when everything up to `upto` is on the disk.
    pub(crate) async fn durable(&self, upto: Seq) -> Result<(), JournalError> {
        let mut progress = self.progress.subscribe();
        let reached = |now: &SyncProgress, upto: Seq| now.durable >= upto || now.failed.is_some();
        if !reached(&progress.borrow(), upto) {
            let upto = self.request_sync(upto);
            // The sender lives as long as `self`, so the wait ends only with a result.
            let waited = progress.wait_for(|now| reached(now, upto)).await;
            drop(waited);
        }
        let now = progress.borrow();
        match &now.failed {
            // Records that were durable before the failure stay durable.
            Some(why) if now.durable < upto => Err(JournalError::Stopped { why: Arc::clone(why) }),
            Some(_) | None => Ok(()),
        }
    }

    fn request_sync(&self, upto: Seq) -> Seq {
        let mut queue = self.lock();
        let upto = upto.min(queue.newest);
        queue.sync_wanted_upto = queue.sync_wanted_upto.max(upto);
        if queue.committer != CommitterState::Awake {
            queue.committer = CommitterState::Awake;
            drop(queue);
            self.wake.notify_one();
        }
        upto
    }

    /// Returns the newest record that the committer has taken.
    pub(crate) fn head(&self) -> ChainHead {
        self.lock().head
    }

    pub(crate) fn failure(&self) -> Option<String> {
        self.lock().failed.as_deref().map(str::to_owned)
    }

    pub(crate) fn check_open(&self) -> Result<(), JournalError> {
        self.lock().check_open()
    }

    /// Stops the journal for good after a failure outside the committer.
    pub(crate) fn fail(&self, why: &str) {
        let why: Arc<str> = why.into();
        self.lock().failed = Some(Arc::clone(&why));
        self.room.notify_all();
        self.progress.send_modify(|progress| progress.failed = Some(why));
    }

    pub(crate) fn stop(&self, close: bool) {
        let mut queue = self.lock();
        if queue.stage == CommitStage::Open {
            queue.stage = if close { CommitStage::Closing } else { CommitStage::Abandoned };
        }
        drop(queue);
        self.wake.notify_one();
        self.room.notify_all();
    }

    /// Returns how the committer ended; call it after the thread has ended.
    pub(crate) fn outcome(&self) -> Result<ChainHead, JournalError> {
        let queue = self.lock();
        match &queue.failed {
            Some(why) => Err(JournalError::Stopped { why: Arc::clone(why) }),
            None => Ok(queue.head),
        }
    }

    /// The committer: runs until the journal is closed, abandoned or has failed.
    pub(crate) fn run(&self, mut files: RunLogFiles) {
        let _alarm = PanicGuard { writer: self };
        let (mut raw, mut batch) = (RawRecords::default(), LineBatch::default());
        let mut head = self.head();
        loop {
            let Some((sync, stage)) = self.take_queue(&mut raw) else { return };
            batch.chain(&mut head, &raw);
            self.lock().head = head;
            let newest = head.seq;
            let mut acknowledge = |durable| self.progress.send_modify(|progress| progress.durable = durable);
            let mut written = files.commit(&batch, newest, sync, &mut acknowledge);
            if stage == CommitStage::Closing && written.is_ok() {
                written = files.close();
            }
            if let Err(error) = written {
                self.fail(&error.to_string());
                return;
            }
            if stage != CommitStage::Open {
                let mut queue = self.lock();
                queue.stage = CommitStage::Closed;
                let head = queue.head;
                drop(queue);
                if stage == CommitStage::Closing {
                    self.progress.send_modify(|progress| progress.durable = head.seq);
                }
                return;
            }
        }
    }

    /// Sleeps until there is work, and takes the whole queue. Returns whether a caller waits for a sync;
    /// `None` after a failure, when nothing may be written any more.
    fn take_queue(&self, raw: &mut RawRecords) -> Option<(bool, CommitStage)> {
        raw.clear(MAX_KEPT_BUFFER);
        let mut queue = self.lock();
        let mut lingered = false;
        loop {
            if queue.failed.is_some() {
                return None;
            }
            let sync = queue.sync_wanted_upto > self.progress.borrow().durable;
            let queued = queue.raw.bytes.len();
            if sync || lingered || queued >= FLUSH_BYTES || queue.stage != CommitStage::Open {
                std::mem::swap(&mut queue.raw, raw);
                queue.committer = CommitterState::Awake;
                if queued > MAX_QUEUE_BYTES {
                    self.room.notify_all();
                }
                return Some((sync, queue.stage));
            }
            if queued == 0 {
                queue.committer = CommitterState::Asleep;
                queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
            } else {
                queue.committer = CommitterState::Lingering;
                let (woken, timeout) =
                    self.wake.wait_timeout(queue, LINGER).unwrap_or_else(PoisonError::into_inner);
                queue = woken;
                lingered = timeout.timed_out();
            }
            queue.committer = CommitterState::Awake;
        }
    }
}

/// Stops the journal if the committer panics; otherwise waiting callers would wait forever.
struct PanicGuard<'a> {
    writer: &'a JournalWriter,
}

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.writer.fail("the committer panicked");
        }
    }
}

impl CommitQueue {
    fn check_open(&self) -> Result<(), JournalError> {
        match (&self.failed, self.stage) {
            (Some(why), _) => Err(JournalError::Stopped { why: Arc::clone(why) }),
            (None, CommitStage::Open) => Ok(()),
            (None, CommitStage::Closing | CommitStage::Abandoned | CommitStage::Closed) => {
                Err(JournalError::Closed)
            }
        }
    }
}
