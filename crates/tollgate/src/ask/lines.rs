//! Gives each line that is typed to the question that stands on the screen then.
//!
//! A read from a terminal cannot be cancelled. When its question is withdrawn it goes on, and what it reads belongs
//! to the next question; a second read beside it would leave to luck which of the two gets the line. What was typed
//! before that question came up is not among it: what still waits at the terminal then is discarded there, and what
//! was read already is known by the number of questions that had been shown.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

#[derive(Default)]
pub(crate) struct Lines(Arc<Shared>);

#[derive(Default)]
struct Shared {
    reading: Mutex<Reading>,
    /// How many questions have been shown. Looked at without the lock, which is held while the next one comes up.
    shown: AtomicU64,
}

#[derive(Default)]
struct Reading {
    /// Whether somebody reads right now.
    under_way: bool,
    asked: Option<oneshot::Sender<Option<String>>>,
}

impl Lines {
    /// The next line that is typed once `discard` has taken away what was typed before, and `show` has put up the
    /// question. It is read with `read` unless an earlier read is still waiting for it.
    pub(crate) async fn next(
        &self,
        discard: impl FnOnce(),
        show: impl FnOnce(),
        mut read: impl FnMut() -> Option<String> + Send + 'static,
    ) -> Option<String> {
        let (tell, told) = oneshot::channel();
        let already = {
            let mut reading = self.0.lock();
            // Alone, so that no line is handed over while the question comes up.
            discard();
            // Before it can be seen, so that no answer to it comes too early.
            self.0.shown.fetch_add(1, Ordering::SeqCst);
            show();
            reading.asked = Some(tell);
            std::mem::replace(&mut reading.under_way, true)
        };
        if !already {
            let shared = self.0.clone();
            // A thread of its own: it must not hold up the end of the program.
            std::thread::spawn(move || {
                loop {
                    let line = read();
                    let shown = shared.shown.load(Ordering::SeqCst);
                    if shared.hand_over(line, shown) {
                        return;
                    }
                }
            });
        }
        told.await.ok().flatten()
    }
}

impl Shared {
    /// Ends the reading with a line that was read when so many questions had been shown. Says no if another has come
    /// up since: the line was meant for an earlier one, and the next line is still to be read.
    fn hand_over(&self, line: Option<String>, shown: u64) -> bool {
        let mut reading = self.lock();
        if self.shown.load(Ordering::SeqCst) != shown {
            return false;
        }
        reading.under_way = false;
        // A line that comes when no question is open answers none.
        let _nobody_waits = reading.asked.take().map(|asked| asked.send(line));
        true
    }

    fn lock(&self) -> MutexGuard<'_, Reading> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::Ordering;
    use std::sync::mpsc;
    use std::task::{Context, Poll, Waker};

    use super::Lines;

    fn poll(asking: std::pin::Pin<&mut impl Future<Output = Option<String>>>) -> Poll<Option<String>> {
        asking.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[tokio::test]
    async fn the_line_that_follows_a_withdrawn_question_answers_the_next_one() {
        let lines = Lines::default();
        let (keyboard, typed) = mpsc::channel::<&str>();
        {
            let withdrawn = pin!(lines.next(|| (), || (), move || typed.recv().ok().map(str::to_owned)));
            assert_eq!(poll(withdrawn), Poll::Pending);
        }
        let mut next = pin!(lines.next(|| (), || (), || Some("read beside the first".to_owned())));
        assert_eq!(poll(next.as_mut()), Poll::Pending);
        keyboard.send("y").unwrap();
        assert_eq!(next.await.as_deref(), Some("y"));
        assert_eq!(lines.next(|| (), || (), || Some("n".to_owned())).await.as_deref(), Some("n"));
    }

    #[tokio::test]
    async fn a_line_that_was_read_before_a_question_came_up_does_not_answer_it() {
        let lines = Lines::default();
        let (keyboard, typed) = mpsc::channel::<&str>();
        {
            let withdrawn = pin!(lines.next(|| (), || (), move || typed.recv().ok().map(str::to_owned)));
            assert_eq!(poll(withdrawn), Poll::Pending);
        }
        let at_first = lines.0.shown.load(Ordering::SeqCst);
        let mut next = pin!(lines.next(|| (), || (), || Some("read beside the first".to_owned())));
        assert_eq!(poll(next.as_mut()), Poll::Pending);
        // Read before, and handed over only now.
        assert!(!lines.0.hand_over(Some("y".to_owned()), at_first));
        assert_eq!(poll(next.as_mut()), Poll::Pending);
        keyboard.send("n").unwrap();
        assert_eq!(next.await.as_deref(), Some("n"));
    }

    #[tokio::test]
    async fn a_question_counts_as_shown_between_what_was_typed_before_and_its_text() {
        let lines = Lines::default();
        let count = || lines.0.shown.load(Ordering::SeqCst);
        let told = lines.next(|| assert_eq!(count(), 0), || assert_eq!(count(), 1), || Some("y".to_owned()));
        assert_eq!(told.await.as_deref(), Some("y"));
    }

    #[tokio::test]
    async fn an_end_without_a_line_is_no_answer() {
        assert_eq!(Lines::default().next(|| (), || (), || None).await, None);
    }
}
