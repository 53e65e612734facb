//! One answer as a stream, at the pace that the script asks for.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use tokio::time::{Sleep, sleep};

use super::script::{FinishKind, Script, ScriptAnswer};
use crate::{BackendError, FinishReason, TurnEvent};

/// Stream of one answer.
pub(super) struct ScriptStream {
    script: Arc<Script>,
    answer: usize,
    next: PlaybackStep,
    /// Waits before the next delta.
    pause: Option<Pin<Box<Sleep>>>,
}

#[derive(Clone, Copy)]
enum PlaybackStep {
    Reasoning(usize),
    Text(usize),
    Refusal,
    Usage,
    End,
    Nothing,
}

impl ScriptStream {
    pub(super) fn new(script: Arc<Script>, answer: usize) -> ScriptStream {
        ScriptStream { script, answer, next: PlaybackStep::Reasoning(0), pause: None }
    }

    /// Returns the event of a step, if it has one, and the next step.
    fn step(
        answer: &ScriptAnswer,
        next: PlaybackStep,
    ) -> (Option<Result<TurnEvent, BackendError>>, PlaybackStep) {
        match next {
            PlaybackStep::Reasoning(at) => match answer.reasoning.get(at) {
                Some(text) => {
                    let part = u32::try_from(at).unwrap_or(u32::MAX);
                    (
                        Some(Ok(TurnEvent::Reasoning { part, text: text.clone() })),
                        PlaybackStep::Reasoning(at + 1),
                    )
                }
                None => (None, PlaybackStep::Text(0)),
            },
            PlaybackStep::Text(at) => {
                let deltas = answer.text.as_slice();
                if at < deltas.len() * answer.repeat as usize {
                    let text = deltas[at % deltas.len()].clone();
                    // An empty delta only takes its time.
                    ((!text.is_empty()).then_some(Ok(TurnEvent::Text(text))), PlaybackStep::Text(at + 1))
                } else {
                    (None, PlaybackStep::Refusal)
                }
            }
            PlaybackStep::Refusal => {
                (answer.refusal.clone().map(|refusal| Ok(TurnEvent::Refusal(refusal))), PlaybackStep::Usage)
            }
            PlaybackStep::Usage => (answer.usage.map(|usage| Ok(TurnEvent::Usage(usage))), PlaybackStep::End),
            PlaybackStep::End => {
                let end = match &answer.error {
                    Some(failing) => Err(BackendError::new(failing.kind.into(), failing.message.clone())),
                    None => Ok(TurnEvent::Done(answer.finish.into())),
                };
                (Some(end), PlaybackStep::Nothing)
            }
            PlaybackStep::Nothing => (None, PlaybackStep::Nothing),
        }
    }
}

impl Stream for ScriptStream {
    type Item = Result<TurnEvent, BackendError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let script = self.script.clone();
        let answer = &script.answers[self.answer];
        loop {
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(cx));
                self.pause = None;
            } else if answer.delay_ms > 0 && matches!(self.next, PlaybackStep::Text(_)) {
                self.pause = Some(Box::pin(sleep(Duration::from_millis(answer.delay_ms))));
                continue;
            }
            let (event, next) = ScriptStream::step(answer, self.next);
            let over = matches!(self.next, PlaybackStep::Nothing);
            self.next = next;
            if event.is_some() || over {
                return Poll::Ready(event);
            }
        }
    }
}

impl From<FinishKind> for FinishReason {
    fn from(ending: FinishKind) -> FinishReason {
        match ending {
            FinishKind::Stop => FinishReason::Stop,
            FinishKind::Length => FinishReason::Length,
            FinishKind::ContentFilter => FinishReason::ContentFilter,
        }
    }
}
