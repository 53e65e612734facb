//! `tools/call`: one call from the request to its answer, over as many rounds as its questions need.

use std::sync::Arc;
use std::time::Duration;

use engine::{ApprovalPolicy, CallRequest};
use envelope::{Fault, Hash, ToolName, canonical_object_hash, nearest_tool};
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
use toolkit::{BoxFuture, CallProgress, CancelCause, CancelToken, ProgressSink};

use super::approver::McpApprover;
use super::call_result;
use super::client_runs::ClientRun;
use super::pending_requests::{StateBinding, SuspendedCall};
use super::question::{self, ClientAnswer, ClientQuestion};
use super::server::McpHandler;
use super::surface::ServerSurface;
use call_session::{ClientIdentity, FrontEnd};
use call_session::{PlanTool, detach_task};

/// Key of the only question in a round.
const APPROVAL: &str = "approval";
/// Clients give up on a call without messages after a minute; some sooner.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// Number of unread progress reports. Further ones are dropped, because they would be outdated.
const PROGRESS_BUFFER: usize = 32;

/// A call in flight. It continues even if no request waits for it.
pub(super) struct InFlightCall {
    result: BoxFuture<'static, CallToolResult>,
    /// The questions, if the client can be asked.
    questions: Option<CallQuestions>,
    /// The progress reports, if the client requested them.
    progress: Option<mpsc::Receiver<CallProgress>>,
    cancel: CancelToken,
    tool: ToolName,
    /// Keeps the run open.
    run: Option<Arc<ClientRun>>,
}

/// The questions of a call.
struct CallQuestions {
    questions: mpsc::Receiver<ClientQuestion>,
    /// Hash of the arguments: the answer has to come with the same arguments.
    args: Hash,
}

impl CallQuestions {
    /// Returns the next question; `None` if the client cannot be asked.
    async fn next(questions: &mut Option<CallQuestions>) -> Option<(ClientQuestion, Hash)> {
        let pending = questions.as_mut()?;
        pending.questions.recv().await.map(|question| (question, pending.args))
    }
}

impl InFlightCall {
    pub(super) fn is_in(&self, run: &Arc<ClientRun>) -> bool {
        self.run.as_ref().is_some_and(|current| Arc::ptr_eq(current, run))
    }
}

impl InFlightCall {
    /// Moves the call to its own task: between two rounds no request polls it, and its question may expire.
    fn unattended(mut self) -> InFlightCall {
        let alone = detach_task(self.result, self.cancel.clone());
        self.result =
            Box::pin(async move { alone.await.unwrap_or_else(|fault| call_result::error_result(&fault)) });
        self
    }
}

impl McpHandler {
    pub(super) async fn answer_call(
        &self,
        request: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let surface = self.server.surface();
        let tool = resolve_tool_name(&surface, &request.name)?;
        let args = request.arguments.unwrap_or_default();
        let client = self.client(&cx);
        let Some(state) = request.request_state else {
            let pending = self.begin_call(&surface, tool, args, &client, &cx).await;
            return self.follow_call(pending, &client, cx).await;
        };
        let principal = client.to_string();
        // Any difference makes them other arguments.
        let bound = StateBinding { tool: &tool, args: &canonical_object_hash(&args), principal: &principal };
        let waiting = match self.server.pending_requests.take(&state, &bound) {
            Ok(waiting) => waiting,
            Err(why) => {
                let fault =
                    Fault::new(envelope::Failure::ApprovalRejected, why.to_string()).hint(why.advice());
                return Ok(call_result::error_result(&fault).into());
            }
        };
        let answer = request.input_responses.as_ref().and_then(|answers| answers.get(APPROVAL));
        // The approver may have timed out, in which case the call has ended with that result.
        let SuspendedCall { pending, reply, can_remember } = waiting.call;
        let _dropped = reply.send(question::parse_answer_json(answer, can_remember));
        self.follow_call(pending, &client, cx).await
    }

    async fn begin_call(
        &self,
        surface: &Arc<ServerSurface>,
        tool: ToolName,
        args: Map<String, Value>,
        client: &ClientIdentity,
        cx: &RequestContext<RoleServer>,
    ) -> InFlightCall {
        let (ask, questions) = supports_elicitation(cx)
            .then(|| {
                let (ask, questions) = mpsc::channel(1);
                (ask, CallQuestions { questions, args: canonical_object_hash(&args) })
            })
            .unzip();
        // A client that is asked continues with another request, which may have a progress token.
        let is_followed =
            ProgressNotifier::new(cx).is_wanted() || (ask.is_some() && is_stateless_protocol(cx));
        let (report, progress) = is_followed.then(|| mpsc::channel(PROGRESS_BUFFER)).unzip();
        let cancel = CancelToken::new();
        let request = CallRequest {
            progress: report.map(progress_sink),
            ..CallRequest::new(tool.clone(), args, cancel.clone())
        };
        let (result, run) = self.start_call(surface, client, request, ask, cx).await;
        InFlightCall { result, questions, progress, cancel, tool, run }
    }

    async fn start_call(
        &self,
        surface: &Arc<ServerSurface>,
        client: &ClientIdentity,
        request: CallRequest,
        questions: Option<mpsc::Sender<ClientQuestion>>,
        cx: &RequestContext<RoleServer>,
    ) -> (BoxFuture<'static, CallToolResult>, Option<Arc<ClientRun>>) {
        if let Some(which) = PlanTool::of(&request.tool) {
            return (self.plan_call(which, request, questions, cx), None);
        }
        let has_own = self.has_own_run(cx);
        let run = match self.run_for(surface, client, has_own).await {
            Ok(run) => run,
            Err(why) => {
                // Returned as a tool result, so that the model reads it: clients do not show protocol errors.
                let result = call_result::error_result(&Fault::new(envelope::Failure::SetupRequired, why));
                return (Box::pin(std::future::ready(result)), None);
            }
        };
        let approvals = run.surface.policy.approval;
        let approver = self.approver(client, questions, approvals, has_own);
        let running = run.session.call(CallRequest { approver, ..request });
        let surface = run.surface.clone();
        let result = Box::pin(async move {
            match running.await {
                Ok(result) => surface.render_result(result),
                Err(fault) => call_result::error_result(&fault),
            }
        });
        (result, Some(run))
    }

    /// Returns the approver for calls of this client, or `None` to use the engine's own.
    pub(super) fn approver(
        &self,
        client: &ClientIdentity,
        questions: Option<mpsc::Sender<ClientQuestion>>,
        approvals: ApprovalPolicy,
        can_remember: bool,
    ) -> Option<Arc<dyn engine::Approver>> {
        let parts = &self.server.parts;
        if !parts.settings.ask_approval {
            // The engine's own approver approves everything.
            return None;
        }
        Some(Arc::new(McpApprover {
            questions,
            fallback: (parts.approvers)(&client.id, FrontEnd::Mcp),
            approvals,
            can_remember,
            answer_timeout: parts.settings.answer_limit,
        }))
    }

    /// Waits for the result and forwards the questions and the progress of the call to the client.
    async fn follow_call(
        &self,
        mut pending: InFlightCall,
        client: &ClientIdentity,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut notifier = ProgressNotifier::new(&cx);
        let mut asking: Option<BoxFuture<'_, ()>> = None;
        let mut alive = notifier.is_wanted().then(keep_alive_interval);
        loop {
            let is_wanted = !pending.cancel.is_cancelled();
            tokio::select! {
                biased;
                result = &mut pending.result => {
                    // Progress reported before the end is sent first, otherwise a quick call would have none.
                    while let Some(Ok(progress)) = pending.progress.as_mut().map(mpsc::Receiver::try_recv) {
                        notifier.progress(&cx, progress).await;
                    }
                    return Ok(result.into());
                }
                // An open question stays open until the call has ended: dropping it would count as an answer.
                () = cx.ct.cancelled(), if is_wanted => pending.cancel.cancel(CancelCause::Run),
                _ = self.client_gone(), if is_wanted && asking.is_some() => {
                    pending.cancel.cancel(CancelCause::Run);
                }
                () = wait_answered(&mut asking), if is_wanted => asking = None,
                Some((question, args)) = CallQuestions::next(&mut pending.questions), if is_wanted && asking.is_none() => {
                    if is_stateless_protocol(&cx) {
                        match self.suspend(pending, question, args, client) {
                            Ok(response) => return Ok(response),
                            Err(again) => pending = *again,
                        }
                        continue;
                    }
                    let limit = self.server.parts.settings.answer_limit;
                    asking = Some(Box::pin(elicit(question, cx.peer.clone(), limit)));
                }
                Some(progress) = next_progress(&mut pending.progress) => notifier.progress(&cx, progress).await,
                () = keep_alive_due(&mut alive) => notifier.keep_alive(&cx).await,
            }
        }
    }

    /// Returns the question as the response to this request, or the call if its question was rejected.
    fn suspend(
        &self,
        pending: InFlightCall,
        question: ClientQuestion,
        args: Hash,
        client: &ClientIdentity,
    ) -> Result<CallToolResponse, Box<InFlightCall>> {
        let ClientQuestion { text, can_remember, reply } = question;
        let pending = pending.unattended();
        let nonce = (self.server.parts.unique)();
        let tool = pending.tool.clone();
        let principal = client.to_string();
        let bound = StateBinding { tool: &tool, args: &args, principal: &principal };
        match self.server.pending_requests.insert(
            nonce,
            &bound,
            &client.id,
            SuspendedCall { pending, reply, can_remember },
        ) {
            Ok(state) => {
                let ask = InputRequest::Elicitation(ElicitRequest::new(question::elicitation_form(
                    text,
                    can_remember,
                )));
                let requests = InputRequests::from([(APPROVAL.to_owned(), ask)]);
                Ok(InputRequiredResult::new(Some(requests), Some(state)).into())
            }
            Err(waiting) => {
                let SuspendedCall { pending, reply, .. } = *waiting;
                let _dropped = reply.send(ClientAnswer::TooManyQuestions);
                Err(Box::new(pending))
            }
        }
    }
}

/// Returns the tool that a client means by a name.
fn resolve_tool_name(surface: &ServerSurface, called: &str) -> Result<ToolName, ErrorData> {
    let listing = &surface.listing;
    listing.resolve_name(called).cloned().ok_or_else(|| {
        let hint = match nearest_tool(called, listing.names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "tools/list names them all".to_owned(),
        };
        let shown: String = called.chars().take(80).flat_map(char::escape_debug).collect();
        ErrorData::invalid_params(format!("unknown tool `{shown}`; {hint}"), None)
    })
}

/// Asks on the connection itself, for clients that opened it with `initialize`.
async fn elicit(question: ClientQuestion, peer: Peer<RoleServer>, limit: Duration) {
    let ClientQuestion { text, can_remember, reply } = question;
    let request =
        ServerRequest::ElicitRequest(ElicitRequest::new(question::elicitation_form(text, can_remember)));
    let mut options = PeerRequestOptions::no_options();
    options.timeout = Some(limit);
    let answer = match peer.send_request_with_option(request, options).await {
        Ok(sent) => sent.await_response().await,
        Err(error) => Err(error),
    };
    let parsed = match answer {
        Ok(ClientResult::ElicitResult(answer)) => question::parse_answer(&answer, can_remember),
        // A timeout is an unanswered question, not a client that cannot ask.
        Err(ServiceError::Timeout { .. }) => ClientAnswer::TimedOut,
        Ok(_) | Err(_) => ClientAnswer::NotAsked,
    };
    let _dropped = reply.send(parsed);
}

/// Returns a sink that drops reports when the buffer is full.
fn progress_sink(report: mpsc::Sender<CallProgress>) -> ProgressSink {
    Arc::new(move |progress| drop(report.try_send(progress)))
}

/// Returns the next report; `None` without a report channel.
async fn next_progress(from: &mut Option<mpsc::Receiver<CallProgress>>) -> Option<CallProgress> {
    match from {
        Some(from) => from.recv().await,
        None => None,
    }
}

/// Completes when the open question is answered; pends forever without one.
async fn wait_answered(asking: &mut Option<BoxFuture<'_, ()>>) {
    match asking {
        Some(asking) => asking.await,
        None => std::future::pending().await,
    }
}

/// Only for clients with a progress token: the timer wakes the task again, which costs more than most calls.
fn keep_alive_interval() -> Interval {
    let mut alive = interval_at(Instant::now() + KEEP_ALIVE_INTERVAL, KEEP_ALIVE_INTERVAL);
    alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    alive
}

/// Completes when a keep-alive message is due; pends forever without an interval.
async fn keep_alive_due(alive: &mut Option<Interval>) {
    match alive {
        Some(alive) => drop(alive.tick().await),
        None => std::future::pending().await,
    }
}

/// Returns true if the client can show a form to its user.
fn supports_elicitation(cx: &RequestContext<RoleServer>) -> bool {
    let elicitation = cx.client_capabilities().and_then(|can| can.elicitation);
    // A client of an older version that names no kind means forms: there was no other kind.
    elicitation.is_some_and(|can| can.form.is_some() || can.url.is_none())
}

/// Returns true if the client uses the stateless protocol, where questions take two rounds.
pub(super) fn is_stateless_protocol(cx: &RequestContext<RoleServer>) -> bool {
    cx.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// Sends progress notifications for one request, if the client requested them.
struct ProgressNotifier {
    token: Option<ProgressToken>,
    /// Strictly increasing, as the protocol requires.
    count: f64,
}

impl ProgressNotifier {
    fn new(cx: &RequestContext<RoleServer>) -> ProgressNotifier {
        ProgressNotifier { token: cx.meta.get_progress_token(), count: 0.0 }
    }

    fn is_wanted(&self) -> bool {
        self.token.is_some()
    }

    #[allow(clippy::cast_precision_loss, reason = "the protocol counts in floats")]
    async fn progress(&mut self, cx: &RequestContext<RoleServer>, progress: CallProgress) {
        let Some(token) = self.token.clone() else { return };
        self.count = (progress.done as f64).max(self.count + 1e-3);
        let mut notification =
            ProgressNotificationParam::new(token, self.count).with_message(progress.message);
        notification.total = progress.total.map(|total| (total as f64).max(self.count));
        // A disconnected client cancels the call by other means.
        let _disconnected = cx.peer.notify_progress(notification).await;
    }

    async fn keep_alive(&mut self, cx: &RequestContext<RoleServer>) {
        let Some(token) = self.token.clone() else { return };
        self.count += 1e-3;
        let notification = ProgressNotificationParam::new(token, self.count).with_message("still at it");
        let _disconnected = cx.peer.notify_progress(notification).await;
    }
}
