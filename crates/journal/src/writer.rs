//! Where records queue up, and the thread that takes them to the disk.
//!
//! Appending takes a short lock for the number, the hash and a copy into the queue. One thread takes the
//! whole queue at once, so that all who wait share one sync. Records nobody waits for are written a moment
//! later, many at a time and without a sync: a killed process loses almost nothing, and an append stays far
//! cheaper than a system call.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::commit::{Batch, Files, Pending};
use crate::error::JournalError;
use crate::kind::{ChainHead, Kind, Seq};
use crate::line::write_line;

/// How long records that nobody waits for may queue up before they are written.
const LINGER: Duration = Duration::from_millis(2);
/// A queue of this size is written at once.
const FULL: usize = 64 << 10;
/// Buffers that one huge record blew up are given back.
const KEEP: usize = 1 << 20;

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
    head: ChainHead,
    batch: Batch,
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
    progress: watch::Sender<Progress>,
}

impl Writer {
    pub(crate) fn new(head: ChainHead) -> Writer {
        Writer {
            queue: Mutex::new(Queue {
                head,
                batch: Batch::default(),
                wanted: 0,
                committer: Committer::Awake,
                stage: Stage::Open,
                failed: None,
            }),
            wake: Condvar::new(),
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
        let Queue { head, batch, .. } = &mut *queue;
        let before = batch.bytes.len();
        *head = write_line(head, kind, body, &mut batch.bytes);
        batch.records.push(Pending { kind, len: batch.bytes.len() - before });
        batch.head = Some(*head);
        let (seq, filled) = (head.seq, before < FULL && batch.bytes.len() >= FULL);
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
        let upto = upto.min(queue.head.seq);
        queue.wanted = queue.wanted.max(upto);
        if queue.committer != Committer::Awake {
            queue.committer = Committer::Awake;
            drop(queue);
            self.wake.notify_one();
        }
        upto
    }

    pub(crate) fn head(&self) -> ChainHead {
        self.lock().head
    }

    pub(crate) fn check_open(&self) -> Result<(), JournalError> {
        self.lock().check_open()
    }

    /// Stops the journal for good after a failure outside the committer.
    pub(crate) fn fail(&self, why: &str) {
        let why: Arc<str> = why.into();
        self.lock().failed = Some(Arc::clone(&why));
        self.progress.send_modify(|progress| progress.failed = Some(why));
    }

    pub(crate) fn finish(&self, close: bool) {
        let mut queue = self.lock();
        if queue.stage == Stage::Open {
            queue.stage = if close { Stage::Closing } else { Stage::Abandoned };
        }
        drop(queue);
        self.wake.notify_one();
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
        let mut batch = Batch::default();
        let mut newest = self.progress.borrow().durable;
        loop {
            let Some((sync, stage)) = self.take(&mut batch) else { return };
            newest = batch.head.map_or(newest, |head| head.seq);
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
    fn take(&self, batch: &mut Batch) -> Option<(bool, Stage)> {
        batch.clear();
        if batch.bytes.capacity() > KEEP {
            *batch = Batch::default();
        }
        let mut queue = self.lock();
        let mut lingered = false;
        loop {
            if queue.failed.is_some() {
                return None;
            }
            let sync = queue.wanted > self.progress.borrow().durable;
            let queued = queue.batch.bytes.len();
            if sync || lingered || queued >= FULL || queue.stage != Stage::Open {
                std::mem::swap(&mut queue.batch, batch);
                queue.committer = Committer::Awake;
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

impl Queue {
    fn check_open(&self) -> Result<(), JournalError> {
        match (&self.failed, self.stage) {
            (Some(why), _) => Err(JournalError::Stopped { why: Arc::clone(why) }),
            (None, Stage::Open) => Ok(()),
            (None, Stage::Closing | Stage::Abandoned | Stage::Closed) => Err(JournalError::Closed),
        }
    }
}
