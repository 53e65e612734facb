//! Turn by turn, until the answer is complete.

use std::pin::Pin;
use std::sync::Arc;

use backend::{Capabilities, Entry, Finish, Part, Turn, TurnStream, Usage};
use tokio::time::{Instant, Sleep, sleep};

use super::ear::{Broken, Habits, Heard, MadeCall};
use super::out::{Gone, Out};
use super::running::Heard as Cancelled;
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
use crate::sentinel::Counts;

/// Said to a model that is asked again after a part of its answer went out.
const DELIVERED: &str = "What you said before was delivered and the calls that stand in the conversation were made: \
                         do not repeat them. Send only what is missing.";

/// An answer on its way.
pub(super) struct Writer<'r> {
    pub(super) responder: &'r Responder,
    pub(super) request: Box<Request>,
    pub(super) conversation: Vec<Item>,
    pub(super) added: usize,
    pub(super) echoed: u64,
    /// What this answer has added to the conversation so far.
    pub(super) trail: Vec<Item>,
    /// How many items that were sent stand in the trail already.
    pub(super) trailed: usize,
    pub(super) mode: Mode,
    pub(super) can: Capabilities,
    pub(super) tools: Arc<Tools>,
    pub(super) emitter: Emitter,
    pub(super) out: Out,
    pub(super) cancelled: Cancelled,
    stream: Option<TurnStream>,
    pub(super) unique: String,
    pub(super) began: Instant,
    pub(super) last_heard: Instant,
    pub(super) pulse: Pin<Box<Sleep>>,
    pub(super) sent_since_beat: bool,
    /// The model has said something.
    pub(super) begun: bool,
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

impl Cut {
    /// For the record of the tools that the answer used.
    fn words(&self) -> String {
        match self {
            Cut::Failed(error) => format!("the answer failed: {}", error.code),
            Cut::Incomplete(_) => "the answer was cut off".to_owned(),
            Cut::Cancelled => "the answer was cancelled".to_owned(),
            Cut::Gone => "the client went away".to_owned(),
        }
    }
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
        cancelled: Cancelled,
    ) -> Writer<'r> {
        let Prepared { request, conversation, added, echoed, unique, shell, began, mode, can, tools, stream } =
            prepared;
        let emitter = Emitter::inside(shell, &request, &unique, framing);
        Writer {
            responder,
            request,
            conversation,
            added,
            echoed,
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
            begun: false,
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
    pub(super) async fn write(mut self: Box<Self>, also: Option<&Store>) -> Option<Answered> {
        self.emitter.start();
        let cut = self.all_turns().await.err();
        if let Some(run) = self.run.take() {
            run.close(cut.as_ref().map(Cut::words)).await;
        }
        self.end(cut, also).await
    }

    async fn all_turns(&mut self) -> Result<(), Cut> {
        while let Some(stream) = self.stream.take() {
            self.turns += 1;
            let (heard, cut) = self.listen(stream).await;
            self.add_up(&heard);
            if let Some(cut) = cut {
                self.release(&heard);
                return Err(cut);
            }
            let next = match self.ask_for_more(&heard)? {
                Some(turn) => Some(turn),
                None if heard.here.is_empty() && heard.broken.is_none() => None,
                // Apart, like all that is not the listening: for nearly all of its life an answer waits for the next word.
                None => Box::pin(self.go_on(heard)).await?,
            };
            self.stream = match next {
                Some(turn) => Some(Box::pin(self.start(turn)).await?),
                None => None,
            };
        }
        Ok(())
    }

    /// Another turn if what was heard lacks what was asked for.
    fn ask_for_more(&mut self, heard: &Heard) -> Result<Option<Turn>, Cut> {
        let reason = match heard.finish {
            Some(Finish::Length) => Some(Reason::MaxOutputTokens),
            Some(Finish::ContentFilter) => Some(Reason::ContentFilter),
            Some(Finish::Stop) | None => None,
        };
        if let Some(reason) = reason {
            // Cut off, so nothing that is asked of a whole answer can be asked of it.
            self.release(heard);
            return Err(Cut::Incomplete(reason));
        }
        let called = self.calls + heard.here.len() as u64;
        if heard.broken.is_none() && self.request.choice.requires_a_call() && called == 0 && !heard.refused {
            return self.about_missing_call(heard).map(Some);
        }
        if heard.broken.is_none()
            && let Some(turn) = self.settle_shape(heard)?
        {
            return Ok(Some(turn));
        }
        Ok(None)
    }

    /// Runs what is to be run here. What is to follow: another turn, or nothing.
    async fn go_on(&mut self, heard: Heard) -> Result<Option<Turn>, Cut> {
        self.follow();
        let Heard { here, broken, sent, client_calls, said, .. } = heard;
        let ran_here = !here.is_empty();
        for call in here {
            self.calls += 1;
            self.run_here(call).await?;
        }
        if let Some(broken) = broken {
            self.made_before.extend(sent);
            return self.about_broken_call(&said, broken).map(Some);
        }
        if !ran_here {
            return Ok(None);
        }
        if client_calls > 0 {
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
        self.request.choice = std::mem::take(&mut self.request.choice).without_the_need();
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

    /// Sends what was kept back of a turn that does not come to its end.
    fn release(&mut self, heard: &Heard) {
        if shape::is_asked(&self.request) && !heard.said.is_empty() {
            self.emitter.text(&heard.said);
        }
        if let Some(broken) = &heard.broken
            && self.mode == Mode::Sentinel
        {
            self.emitter.text(&broken.raw);
        }
    }

    /// One more turn about what was wrong, or the end. What the client has got already stands in the conversation, so
    /// the model is not asked for it again.
    fn ask_again(&mut self, rejected: &str, problem: &Problem<'_>, failed: ApiError) -> Result<Turn, Cut> {
        if std::mem::replace(&mut self.asked_again, true) {
            self.responder.parts.metrics.seen(Seen::StrictFailure);
            return Err(Cut::Failed(failed));
        }
        tracing::info!(response = %response_id(&self.unique), code = failed.code, "asking the model once more");
        self.follow();
        let mut turn = self.next_turn()?;
        turn.history.extend(prompt::repair(&self.request, self.mode, rejected, problem));
        if !self.trail.is_empty()
            && let Some(Entry::Message { parts, .. }) = turn.history.last_mut()
        {
            parts.push(Part::Text(DELIVERED.to_owned()));
        }
        Ok(turn)
    }

    fn about_broken_call(&mut self, said: &str, broken: Broken) -> Result<Turn, Cut> {
        let Broken { name, raw, reason } = broken;
        let named = name.as_deref().map_or("a tool".to_owned(), |name| format!("`{name}`"));
        let failed = ApiError::server(
            502,
            "invalid_function_call",
            format!("the model called {named} in a way that its schema does not allow, twice: {reason}"),
        );
        let rejected = if shape::is_asked(&self.request) { format!("{said}{raw}") } else { raw };
        self.ask_again(&rejected, &Problem::BadCall { name: name.as_deref(), reason: &reason }, failed)
    }

    fn about_missing_call(&mut self, heard: &Heard) -> Result<Turn, Cut> {
        let failed = ApiError::server(
            502,
            "function_call_missing",
            "a tool call is required and the model made none, even when it was asked again",
        );
        let rejected = if shape::is_asked(&self.request) { heard.said.as_str() } else { "" };
        self.ask_again(rejected, &Problem::NoCall, failed)
    }

    /// Sends text that was withheld once it has the shape that was asked for.
    fn settle_shape(&mut self, heard: &Heard) -> Result<Option<Turn>, Cut> {
        let calls = heard.client_calls > 0 || !heard.here.is_empty();
        if !shape::is_asked(&self.request) || heard.refused || (calls && heard.said.trim().is_empty()) {
            return Ok(None);
        }
        match shape::fitting(&heard.said, &self.request.format) {
            Ok(text) => {
                self.say_earlier(heard);
                self.emitter.text(text);
                Ok(None)
            }
            // Words around a call are not the answer, but nothing is kept from the client.
            Err(_) if calls => {
                self.say_earlier(heard);
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

    /// Messages that the model sent before the one that has to have a shape.
    fn say_earlier(&mut self, heard: &Heard) {
        for message in &heard.earlier {
            self.emitter.text(message);
            self.emitter.end_message();
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
