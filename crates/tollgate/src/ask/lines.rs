//! Gives each line that is typed to the question that stands on the screen then.
//!
//! A read from a terminal cannot be cancelled. When its question is withdrawn it goes on, and what it reads belongs
//! to the next question; a second read beside it would leave to luck which of the two gets the line. What was typed
//! before that question came up is not among it: it is discarded as the question is shown.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

#[derive(Default)]
pub(super) struct Lines(Arc<Mutex<Reading>>);

#[derive(Default)]
struct Reading {
    /// Whether somebody reads right now.
    under_way: bool,
    asked: Option<oneshot::Sender<Option<String>>>,
}

impl Lines {
    /// The next line that is typed once `show` has put up the question. It is read with `read` unless an earlier read
    /// is still waiting for it.
    pub(super) async fn next(
        &self,
        show: impl FnOnce(),
        read: impl FnOnce() -> Option<String> + Send + 'static,
    ) -> Option<String> {
        let (tell, told) = oneshot::channel();
        let already = {
            let mut reading = lock(&self.0);
            // Alone, so that no line is handed over while the question comes up.
            show();
            reading.asked = Some(tell);
            std::mem::replace(&mut reading.under_way, true)
        };
        if !already {
            let shared = self.0.clone();
            // A thread of its own: it must not hold up the end of the program.
            std::thread::spawn(move || {
                let line = read();
                let mut reading = lock(&shared);
                reading.under_way = false;
                // A line that comes when no question is open answers none.
                let _nobody_waits = reading.asked.take().map(|asked| asked.send(line));
            });
        }
        told.await.ok().flatten()
    }
}

fn lock(reading: &Mutex<Reading>) -> MutexGuard<'_, Reading> {
    reading.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
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
            let withdrawn = pin!(lines.next(|| (), move || typed.recv().ok().map(str::to_owned)));
            assert_eq!(poll(withdrawn), Poll::Pending);
        }
        let mut next = pin!(lines.next(|| (), || Some("read beside the first".to_owned())));
        assert_eq!(poll(next.as_mut()), Poll::Pending);
        keyboard.send("y").unwrap();
        assert_eq!(next.await.as_deref(), Some("y"));
        assert_eq!(lines.next(|| (), || Some("n".to_owned())).await.as_deref(), Some("n"));
    }

    #[tokio::test]
    async fn an_end_without_a_line_is_no_answer() {
        assert_eq!(Lines::default().next(|| (), || None).await, None);
    }
}
