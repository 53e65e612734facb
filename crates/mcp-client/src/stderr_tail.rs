//! The end of a program's standard error. The rest is read and dropped, so that the program never blocks on it.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::watch;

use crate::escape;

const MAX_TAIL_BYTES: usize = 4 * 1024;
/// Timeout for reading the rest of standard error after the program has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(300);

/// The last bytes of standard error.
#[derive(Clone)]
pub(crate) struct StderrTail {
    kept: Arc<Mutex<VecDeque<u8>>>,
    ended: watch::Receiver<bool>,
}

impl StderrTail {
    /// Reads the stream to its end in a background task.
    pub(crate) fn capture(stream: OwnedFd) -> std::io::Result<StderrTail> {
        let mut stream = Receiver::from_owned_fd(stream)?;
        let kept = Arc::new(Mutex::new(VecDeque::new()));
        let (end, ended) = watch::channel(false);
        let tail = StderrTail { kept: Arc::clone(&kept), ended };
        tokio::spawn(async move {
            let mut piece = vec![0; MAX_TAIL_BYTES];
            while let Ok(count @ 1..) = stream.read(&mut piece).await {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&piece[..count]);
                let over = kept.len().saturating_sub(MAX_TAIL_BYTES);
                kept.drain(..over);
            }
            let _nobody_waits = end.send(true);
        });
        Ok(tail)
    }

    /// Returns the last bytes, after the program has ended.
    pub(crate) async fn contents(&self) -> Vec<u8> {
        let mut ended = self.ended.clone();
        let _late = tokio::time::timeout(DRAIN_TIMEOUT, ended.wait_for(|ended| *ended)).await;
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }
}

/// Returns the last line, for a message.
pub(crate) fn last_line(printed: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(printed);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(escape::one_line(line, 300))
}
