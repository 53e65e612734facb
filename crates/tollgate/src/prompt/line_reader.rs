//! Assigns each typed line to the question that is on the screen at that time.
//!
//! A read from a terminal cannot be cancelled. When its question is withdrawn the read continues, and its line belongs
//! to the next question; a second read beside it would race for the line. A line that was typed before a question came
//! up does not answer it: input that still waits at the terminal is discarded, and a line that was read already is
//! recognised by the number of questions shown so far.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

#[derive(Default)]
pub(crate) struct LineReader(Arc<ReaderState>);

#[derive(Default)]
struct ReaderState {
    reading: Mutex<PendingRead>,
    /// The number of questions shown. Read without the lock, which is held while the next question is printed.
    shown: AtomicU64,
}

#[derive(Default)]
struct PendingRead {
    /// Whether a thread is reading.
    under_way: bool,
    asked: Option<oneshot::Sender<Option<String>>>,
}

impl LineReader {
    /// Calls `discard` to drop earlier input and `show` to print the question, and returns the next typed line. It is
    /// read with `read` unless an earlier read is still waiting.
    pub(crate) async fn next_line(
        &self,
        discard: impl FnOnce(),
        show: impl FnOnce(),
        mut read: impl FnMut() -> Option<String> + Send + 'static,
    ) -> Option<String> {
        let (answer_sender, answer) = oneshot::channel();
        let already_reading = {
            let mut reading = self.0.lock();
            // Under the lock, so that no line is delivered while the question is printed.
            discard();
            // Counted before the question is visible, so that no answer comes too early.
            self.0.shown.fetch_add(1, Ordering::SeqCst);
            show();
            reading.asked = Some(answer_sender);
            std::mem::replace(&mut reading.under_way, true)
        };
        if !already_reading {
            let shared = self.0.clone();
            // A thread of its own, so that a pending read does not delay the end of the program.
            std::thread::spawn(move || {
                loop {
                    let line = read();
                    let shown = shared.shown.load(Ordering::SeqCst);
                    if shared.deliver_line(line, shown) {
                        return;
                    }
                }
            });
        }
        answer.await.ok().flatten()
    }
}

impl ReaderState {
    /// Delivers a line that was read when `shown` questions had been shown. Returns false if another question has
    /// come up since: the line was meant for an earlier one, and the next line is still to be read.
    fn deliver_line(&self, line: Option<String>, shown: u64) -> bool {
        let mut reading = self.lock();
        if self.shown.load(Ordering::SeqCst) != shown {
            return false;
        }
        reading.under_way = false;
        // A line without an open question is dropped.
        let _nobody_waits = reading.asked.take().map(|asked| asked.send(line));
        true
    }

    fn lock(&self) -> MutexGuard<'_, PendingRead> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::Ordering;
    use std::sync::mpsc;
    use std::task::{Context, Poll, Waker};

    use super::LineReader;

    fn poll(asking: std::pin::Pin<&mut impl Future<Output = Option<String>>>) -> Poll<Option<String>> {
        asking.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[tokio::test]
    async fn the_line_that_follows_a_withdrawn_question_answers_the_next_one() {
        let lines = LineReader::default();
        let (keyboard, typed) = mpsc::channel::<&str>();
        {
            let withdrawn = pin!(lines.next_line(|| (), || (), move || typed.recv().ok().map(str::to_owned)));
            assert_eq!(poll(withdrawn), Poll::Pending);
        }
        let mut next = pin!(lines.next_line(|| (), || (), || Some("read beside the first".to_owned())));
        assert_eq!(poll(next.as_mut()), Poll::Pending);
        keyboard.send("y").unwrap();
        assert_eq!(next.await.as_deref(), Some("y"));
        assert_eq!(lines.next_line(|| (), || (), || Some("n".to_owned())).await.as_deref(), Some("n"));
    }

    #[tokio::test]
    async fn a_line_that_was_read_before_a_question_came_up_does_not_answer_it() {
        let lines = LineReader::default();
        let (keyboard, typed) = mpsc::channel::<&str>();
        {
            let withdrawn = pin!(lines.next_line(|| (), || (), move || typed.recv().ok().map(str::to_owned)));
            assert_eq!(poll(withdrawn), Poll::Pending);
        }
        let at_first = lines.0.shown.load(Ordering::SeqCst);
        let mut next = pin!(lines.next_line(|| (), || (), || Some("read beside the first".to_owned())));
        assert_eq!(poll(next.as_mut()), Poll::Pending);
        // Read before, and delivered only now.
        assert!(!lines.0.deliver_line(Some("y".to_owned()), at_first));
        assert_eq!(poll(next.as_mut()), Poll::Pending);
        keyboard.send("n").unwrap();
        assert_eq!(next.await.as_deref(), Some("n"));
    }

    #[tokio::test]
    async fn a_question_counts_as_shown_between_what_was_typed_before_and_its_text() {
        let lines = LineReader::default();
        let count = || lines.0.shown.load(Ordering::SeqCst);
        let answer =
            lines.next_line(|| assert_eq!(count(), 0), || assert_eq!(count(), 1), || Some("y".to_owned()));
        assert_eq!(answer.await.as_deref(), Some("y"));
    }

    #[tokio::test]
    async fn an_end_without_a_line_is_no_answer() {
        assert_eq!(LineReader::default().next_line(|| (), || (), || None).await, None);
    }
}
