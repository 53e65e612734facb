//! What was heard of an answer and not yet taken.
//!
//! Words that came together are told together: a reader that is behind catches up with one event instead of a
//! hundred, and nobody could have seen them apart.

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::{BackendError, TurnEvent};

/// Room for so many events stays with a stream that waits.
const EVENTS_KEPT: usize = 4;

/// For text that came together.
const ROOM: usize = 512;

#[derive(Debug, Default)]
pub(super) struct Heard(VecDeque<Result<TurnEvent, BackendError>>);

impl Heard {
    /// More of the answer.
    pub(super) fn text(&mut self, words: Cow<'_, str>) {
        match self.0.back_mut() {
            Some(Ok(TurnEvent::Text(before))) => {
                // Where a second piece came, more will have come with it.
                if before.capacity() - before.len() < words.len() {
                    before.reserve(words.len().max(ROOM));
                }
                before.push_str(&words);
            }
            Some(_) | None if words.is_empty() => {}
            Some(_) | None => self.event(TurnEvent::Text(words.into_owned())),
        }
    }

    /// More of a part of the reasoning.
    pub(super) fn reasoning(&mut self, part: u32, words: Cow<'_, str>) {
        match self.0.back_mut() {
            Some(Ok(TurnEvent::Reasoning { part: same, text })) if *same == part => text.push_str(&words),
            Some(_) | None if words.is_empty() => {}
            Some(_) | None => self.event(TurnEvent::Reasoning { part, text: words.into_owned() }),
        }
    }

    pub(super) fn refusal(&mut self, words: Cow<'_, str>) {
        match self.0.back_mut() {
            Some(Ok(TurnEvent::Refusal(before))) => before.push_str(&words),
            Some(_) | None if words.is_empty() => {}
            Some(_) | None => self.event(TurnEvent::Refusal(words.into_owned())),
        }
    }

    /// What is told on its own.
    pub(super) fn event(&mut self, event: TurnEvent) {
        self.0.push_back(Ok(event));
    }

    pub(super) fn error(&mut self, error: BackendError) {
        self.0.push_back(Err(error));
    }

    pub(super) fn take(&mut self) -> Option<Result<TurnEvent, BackendError>> {
        self.0.pop_front()
    }

    /// Gives back the room for what came at once. To be called while nothing comes.
    pub(super) fn rest(&mut self) {
        if self.0.capacity() > EVENTS_KEPT {
            self.0 = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::Heard;
    use crate::{Finish, TurnEvent};

    #[test]
    fn words_that_came_together_are_told_together() {
        let mut heard = Heard::default();
        heard.text("".into());
        heard.reasoning(0, "Hm".into());
        heard.reasoning(0, ", well.".into());
        heard.reasoning(1, "So:".into());
        heard.text("a ".into());
        heard.text("".into());
        heard.text("b".into());
        heard.event(TurnEvent::NextMessage);
        heard.text("c".into());
        heard.refusal("n".into());
        heard.refusal("o".into());
        heard.event(TurnEvent::Done(Finish::Stop));
        let told: Vec<String> = std::iter::from_fn(|| heard.take())
            .map(|event| format!("{:?}", event.expect("nothing failed")))
            .collect();
        expect![[r#"
            Reasoning { part: 0, text: "Hm, well." }
            Reasoning { part: 1, text: "So:" }
            Text("a b")
            NextMessage
            Text("c")
            Refusal("no")
            Done(Stop)"#]]
        .assert_eq(&told.join("\n"));
    }

    #[test]
    fn what_was_taken_is_not_told_again() {
        let mut heard = Heard::default();
        heard.text("a".into());
        assert_eq!(format!("{:?}", heard.take()), r#"Some(Ok(Text("a")))"#);
        heard.text("b".into());
        heard.rest();
        assert_eq!(format!("{:?}", heard.take()), r#"Some(Ok(Text("b")))"#);
        assert!(heard.take().is_none());
    }
}
