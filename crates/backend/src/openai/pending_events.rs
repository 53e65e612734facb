//! Buffer of parsed events that were not taken yet.
//!
//! Text that arrived together becomes one event, so that a slow reader catches up with one event instead of a hundred.

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::{BackendError, TurnEvent};

/// Capacity that an idle stream keeps.
const EVENTS_KEPT: usize = 4;

/// Extra capacity for text that continues.
const ROOM: usize = 512;

#[derive(Debug, Default)]
pub(super) struct PendingEvents(VecDeque<Result<TurnEvent, BackendError>>);

impl PendingEvents {
    /// Appends text of the answer.
    pub(super) fn text(&mut self, words: Cow<'_, str>) {
        match self.0.back_mut() {
            Some(Ok(TurnEvent::Text(before))) => {
                // After a second piece, more are likely.
                if before.capacity() - before.len() < words.len() {
                    before.reserve(words.len().max(ROOM));
                }
                before.push_str(&words);
            }
            Some(_) | None if words.is_empty() => {}
            Some(_) | None => self.event(TurnEvent::Text(words.into_owned())),
        }
    }

    /// Appends text to a part of the reasoning.
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

    /// Appends an event that is never merged.
    pub(super) fn event(&mut self, event: TurnEvent) {
        self.0.push_back(Ok(event));
    }

    pub(super) fn error(&mut self, error: BackendError) {
        self.0.push_back(Err(error));
    }

    pub(super) fn take(&mut self) -> Option<Result<TurnEvent, BackendError>> {
        self.0.pop_front()
    }

    /// Frees unused capacity. Call it while the stream is idle.
    pub(super) fn shrink(&mut self) {
        if self.0.capacity() > EVENTS_KEPT {
            self.0 = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::PendingEvents;
    use crate::{FinishReason, TurnEvent};

    #[test]
    fn words_that_came_together_are_told_together() {
        let mut pending = PendingEvents::default();
        pending.text("".into());
        pending.reasoning(0, "Hm".into());
        pending.reasoning(0, ", well.".into());
        pending.reasoning(1, "So:".into());
        pending.text("a ".into());
        pending.text("".into());
        pending.text("b".into());
        pending.event(TurnEvent::NextMessage);
        pending.text("c".into());
        pending.refusal("n".into());
        pending.refusal("o".into());
        pending.event(TurnEvent::Done(FinishReason::Stop));
        let shown: Vec<String> = std::iter::from_fn(|| pending.take())
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
        .assert_eq(&shown.join("\n"));
    }

    #[test]
    fn what_was_taken_is_not_told_again() {
        let mut pending = PendingEvents::default();
        pending.text("a".into());
        assert_eq!(format!("{:?}", pending.take()), r#"Some(Ok(Text("a")))"#);
        pending.text("b".into());
        pending.shrink();
        assert_eq!(format!("{:?}", pending.take()), r#"Some(Ok(Text("b")))"#);
        assert!(pending.take().is_none());
    }
}
