//! The last of what a program complained about. The rest is read and forgotten, so that it never waits for us.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::watch;

use crate::hidden;

const KEPT: usize = 4 * 1024;
/// How long the last words may be on their way when the program has ended.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// What was printed last.
#[derive(Clone)]
pub(crate) struct Tail {
    kept: Arc<Mutex<VecDeque<u8>>>,
    ended: watch::Receiver<bool>,
}

impl Tail {
    /// Reads until the end, beside everything else.
    pub(crate) fn of(stream: OwnedFd) -> std::io::Result<Tail> {
        let mut stream = Receiver::from_owned_fd(stream)?;
        let kept = Arc::new(Mutex::new(VecDeque::new()));
        let (end, ended) = watch::channel(false);
        let tail = Tail { kept: Arc::clone(&kept), ended };
        tokio::spawn(async move {
            let mut piece = vec![0; KEPT];
            while let Ok(count @ 1..) = stream.read(&mut piece).await {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&piece[..count]);
                let over = kept.len().saturating_sub(KEPT);
                kept.drain(..over);
            }
            let _nobody_waits = end.send(true);
        });
        Ok(tail)
    }

    /// What is known when the program has ended.
    pub(crate) async fn last_words(&self) -> Vec<u8> {
        let mut ended = self.ended.clone();
        let _late = tokio::time::timeout(LAST_WORDS, ended.wait_for(|ended| *ended)).await;
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }
}

/// The last line of it, for a message.
pub(crate) fn last_line(printed: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(printed);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(hidden::one_line(line, 300))
}
