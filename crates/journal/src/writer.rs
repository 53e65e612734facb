//! Where records queue up, and the thread that takes them to the disk.
//!
//! Appending takes a short lock for the number and a copy into the queue. One thread takes the whole queue
//! at once, chains the records by hash, and lets all who wait share one sync. Records nobody waits for are
//! written a moment later, many at a time and without a sync: a killed process loses almost nothing, and an
//! append stays far cheaper than a system call. Whoever appends faster than the disk takes has to wait:
//! the queue is bounded.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::commit::{Batch, Files, Raw};
use crate::error::JournalError;
use crate::kind::{ChainHead, Kind, Seq};

/// How long records that nobody waits for may queue up before they are written.
const LINGER: Duration = Duration::from_millis(2);
/// A queue of this size is written at once.
const FULL: usize = 64 << 10;
/// Buffers that one huge record blew up are given back.
const KEEP: usize = 1 << 20;
/// More than this is never queued, however slow the disk is.
const MOST: usize = 8 << 20;

/// How far the disk has come.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress {
    pub durable: Seq,
    pub failed: Option<Arc<str>>,
}

/// What the committer is doing, so that an appender knows whether it has to be woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Committer {
    /// Sleeps until somebody comes.
    Asleep,
    /// Waits a moment for more records.
    Lingering,
    /// Looks at the queue by itself before it sleeps again.
    Awake,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Open,
    /// Write what is queued, then close the files for good.
    Closing,
    /// Write what is queued and leave the rest to recovery: the last handle is gone.
    Abandoned,
    Closed,
}

struct Queue {
    /// The number of the newest record.
    newest: Seq,
    raw: Raw,
    /// How far the chain has come: every record that the committer took.
    head: ChainHead,
    /// The newest record that somebody waits for.
    wanted: Seq,
    committer: Committer,
    stage: Stage,
    failed: Option<Arc<str>>,
}

/// Shared by the handles and the committer.
pub(crate) struct Writer {
    queue: Mutex<Queue>,
    wake: Condvar,
    /// Told when the committer took a queue that was full.
    room: Condvar,
    progress: watch::Sender<Progress>,
}

impl Writer {
    pub(crate) fn new(head: ChainHead) -> Writer {
        Writer {
            queue: Mutex::new(Queue {
                newest: head.seq,
                raw: Raw::default(),
                head,
                wanted: 0,
                committer: Committer::Awake,
                stage: Stage::Open,
                failed: None,
            }),
            wake: Condvar::new(),
            room: Condvar::new(),
            progress: watch::Sender::new(Progress { durable: head.seq, failed: None }),
        }
    }

    /// A panic while the lock was held cannot leave the queue half changed: nothing in there panics
    /// between two changes that belong together.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn append(&self, kind: Kind, body: &[u8]) -> Result<Seq, JournalError> {
        let mut queue = self.lock();
        queue.check_open()?;
        while queue.raw.bytes.len() > MOST {
            queue = self.room.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.check_open()?;
        }
        let before = queue.raw.bytes.len();
        queue.raw.push(kind, body);
        queue.newest += 1;
        let (seq, filled) = (queue.newest, before < FULL && queue.raw.bytes.len() >= FULL);
        let wake = match queue.committer {
            Committer::Asleep => true,
            Committer::Lingering => filled,
            Committer::Awake => false,
        };
        if wake {
            queue.committer = Committer::Awake;
            drop(queue);
            self.wake.notify_one();
        }
        Ok(seq)
    }

    /// Resolves when everything up to `upto` is on the disk.
    pub(crate) async fn durable(&self, upto: Seq) -> Result<(), JournalError> {
        let mut progress = self.progress.subscribe();
        let reached = |now: &Progress, upto: Seq| now.durable >= upto || now.failed.is_some();
        if !reached(&progress.borrow(), upto) {
            let upto = self.ask_for(upto);
            // The sender lives as long as `self`, so the wait cannot end for lack of one.
            let waited = progress.wait_for(|now| reached(now, upto)).await;
            drop(waited);
        }
        let now = progress.borrow();
        match &now.failed {
            // What was durable before the failure stays durable.
            Some(why) if now.durable < upto => Err(JournalError::Stopped { why: Arc::clone(why) }),
            Some(_) | None => Ok(()),
        }
    }

    fn ask_for(&self, upto: Seq) -> Seq {
        let mut queue = self.lock();
        let upto = upto.min(queue.newest);
        queue.wanted = queue.wanted.max(upto);
        if queue.committer != Committer::Awake {
            queue.committer = Committer::Awake;
            drop(queue);
            self.wake.notify_one();
        }
        upto
    }

    /// The newest record that the committer has taken.
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

    pub(crate) fn finish(&self, close: bool) {
        let mut queue = self.lock();
        if queue.stage == Stage::Open {
            queue.stage = if close { Stage::Closing } else { Stage::Abandoned };
        }
        drop(queue);
        self.wake.notify_one();
        self.room.notify_all();
    }

    /// How the committer ended; call it after the thread is gone.
    pub(crate) fn ending(&self) -> Result<ChainHead, JournalError> {
        let queue = self.lock();
        match &queue.failed {
            Some(why) => Err(JournalError::Stopped { why: Arc::clone(why) }),
            None => Ok(queue.head),
        }
    }

    /// The committer: runs until the journal is closed, abandoned or has failed.
    pub(crate) fn run(&self, mut files: Files) {
        let _alarm = Alarm { writer: self };
        let (mut raw, mut batch) = (Raw::default(), Batch::default());
        let mut head = self.head();
        loop {
            let Some((sync, stage)) = self.take(&mut raw) else { return };
            batch.chain(&mut head, &raw);
            self.lock().head = head;
            let newest = head.seq;
            let mut acknowledge = |durable| self.progress.send_modify(|progress| progress.durable = durable);
            let mut written = files.commit(&batch, newest, sync, &mut acknowledge);
            if stage == Stage::Closing && written.is_ok() {
                written = files.close();
            }
            if let Err(error) = written {
                self.fail(&error.to_string());
                return;
            }
            if stage != Stage::Open {
                let mut queue = self.lock();
                queue.stage = Stage::Closed;
                let head = queue.head;
                drop(queue);
                if stage == Stage::Closing {
                    self.progress.send_modify(|progress| progress.durable = head.seq);
                }
                return;
            }
        }
    }

    /// Sleeps until there is something to do, and takes the whole queue. Says whether somebody waits;
    /// `None` after a failure, when nothing may be written any more.
    fn take(&self, raw: &mut Raw) -> Option<(bool, Stage)> {
        raw.clear(KEEP);
        let mut queue = self.lock();
        let mut lingered = false;
        loop {
            if queue.failed.is_some() {
                return None;
            }
            let sync = queue.wanted > self.progress.borrow().durable;
            let queued = queue.raw.bytes.len();
            if sync || lingered || queued >= FULL || queue.stage != Stage::Open {
                std::mem::swap(&mut queue.raw, raw);
                queue.committer = Committer::Awake;
                if queued > MOST {
                    self.room.notify_all();
                }
                return Some((sync, queue.stage));
            }
            if queued == 0 {
                queue.committer = Committer::Asleep;
                queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
            } else {
                queue.committer = Committer::Lingering;
                let (woken, timeout) =
                    self.wake.wait_timeout(queue, LINGER).unwrap_or_else(PoisonError::into_inner);
                queue = woken;
                lingered = timeout.timed_out();
            }
            queue.committer = Committer::Awake;
        }
    }
}

/// Stops the journal if the committer panics: those who wait for it would wait for ever.
struct Alarm<'a> {
    writer: &'a Writer,
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.writer.fail("the committer panicked");
        }
    }
}

impl Queue {
    fn check_open(&self) -> Result<(), JournalError> {
        match (&self.failed, self.stage) {
            (Some(why), _) => Err(JournalError::Stopped { why: Arc::clone(why) }),
            (None, Stage::Open) => Ok(()),
            (None, Stage::Closing | Stage::Abandoned | Stage::Closed) => Err(JournalError::Closed),
        }
    }
}
