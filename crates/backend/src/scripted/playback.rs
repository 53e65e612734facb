//! One answer as a stream, at the pace that the script asks for.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use tokio::time::{Sleep, sleep};

use super::script::{Answer, Ending, Script};
use crate::{BackendError, Finish, TurnEvent};

/// Where in its answer the stream is.
pub(super) struct Playback {
    script: Arc<Script>,
    answer: usize,
    next: Next,
    /// Waits before the next delta.
    pause: Option<Pin<Box<Sleep>>>,
}

#[derive(Clone, Copy)]
enum Next {
    Reasoning(usize),
    Text(usize),
    Refusal,
    Usage,
    End,
    Nothing,
}

impl Playback {
    pub(super) fn new(script: Arc<Script>, answer: usize) -> Playback {
        Playback { script, answer, next: Next::Reasoning(0), pause: None }
    }

    /// What comes now, and where the stream is afterwards.
    fn step(answer: &Answer, next: Next) -> (Option<Result<TurnEvent, BackendError>>, Next) {
        match next {
            Next::Reasoning(at) => match answer.reasoning.get(at) {
                Some(text) => {
                    let part = u32::try_from(at).unwrap_or(u32::MAX);
                    (Some(Ok(TurnEvent::Reasoning { part, text: text.clone() })), Next::Reasoning(at + 1))
                }
                None => (None, Next::Text(0)),
            },
            Next::Text(at) => {
                let deltas = answer.text.as_slice();
                if at < deltas.len() * answer.repeat as usize {
                    let text = deltas[at % deltas.len()].clone();
                    // An empty delta only takes its time.
                    ((!text.is_empty()).then_some(Ok(TurnEvent::Text(text))), Next::Text(at + 1))
                } else {
                    (None, Next::Refusal)
                }
            }
            Next::Refusal => {
                (answer.refusal.clone().map(|refusal| Ok(TurnEvent::Refusal(refusal))), Next::Usage)
            }
            Next::Usage => (answer.usage.map(|usage| Ok(TurnEvent::Usage(usage))), Next::End),
            Next::End => {
                let end = match &answer.error {
                    Some(failing) => Err(BackendError::new(failing.kind.into(), failing.message.clone())),
                    None => Ok(TurnEvent::Done(answer.finish.into())),
                };
                (Some(end), Next::Nothing)
            }
            Next::Nothing => (None, Next::Nothing),
        }
    }
}

impl Stream for Playback {
    type Item = Result<TurnEvent, BackendError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let script = self.script.clone();
        let answer = &script.answers[self.answer];
        loop {
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(cx));
                self.pause = None;
            } else if answer.delay_ms > 0 && matches!(self.next, Next::Text(_)) {
                self.pause = Some(Box::pin(sleep(Duration::from_millis(answer.delay_ms))));
                continue;
            }
            let (event, next) = Playback::step(answer, self.next);
            let over = matches!(self.next, Next::Nothing);
            self.next = next;
            if event.is_some() || over {
                return Poll::Ready(event);
            }
        }
    }
}

impl From<Ending> for Finish {
    fn from(ending: Ending) -> Finish {
        match ending {
            Ending::Stop => Finish::Stop,
            Ending::Length => Finish::Length,
            Ending::ContentFilter => Finish::ContentFilter,
        }
    }
}
