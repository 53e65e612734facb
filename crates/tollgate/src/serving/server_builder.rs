//! Builds the HTTP server: its router, its model and its approvals.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use app::call_sessions::CallSessions;
use app::live_settings::{HostRegistry, new_host_registry};
use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use backend::TextModel;
use call_session::{ApproverFactory, FrontEnd};
use call_session::{PLAN_BUDGET, SessionRuns, ToolChoice, ToolSet};
use engine::{Approver, SystemClock};
use envelope::ClientId;
use http_edge::ClientTokens;
use http_edge::metrics::Metrics;
use mcp_server::{McpServer, McpSettings};
use responses::answer::{AnswerSettings, Responder, ResponderParts, Toolbox};
use responses::engine_tools::{EngineToolbox, ServerPlans};
use responses::store::{ResponseStore, StoreLimits};

use super::mcp;
use crate::cli_error::CliError;
use crate::progress::Progress;
use crate::prompt::TerminalApprover;
use crate::runtime::InterruptSignal;
use crate::terminal_observer::TerminalObserver;
use app::approval_queue;
use app::approvals::ApprovalBroker;
use app::plan_service::PlanService;
use app::vault_context::VaultContext;

/// Paths that need no token.
pub(crate) const OPEN_PATHS: [&str; 1] = ["/healthz"];

pub(crate) struct ServerBuilder<'a> {
    pub(crate) model: Arc<dyn TextModel>,
    pub(crate) metrics: Arc<Metrics>,
    /// Folder of stored responses; `None` keeps them in memory.
    pub(crate) keep: Option<&'a Path>,
    /// The vault whose tools are served to MCP clients.
    pub(crate) vault: Option<Arc<VaultContext>>,
    /// Whether models may use the tools too.
    pub(crate) model_tools: Option<ModelToolAccess>,
    /// The sets of tools for models and MCP clients; empty for the default.
    pub(crate) tool_sets: Vec<ToolSet>,
    /// Whether all calls are approved in advance.
    pub(crate) yes: bool,
    /// How long a call waits for `tollgate approve` without a terminal.
    pub(crate) wait: Duration,
    /// The clients with a token.
    pub(crate) clients: Arc<ClientTokens>,
}

/// The requests that get the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelToolAccess {
    /// Requests that ask for them.
    OnRequest,
    /// Also every request that brings no tools of its own.
    Offered,
}

/// The mounted router, and the call sessions behind it.
pub(crate) struct AssembledServer {
    pub(crate) router: Router,
    pub(crate) responder: Arc<Responder>,
    pub(crate) tools: Option<Arc<EngineToolbox>>,
    pub(crate) mcp: Option<Arc<McpServer>>,
    /// The broker of questions for the server's own terminal, if there is one.
    pub(crate) at_terminal: Option<Arc<ApprovalBroker>>,
}

/// The approvers of calls.
struct ServerApprovals {
    approvers: ApproverFactory,
    at_terminal: Option<Arc<ApprovalBroker>>,
}

impl AssembledServer {
    /// Cancels the running calls.
    pub(crate) fn stop(&self) {
        self.runs().for_each(SessionRuns::stop);
    }

    /// Waits until every record is closed.
    pub(crate) async fn finish(&self, limit: Duration) {
        for runs in self.runs() {
            runs.finish(limit).await;
        }
    }

    fn runs(&self) -> impl Iterator<Item = &SessionRuns> {
        let tools = self.tools.as_ref().map(|tools| tools.runs());
        tools.into_iter().chain(self.mcp.as_ref().map(|mcp_server| mcp_server.runs()))
    }
}

impl ServerBuilder<'_> {
    pub(crate) fn build(self, interrupts: &InterruptSignal) -> Result<AssembledServer, CliError> {
        let store = match self.keep {
            Some(folder) => ResponseStore::on_disk(folder.to_owned(), StoreLimits::default())
                .map_err(|error| CliError::bad_input("store", error.to_string()))?,
            None => ResponseStore::in_memory(StoreLimits::default()),
        };
        let offer_tools = self.model_tools == Some(ModelToolAccess::Offered);
        let approvals = self.vault.as_ref().map(|context| self.approvals(context, interrupts)).transpose()?;
        let (mut tools, mut mcp_server) = (None, None);
        if let (Some(context), Some(approvals)) = (&self.vault, &approvals) {
            let (approvers, hosts) = (&approvals.approvers, new_host_registry(context));
            let choice = ToolChoice { sets: self.tool_sets.clone(), has_host: hosts.attached().is_some() };
            if self.model_tools.is_some() {
                tools = Some(model_tools(context, approvers, !self.yes, &hosts, &choice)?);
            }
            let settings = McpSettings { ask_approval: !self.yes, tools: choice, ..McpSettings::default() };
            mcp_server = Some(mcp::open_server(context, approvers, settings, &hosts)?);
        }
        let responder = Arc::new(Responder::new(ResponderParts {
            model: self.model,
            store: Arc::new(store),
            metrics: self.metrics.clone(),
            clock: Arc::new(SystemClock::new()),
            unique: Arc::new(|| uuid::Uuid::now_v7().simple().to_string()),
            settings: AnswerSettings { offer_tools, ..AnswerSettings::default() },
            toolbox: tools.clone().map(|tools| -> Arc<dyn Toolbox> { tools }),
        }));
        let metrics = self.metrics;
        let router = Router::new().route("/healthz", get(|| async { "ok\n" })).route(
            "/metrics",
            get(
                move || async move { ([(CONTENT_TYPE, http_edge::metrics::CONTENT_TYPE)], metrics.render()) },
            ),
        );
        let mut router = router.merge(responses::router::router(responder.clone()));
        if let Some(mcp_server) = &mcp_server {
            router = mcp_server::mount(router, mcp_server);
        }
        Ok(AssembledServer {
            router,
            responder,
            tools,
            mcp: mcp_server,
            at_terminal: approvals.and_then(|approvals| approvals.at_terminal),
        })
    }

    /// Makes the approvers: `tollgate approve`, and the server's own terminal if there is one. With a terminal a call
    /// waits until its question expires, since the user may be there.
    fn approvals(
        &self,
        context: &VaultContext,
        interrupts: &InterruptSignal,
    ) -> Result<ServerApprovals, CliError> {
        if self.yes {
            let approver: Arc<dyn Approver> =
                Arc::new(TerminalApprover::new(true, Arc::new(Progress::new(true)), interrupts.clone()));
            return Ok(ServerApprovals {
                approvers: Arc::new(move |_client, _front_end| approver.clone()),
                at_terminal: None,
            });
        }
        let has_terminal = std::io::stderr().is_terminal();
        let wait = if has_terminal { approval_queue::QUESTION_DEADLINE } else { self.wait };
        let folder = approval_queue::folder(Some(&context.vault))?;
        let clock = Arc::new(SystemClock::new());
        let clients = self.clients.clone();
        let broker = ApprovalBroker::new(folder, &context.vault, "tollgate serve".to_owned(), wait, clock)
            .for_clients(Arc::new(move |client| {
                client.as_str() == ClientId::LOCAL || clients.has_token(client)
            }));
        let broker = Arc::new(broker);
        Ok(ServerApprovals { approvers: broker.approvers(), at_terminal: has_terminal.then_some(broker) })
    }
}

fn model_tools(
    context: &Arc<VaultContext>,
    approvers: &ApproverFactory,
    forecasts: bool,
    hosts: &HostRegistry,
    choice: &ToolChoice,
) -> Result<Arc<EngineToolbox>, CliError> {
    // Distinguishes only remembered approvals; each call is asked about through the approver of its own client.
    let approver = approvers(&ClientId::local(), FrontEnd::Cli);
    let CallSessions { engine_factory: make, reload_check: look, live } =
        CallSessions::open(context, &approver, forecasts, hosts)?;
    let observer = TerminalObserver::of_run(Arc::new(Progress::new(true)));
    let runner = Arc::new(PlanService::new(live, approver, observer, choice.clone(), PLAN_BUDGET));
    let plans = ServerPlans { runner, asks: forecasts };
    let runs = context.prepare_runs()?;
    let tools = EngineToolbox::new(make, approvers.clone(), runs, Some(look), choice, Some(plans));
    Ok(Arc::new(tools.map_err(|error| CliError::bad_input("tools", error))?))
}
