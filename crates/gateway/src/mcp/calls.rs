//! One `tools/call`, from the request to its answer, over as many rounds as questions need.

use std::sync::Arc;
use std::time::Duration;

use engine::Approvals;
use envelope::{Fault, Hash, ToolName, canonical_object_hash, nearest};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientResult, ElicitRequest, InputRequest,
    InputRequests, InputRequiredResult, ProgressNotificationParam, ProgressToken, ProtocolVersion,
    ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext, ServiceError};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use toolkit::{BoxFuture, CancelCause, CancelToken, Progress, ProgressSink};

use super::answer;
use super::asking::ClientAsker;
use super::face::McpHandler;
use super::parked::{Asked, Bound};
use super::plans::PlanTool;
use super::question::{self, ClientAnswer, Question};
use super::runs::OpenRun;
use super::surface::Surface;
use crate::client::{Client, FrontEnd};
use crate::gate_run::{GateCall, unattended};

/// The key of the one question in a round.
const APPROVAL: &str = "approval";
/// Clients give up on a call that is silent for a minute; some sooner.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);
/// Progress that nobody has read yet. More is news of yesterday.
const PROGRESS_KEPT: usize = 32;

/// A call that has begun. It goes on whether or not anybody holds this.
pub(super) struct Pending {
    result: BoxFuture<'static, Outcome>,
    /// Of a call whose client can be asked.
    asks: Option<Asks>,
    /// Of a call that somebody follows.
    progress: Option<mpsc::Receiver<Progress>>,
    cancel: CancelToken,
    tool: ToolName,
    /// Keeps the run open.
    run: Option<Arc<OpenRun>>,
}

/// The questions of a call.
struct Asks {
    questions: mpsc::Receiver<Question>,
    /// Of the arguments: whoever answers has to send the same again.
    args: Hash,
}

impl Asks {
    /// The next question; never any, where nobody can be asked.
    async fn next(asks: &mut Option<Asks>) -> Option<(Question, Hash)> {
        let asks = asks.as_mut()?;
        asks.questions.recv().await.map(|question| (question, asks.args))
    }
}

impl Pending {
    pub(super) fn is_in(&self, run: &Arc<OpenRun>) -> bool {
        self.run.as_ref().is_some_and(|own| Arc::ptr_eq(own, run))
    }
}

impl Pending {
    /// The same, going on by itself: nobody waits for it between two rounds, and its question may expire meanwhile.
    fn unattended(mut self) -> Pending {
        let alone = unattended(self.result, self.cancel.clone());
        self.result = Box::pin(async move { alone.await.unwrap_or_else(|fault| answer::failed(&fault)) });
        self
    }
}

/// A call as the client wants it.
struct Wanted<'a> {
    tool: ToolName,
    args: Map<String, Value>,
    client: &'a Client,
}

/// How a call ended: already in words for the client.
pub(super) type Outcome = CallToolResult;

/// The line between a call and the client's request.
pub(super) struct Line {
    pub(super) questions: Option<mpsc::Sender<Question>>,
    pub(super) progress: Option<ProgressSink>,
    pub(super) cancel: CancelToken,
}

impl McpHandler {
    pub(super) async fn answer_call(
        &self,
        request: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let surface = self.face.surface();
        let tool = tool_named(&surface, &request.name)?;
        let args = request.arguments.unwrap_or_default();
        let client = self.client(&cx);
        let Some(state) = request.request_state else {
            let pending = self.begin(&surface, tool, args, &client, &cx).await;
            return self.follow(pending, &client, cx).await;
        };
        let principal = client.to_string();
        // Arguments that differ in anything are other arguments.
        let bound = Bound { tool: &tool, args: &canonical_object_hash(&args), principal: &principal };
        let waiting = match self.face.parked.take(&state, &bound) {
            Ok(waiting) => waiting,
            Err(why) => {
                let fault =
                    Fault::new(envelope::Failure::ApprovalRejected, why.to_string()).hint(why.way_out());
                return Ok(answer::failed(&fault).into());
            }
        };
        let said = request.input_responses.as_ref().and_then(|answers| answers.get(APPROVAL));
        // Whoever asked may have given up, in which case the call has ended as that.
        let Asked { pending, reply, can_last } = waiting.asked;
        let _unheard = reply.send(question::meant_by(said, can_last));
        self.follow(pending, &client, cx).await
    }

    async fn begin(
        &self,
        surface: &Arc<Surface>,
        tool: ToolName,
        args: Map<String, Value>,
        client: &Client,
        cx: &RequestContext<RoleServer>,
    ) -> Pending {
        let (ask, asks) = can_ask(cx)
            .then(|| {
                let (ask, questions) = mpsc::channel(1);
                (ask, Asks { questions, args: canonical_object_hash(&args) })
            })
            .unzip();
        // Whoever is asked comes back in another request, which may want to know.
        let is_followed = Told::new(cx).is_wanted() || (ask.is_some() && is_modern(cx));
        let (report, progress) = is_followed.then(|| mpsc::channel(PROGRESS_KEPT)).unzip();
        let cancel = CancelToken::new();
        let line = Line { questions: ask, progress: report.map(sink), cancel: cancel.clone() };
        let wanted = Wanted { tool: tool.clone(), args, client };
        let (result, run) = self.start(surface, wanted, line, cx).await;
        Pending { result, asks, progress, cancel, tool, run }
    }

    async fn start(
        &self,
        surface: &Arc<Surface>,
        wanted: Wanted<'_>,
        line: Line,
        cx: &RequestContext<RoleServer>,
    ) -> (BoxFuture<'static, Outcome>, Option<Arc<OpenRun>>) {
        let Wanted { tool, args, client } = wanted;
        if let Some(which) = PlanTool::of(&tool) {
            return (self.plan_call(which, args, line, cx), None);
        }
        let has_own = self.has_own_run(cx);
        let run = match self.run_for(surface, client, has_own).await {
            Ok(run) => run,
            Err(why) => {
                // For the model to read: an error of the protocol is shown to nobody.
                let told = answer::failed(&Fault::new(envelope::Failure::SetupRequired, why));
                return (Box::pin(std::future::ready(told)), None);
            }
        };
        let approvals = run.surface.policy.approval;
        let approver = self.approver(client, line.questions, approvals, has_own);
        let Line { progress, cancel, .. } = line;
        let call = GateCall { tool, args, approver, progress, cancel };
        let running = run.run.call(call);
        let surface = run.surface.clone();
        let result = Box::pin(async move {
            match running.await {
                Ok(result) => surface.told(result),
                Err(fault) => answer::failed(&fault),
            }
        });
        (result, Some(run))
    }

    /// Who answers for a call of this client.
    pub(super) fn approver(
        &self,
        client: &Client,
        questions: Option<mpsc::Sender<Question>>,
        approvals: Approvals,
        can_last: bool,
    ) -> Option<Arc<dyn engine::Approver>> {
        let parts = &self.face.parts;
        if !parts.settings.asks {
            // Whoever answers for the engine has said yes to everything.
            return None;
        }
        Some(Arc::new(ClientAsker {
            client: questions,
            desk: (parts.approvers)(&client.id, FrontEnd::Mcp),
            approvals,
            can_last,
            limit: parts.settings.answer_limit,
        }))
    }

    /// Waits for the result with the client, and carries its questions and its progress to it.
    async fn follow(
        &self,
        mut pending: Pending,
        client: &Client,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut told = Told::new(&cx);
        let mut asking: Option<BoxFuture<'_, ()>> = None;
        let mut alive = told.is_wanted().then(signs_of_life);
        loop {
            let is_wanted = !pending.cancel.is_cancelled();
            tokio::select! {
                biased;
                result = &mut pending.result => {
                    // What was reported before the end is told before it, or a quick call would be a silent one.
                    while let Some(Ok(progress)) = pending.progress.as_mut().map(mpsc::Receiver::try_recv) {
                        told.progress(&cx, progress).await;
                    }
                    return Ok(result.into());
                }
                // A question that is open is left so until the call has ended: to let go of it would be an answer.
                () = cx.ct.cancelled(), if is_wanted => pending.cancel.cancel(CancelCause::Run),
                _ = self.goes(), if is_wanted && asking.is_some() => {
                    pending.cancel.cancel(CancelCause::Run);
                }
                () = answered(&mut asking), if is_wanted => asking = None,
                Some((question, args)) = Asks::next(&mut pending.asks), if is_wanted && asking.is_none() => {
                    if is_modern(&cx) {
                        match self.park(pending, question, args, client) {
                            Ok(asks) => return Ok(asks),
                            Err(again) => pending = *again,
                        }
                        continue;
                    }
                    let limit = self.face.parts.settings.answer_limit;
                    asking = Some(Box::pin(ask_now(question, cx.peer.clone(), limit)));
                }
                Some(progress) = next(&mut pending.progress) => told.progress(&cx, progress).await,
                () = due(&mut alive) => told.alive(&cx).await,
            }
        }
    }

    /// The question as the answer to this request; or the call again, which has been told that it is not asked.
    fn park(
        &self,
        pending: Pending,
        question: Question,
        args: Hash,
        client: &Client,
    ) -> Result<CallToolResponse, Box<Pending>> {
        let Question { text, can_last, reply } = question;
        let pending = pending.unattended();
        let nonce = (self.face.parts.unique)();
        let tool = pending.tool.clone();
        let principal = client.to_string();
        let bound = Bound { tool: &tool, args: &args, principal: &principal };
        match self.face.parked.park(nonce, &bound, &client.id, Asked { pending, reply, can_last }) {
            Ok(state) => {
                let ask = InputRequest::Elicitation(ElicitRequest::new(question::form(text, can_last)));
                let asks = InputRequests::from([(APPROVAL.to_owned(), ask)]);
                Ok(InputRequiredResult::new(Some(asks), Some(state)).into())
            }
            Err(waiting) => {
                let Asked { pending, reply, .. } = *waiting;
                let _unheard = reply.send(ClientAnswer::Crowded);
                Err(Box::new(pending))
            }
        }
    }
}

/// The tool that a client means.
fn tool_named(surface: &Surface, called: &str) -> Result<ToolName, ErrorData> {
    let listing = &surface.listing;
    listing.own_name(called).cloned().ok_or_else(|| {
        let hint = match nearest(called, listing.names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "tools/list names them all".to_owned(),
        };
        let shown: String = called.chars().take(80).flat_map(char::escape_debug).collect();
        ErrorData::invalid_params(format!("unknown tool `{shown}`; {hint}"), None)
    })
}

/// Asks on the connection itself, as clients do that opened with `initialize`.
async fn ask_now(question: Question, peer: Peer<RoleServer>, limit: Duration) {
    let Question { text, can_last, reply } = question;
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(question::form(text, can_last)));
    let mut options = PeerRequestOptions::no_options();
    options.timeout = Some(limit);
    let answer = match peer.send_request_with_option(request, options).await {
        Ok(sent) => sent.await_response().await,
        Err(error) => Err(error),
    };
    let meant = match answer {
        Ok(ClientResult::ElicitResult(answer)) => question::meant(&answer, can_last),
        // Silence is a no, and not a client that cannot ask.
        Err(ServiceError::Timeout { .. }) => ClientAnswer::Silent,
        Ok(_) | Err(_) => ClientAnswer::Unasked,
    };
    let _unheard = reply.send(meant);
}

/// What does not fit is not worth waiting for.
fn sink(report: mpsc::Sender<Progress>) -> ProgressSink {
    Arc::new(move |progress| drop(report.try_send(progress)))
}

/// What comes next; never anything, where nothing can come.
async fn next(from: &mut Option<mpsc::Receiver<Progress>>) -> Option<Progress> {
    match from {
        Some(from) => from.recv().await,
        None => None,
    }
}

/// Ends when the question that is open has its answer; never, if none is.
async fn answered(asking: &mut Option<BoxFuture<'_, ()>>) {
    match asking {
        Some(asking) => asking.await,
        None => std::future::pending().await,
    }
}

/// Only for clients that want to know: a timer wakes whoever waits for the next one, which costs more than most calls.
fn signs_of_life() -> Interval {
    let mut alive = interval_at(Instant::now() + SIGN_OF_LIFE, SIGN_OF_LIFE);
    alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    alive
}

/// Ends when it is time for a sign of life; never, if nobody wants one.
async fn due(alive: &mut Option<Interval>) {
    match alive {
        Some(alive) => drop(alive.tick().await),
        None => std::future::pending().await,
    }
}

/// Whether the client says that it can put a form before a person.
fn can_ask(cx: &RequestContext<RoleServer>) -> bool {
    let elicitation = cx.client_capabilities().and_then(|can| can.elicitation);
    // A client of an older version that names no kind means forms: there was no other.
    elicitation.is_some_and(|can| can.form.is_some() || can.url.is_none())
}

/// Whether the client carries questions over two rounds.
pub(super) fn is_modern(cx: &RequestContext<RoleServer>) -> bool {
    cx.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// What the client was told about the progress of a call, if it wants to know.
struct Told {
    token: Option<ProgressToken>,
    /// Only ever grows, as the protocol asks.
    count: f64,
}

impl Told {
    fn new(cx: &RequestContext<RoleServer>) -> Told {
        Told { token: cx.meta.get_progress_token(), count: 0.0 }
    }

    fn is_wanted(&self) -> bool {
        self.token.is_some()
    }

    #[allow(clippy::cast_precision_loss, reason = "the protocol counts in floats")]
    async fn progress(&mut self, cx: &RequestContext<RoleServer>, progress: Progress) {
        let Some(token) = self.token.clone() else { return };
        self.count = (progress.done as f64).max(self.count + 1e-3);
        let mut told = ProgressNotificationParam::new(token, self.count).with_message(progress.message);
        told.total = progress.total.map(|total| (total as f64).max(self.count));
        // A client that is gone cancels the call by other means.
        let _gone = cx.peer.notify_progress(told).await;
    }

    async fn alive(&mut self, cx: &RequestContext<RoleServer>) {
        let Some(token) = self.token.clone() else { return };
        self.count += 1e-3;
        let told = ProgressNotificationParam::new(token, self.count).with_message("still at it");
        let _gone = cx.peer.notify_progress(told).await;
    }
}
