//! Turn by turn, until the answer is complete.

use std::pin::Pin;
use std::sync::Arc;

use backend::{Capabilities, Finish, Turn, TurnStream, Usage};
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep};

use super::ear::{Broken, Habits, Heard, MadeCall};
use super::out::{Gone, Out};
use super::toolbox::ToolboxRun;
use super::tools::Tools;
use super::watch::Watch;
use super::{Answered, Prepared, Responder, listen, shape};
use crate::metrics::Seen;
use crate::responses::emitter::{Emitter, response_id};
use crate::responses::error::ApiError;
use crate::responses::event::Framing;
use crate::responses::item::Item;
use crate::responses::object::Reason;
use crate::responses::prompt::{self, Mode, Problem};
use crate::responses::request::Request;
use crate::responses::store::Store;
use crate::responses::tools::Choice;
use crate::sentinel::Counts;

/// An answer on its way.
pub(super) struct Writer<'r> {
    pub(super) responder: &'r Responder,
    pub(super) request: Request,
    pub(super) conversation: Vec<Item>,
    pub(super) added: usize,
    /// What this answer has added to the conversation so far.
    pub(super) trail: Vec<Item>,
    /// How many items that were sent stand in the trail already.
    trailed: usize,
    pub(super) mode: Mode,
    pub(super) can: Capabilities,
    pub(super) tools: Arc<Tools>,
    pub(super) emitter: Emitter,
    pub(super) out: Out,
    pub(super) cancelled: watch::Receiver<bool>,
    stream: Option<TurnStream>,
    pub(super) unique: String,
    pub(super) began: Instant,
    pub(super) last_heard: Instant,
    pub(super) pulse: Pin<Box<Sleep>>,
    pub(super) sent_since_beat: bool,
    pub(super) said_bytes: u64,
    pub(super) usage: Option<Usage>,
    pub(super) counts: Counts,
    pub(super) calls: u64,
    pub(super) here_calls: u64,
    pub(super) turns: u32,
    pub(super) asked_again: bool,
    made_before: Vec<MadeCall>,
    pub(super) run: Option<Arc<dyn ToolboxRun>>,
    pub(super) watch: Watch,
}

/// Why an answer ends before the model is done.
pub(super) enum Cut {
    Failed(ApiError),
    Incomplete(Reason),
    Cancelled,
    /// Nobody reads it.
    Gone,
}

impl From<Gone> for Cut {
    fn from(_: Gone) -> Cut {
        Cut::Gone
    }
}

impl From<ApiError> for Cut {
    fn from(error: ApiError) -> Cut {
        Cut::Failed(error)
    }
}

impl<'r> Writer<'r> {
    pub(super) fn new(
        responder: &'r Responder,
        prepared: Prepared,
        framing: Framing,
        out: Out,
        cancelled: watch::Receiver<bool>,
    ) -> Writer<'r> {
        let Prepared { request, conversation, added, unique, created_at, began, mode, can, tools, stream } =
            prepared;
        let emitter = Emitter::new(&request, &unique, created_at, framing);
        Writer {
            responder,
            request,
            conversation,
            added,
            trail: Vec::new(),
            trailed: 0,
            mode,
            can,
            tools: Arc::new(tools),
            emitter,
            out,
            cancelled,
            stream: Some(stream),
            unique,
            began,
            last_heard: Instant::now(),
            pulse: Box::pin(sleep(responder.parts.settings.keep_alive)),
            sent_since_beat: false,
            said_bytes: 0,
            usage: None,
            counts: Counts::default(),
            calls: 0,
            here_calls: 0,
            turns: 0,
            asked_again: false,
            made_before: Vec::new(),
            run: None,
            watch: Watch::new(responder.parts.metrics.clone(), began),
        }
    }

    /// Writes the answer; nothing when nobody reads it any more.
    pub(super) async fn write(mut self, also: Option<&Store>) -> Option<Answered> {
        self.emitter.start();
        let cut = match self.flush().await {
            Ok(()) => self.all_turns().await.err(),
            Err(Gone) => Some(Cut::Gone),
        };
        if let Some(run) = self.run.take() {
            run.close().await;
        }
        self.end(cut, also).await
    }

    async fn all_turns(&mut self) -> Result<(), Cut> {
        while let Some(stream) = self.stream.take() {
            self.turns += 1;
            let heard = self.listen(stream).await?;
            self.add_up(&heard);
            self.stream = match self.after(heard).await? {
                Some(turn) => Some(self.start(turn).await?),
                None => None,
            };
        }
        Ok(())
    }

    /// What is to follow a turn: another one, or nothing.
    async fn after(&mut self, heard: Heard) -> Result<Option<Turn>, Cut> {
        if heard.broken.is_some() {
            return self.about_broken_call(heard).map(Some);
        }
        if let Some(turn) = self.settle_shape(&heard)? {
            return Ok(Some(turn));
        }
        match heard.finish {
            Some(Finish::Length) => return Err(Cut::Incomplete(Reason::MaxOutputTokens)),
            Some(Finish::ContentFilter) => return Err(Cut::Incomplete(Reason::ContentFilter)),
            Some(Finish::Stop) | None => {}
        }
        if self.request.choice.requires_a_call() && self.calls == 0 && !heard.refused {
            return self.about_missing_call(&heard).map(Some);
        }
        if heard.here.is_empty() {
            return Ok(None);
        }
        self.follow();
        for call in heard.here {
            self.run_here(call).await?;
        }
        if heard.client_calls > 0 {
            // The client answers its calls first; what was run here is known to the next answer.
            return Ok(None);
        }
        let most = self.responder.parts.settings.max_turns;
        if self.turns >= most {
            return Err(Cut::Failed(ApiError::server(
                502,
                "too_many_turns",
                format!(
                    "the model used tools for {most} turns without coming to an answer; ask for less at once"
                ),
            )));
        }
        // Whoever had to call has called.
        self.request.choice = Choice::Auto;
        self.next_turn().map(Some)
    }

    /// Notes what was sent to the client as a part of the conversation.
    pub(super) fn follow(&mut self) {
        let sent = self.emitter.settle();
        self.trail.extend(sent[self.trailed..].iter().map(|sent| Item::from(sent.item.clone())));
        self.trailed = sent.len();
    }

    fn next_turn(&self) -> Result<Turn, Cut> {
        let said: Vec<Item> = self.conversation.iter().chain(&self.trail).cloned().collect();
        Ok(prompt::turn(&self.request, &said, self.mode, self.can)?)
    }

    /// One more turn about what was wrong, or the end.
    fn ask_again(&mut self, rejected: &str, problem: &Problem<'_>, failed: ApiError) -> Result<Turn, Cut> {
        if std::mem::replace(&mut self.asked_again, true) {
            self.responder.parts.metrics.seen(Seen::StrictFailure);
            return Err(Cut::Failed(failed));
        }
        tracing::info!(response = %response_id(&self.unique), code = failed.code, "asking the model once more");
        let mut turn = self.next_turn()?;
        turn.history.extend(prompt::repair(&self.request, self.mode, rejected, problem));
        Ok(turn)
    }

    fn about_broken_call(&mut self, heard: Heard) -> Result<Turn, Cut> {
        let Some(Broken { name, raw, reason }) = heard.broken else { return self.next_turn() };
        let named = name.as_deref().map_or("a tool".to_owned(), |name| format!("`{name}`"));
        let failed = ApiError::server(
            502,
            "invalid_function_call",
            format!("the model called {named} in a way that its schema does not allow, twice: {reason}"),
        );
        let rejected = format!("{}{raw}", heard.said);
        self.made_before.extend(heard.sent);
        self.ask_again(&rejected, &Problem::BadCall { name: name.as_deref(), reason: &reason }, failed)
    }

    fn about_missing_call(&mut self, heard: &Heard) -> Result<Turn, Cut> {
        let failed = ApiError::server(
            502,
            "function_call_missing",
            "a tool call is required and the model made none, even when it was asked again",
        );
        self.ask_again(&heard.said, &Problem::NoCall, failed)
    }

    /// Sends text that was withheld once it has the shape that was asked for.
    fn settle_shape(&mut self, heard: &Heard) -> Result<Option<Turn>, Cut> {
        let calls = heard.client_calls > 0 || !heard.here.is_empty();
        if !shape::is_asked(&self.request) || heard.refused || (calls && heard.said.trim().is_empty()) {
            return Ok(None);
        }
        match shape::fitting(&heard.said, &self.request.format) {
            Ok(text) => {
                self.emitter.text(text);
                Ok(None)
            }
            // Cut off, so it cannot fit: the client is told that it is incomplete. And words around a call are not
            // the answer, but nothing is kept from the client.
            Err(_) if calls || heard.finish == Some(Finish::Length) => {
                self.emitter.text(&heard.said);
                Ok(None)
            }
            Err(reason) => {
                let failed = ApiError::server(
                    502,
                    "invalid_output_format",
                    format!("the model's answer has not the format that was asked for, twice: {reason}"),
                );
                self.ask_again(&heard.said, &Problem::BadForm { reason: &reason }, failed).map(Some)
            }
        }
    }

    async fn start(&mut self, turn: Turn) -> Result<TurnStream, Cut> {
        let responder = self.responder;
        let limit = responder.parts.settings.start_limit;
        let started = tokio::time::timeout(limit, responder.parts.model.start(turn));
        match self.waiting(started).await? {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => {
                responder.note(error.kind);
                Err(Cut::Failed(error.into()))
            }
            Err(_elapsed) => Err(Cut::Failed(listen::too_slow("did not begin to answer"))),
        }
    }

    pub(super) fn habits(&mut self) -> Habits {
        let remembers = self.tools.any_strict()
            || self.tools.any_here()
            || self.mode == Mode::Native
            || self.request.choice.requires_a_call();
        Habits {
            withheld: shape::is_asked(&self.request),
            remembers,
            parallel: self.request.parallel_tool_calls,
            made_before: std::mem::take(&mut self.made_before),
        }
    }
}
