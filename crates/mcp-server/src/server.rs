//! The MCP server: its state, and the handler of one connection that dispatches requests.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use engine::{RunPlace, SessionRequest};
use envelope::{ClientId, Failure, Fault, RunId, SessionId};
use http::request::Parts;
use journal::RunsFolder;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, ErrorCode, Implementation, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestMethod, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, SubscriptionFilter, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::sync::watch;
use toolkit::{BoxFuture, CancelToken};

use super::client_runs::{ClientRun, ClientRuns, RunSlot};
use super::duplicate_key_filter::REFUSED;
use super::instructions::INSTRUCTIONS;
use super::listing::ListingOptions;
use super::pending_requests::PendingRequests;
use super::record_resources::{self, RecordResources, ResourceAddress};
use super::reload_notifier::ReloadNotifier;
use super::surface::ServerSurface;
use super::tool_calls::is_stateless_protocol;
use call_session::{
    ApproverFactory, ClientIdentity, EngineFactory, PlanRunner, ReloadCheck, RunEnding, SessionRuns,
    ToolChoice, printable,
};

/// Whether the tool list has output schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputSchemas {
    Omitted,
    Listed,
}

/// Behaviour of the server that the protocol leaves open.
#[derive(Debug, Clone)]
pub struct McpSettings {
    /// Return structured content.
    pub structured: bool,
    /// Few clients use output schemas, and some hand them to the model.
    pub output_schemas: OutputSchemas,
    /// The offered tools.
    pub tools: ToolChoice,
    /// Use tool names with dots, which many clients reject.
    pub dotted: bool,
    /// Ask for approvals; otherwise the engine's own approver decides every call.
    pub ask_approval: bool,
    /// Timeout for an answer of a client's user.
    pub answer_limit: Duration,
    /// Idle time after which a run shared by stateless requests is closed.
    pub idle_limit: Duration,
}

impl Default for McpSettings {
    fn default() -> McpSettings {
        McpSettings {
            structured: true,
            output_schemas: OutputSchemas::Omitted,
            tools: ToolChoice::default(),
            dotted: false,
            ask_approval: true,
            answer_limit: Duration::from_secs(600),
            idle_limit: Duration::from_secs(300),
        }
    }
}

/// Where runs are recorded.
#[derive(Debug, Clone)]
pub enum RunStorage {
    Disk(RunsFolder),
    /// In memory only, for benchmarks.
    Memory,
}

/// The parts of an MCP server.
pub struct McpParts {
    pub make: EngineFactory,
    pub recorded: RunStorage,
    /// Returns the approver for a client whose own answers do not count or that cannot ask.
    pub approvers: ApproverFactory,
    pub plans: Arc<dyn PlanRunner>,
    /// Returns a new unguessable word on each call.
    pub unique: Arc<dyn Fn() -> String + Send + Sync>,
    /// Key that seals the state which clients carry between rounds.
    pub key: [u8; 32],
    /// Version that is reported to clients.
    pub version: &'static str,
    pub settings: McpSettings,
}

/// The MCP server, shared by all clients.
pub struct McpServer {
    pub(super) parts: McpParts,
    pub(super) pending_requests: PendingRequests,
    pub(super) runs: SessionRuns,
    pub(super) reloads: ReloadNotifier,
    shared: ClientRuns,
    surface: RwLock<Arc<ServerSurface>>,
}

impl McpServer {
    /// Creates the server. Fails if no engine can be made.
    pub fn new(parts: McpParts) -> Result<McpServer, String> {
        let surface = build_surface(&parts)?;
        Ok(McpServer {
            pending_requests: PendingRequests::new(parts.key, parts.settings.answer_limit)
                .map_err(|error| error.to_string())?,
            runs: SessionRuns::default(),
            reloads: ReloadNotifier::new(None),
            shared: ClientRuns::new(parts.settings.idle_limit),
            surface: RwLock::new(Arc::new(surface)),
            parts,
        })
    }

    /// Sets the check for changed settings, which runs before every call.
    #[must_use]
    pub fn with_reload_check(mut self, look: ReloadCheck) -> McpServer {
        self.reloads = ReloadNotifier::new(Some(look));
        self
    }

    /// Rebuilds the tool list and notifies clients if it changed. On failure the old list stays.
    pub fn refresh(&self) -> Result<(), String> {
        let new = build_surface(&self.parts)?;
        let mut current = self.surface.write().unwrap_or_else(PoisonError::into_inner);
        if current.is_equivalent(&new) {
            return Ok(());
        }
        let is_other_list = !current.listing.same_tools(&new.listing);
        *current = Arc::new(new);
        drop(current);
        tracing::info!("the settings have changed; the next call opens a run under them");
        if is_other_list {
            self.reloads.list_changed();
        }
        Ok(())
    }

    /// Makes the open runs accept no further calls.
    pub(super) fn retire_runs(&self) {
        let mut current = self.surface.write().unwrap_or_else(PoisonError::into_inner);
        // An equal surface with another address, so that no open run was opened under it.
        let same = ServerSurface::clone(&current);
        *current = Arc::new(same);
    }

    /// Returns a handler for one connection, or for stateless requests.
    pub fn handler(self: &Arc<McpServer>, lasting: ClientLifetime) -> McpHandler {
        let here = ConnectionContext {
            slot: RunSlot::default(),
            id: OnceLock::new(),
            gone: OnceLock::new(),
            connected_at_version: self.reloads.list_version(),
        };
        McpHandler { server: self.clone(), lasting, connection: Arc::new(here) }
    }

    /// Returns the runs of all clients, which have to be closed at shutdown.
    pub fn runs(&self) -> &SessionRuns {
        &self.runs
    }

    pub(super) fn surface(&self) -> Arc<ServerSurface> {
        self.surface.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn records(&self) -> Option<RecordResources> {
        match &self.parts.recorded {
            RunStorage::Disk(runs) => Some(RecordResources { runs: runs.clone() }),
            RunStorage::Memory => None,
        }
    }

    fn open_run(
        &self,
        client: &ClientIdentity,
        now: &Arc<ServerSurface>,
        slot: &RunSlot,
    ) -> Result<ClientRun, String> {
        let engine = (self.parts.make)()?;
        // The settings may have changed since the last check; the run stores the settings that it really uses.
        let surface = if *engine.policy() == now.policy {
            now.clone()
        } else {
            Arc::new(ServerSurface::of(&engine, listing_options(&self.parts.settings)))
        };
        let place = match &self.parts.recorded {
            RunStorage::Disk(runs) => RunPlace::Disk(runs.clone()),
            RunStorage::Memory => RunPlace::Memory,
        };
        let request = SessionRequest {
            place,
            session: slot.session(&*self.parts.unique),
            goal: format!("calls of {}", client.self_reported_name),
            planner_version: Some(client.to_string()),
            tools: surface.listing.registry_names(),
        };
        let session = engine.open_session(request).map_err(|error| {
            tracing::error!(%error, "a run could not be opened");
            format!("the record of the run cannot be started, so no tool was run: {error}")
        })?;
        Ok(ClientRun::new(self.runs.add_run(session, RunEnding::Well), surface, now.clone()))
    }
}

fn listing_options(settings: &McpSettings) -> ListingOptions {
    ListingOptions {
        dotted: settings.dotted,
        structured: settings.structured,
        output_schemas: settings.structured && settings.output_schemas == OutputSchemas::Listed,
        tools: settings.tools.clone(),
    }
}

fn build_surface(parts: &McpParts) -> Result<ServerSurface, String> {
    let engine = (parts.make)()?;
    Ok(ServerSurface::of(&engine, listing_options(&parts.settings)))
}

/// Lifetime of a client's identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientLifetime {
    /// One connection: its calls are one run.
    Connection,
    /// Over HTTP: a session is a connection; a stateless request stands alone.
    Http,
}

/// Request handler for one connection.
#[derive(Clone)]
pub struct McpHandler {
    pub(super) server: Arc<McpServer>,
    lasting: ClientLifetime,
    connection: Arc<ConnectionContext>,
}

/// State of one connection. Over HTTP two are made for each request, so the fields are filled lazily.
struct ConnectionContext {
    slot: RunSlot,
    /// Identity of a client on standard input and output. Created on first use.
    id: OnceLock<ClientId>,
    /// Fires when the client has disconnected. Created on first use.
    gone: OnceLock<CancelToken>,
    /// List version when the client connected, so that it misses no change before it subscribes.
    connected_at_version: u64,
}

impl McpHandler {
    /// Closes the run of this connection after its calls have ended. Calls that wait for an answer are cancelled,
    /// because no client is left to answer.
    pub async fn end(&self) {
        if let Some(run) = self.connection.slot.take().await {
            self.server.pending_requests.cancel_run(&run);
            run.session.close(None).await;
        }
        if let Some(session) = self.connection.slot.begun_session() {
            self.server.parts.plans.end_session(&session);
        }
    }

    pub(super) fn gone_signal(&self) -> &CancelToken {
        self.connection.gone.get_or_init(CancelToken::new)
    }

    /// Completes when the client has disconnected.
    pub(super) async fn client_gone(&self) {
        self.gone_signal().cancelled().await;
    }

    /// Subscribes to every list change since the client connected.
    fn lists(&self) -> watch::Receiver<u64> {
        self.server.reloads.subscribe_since(self.connection.connected_at_version)
    }

    pub(super) async fn run_for(
        &self,
        now: &Arc<ServerSurface>,
        client: &ClientIdentity,
        has_own: bool,
    ) -> Result<Arc<ClientRun>, String> {
        let open = |slot: &RunSlot| self.server.open_run(client, now, slot);
        if has_own {
            return self.connection.slot.get(now, &open).await;
        }
        let (run, is_new) = self.server.shared.get(client, now, &open).await?;
        if is_new {
            let (server, id, client) = (self.server.clone(), run.session.run_id().clone(), client.clone());
            let session = server.shared.slot_of(&client).begun_session();
            // Closed here, because the requests that share the run come and go.
            self.server.runs.spawn_background(async move {
                server
                    .shared
                    .close_when_idle(&client, &id, || server.pending_requests.remove_expired())
                    .await;
                if let Some(session) = session {
                    server.parts.plans.end_session(&session);
                }
            });
        }
        Ok(run)
    }

    /// Returns true if the client is identified by more than the name that it reports.
    pub(super) fn has_own_run(&self, cx: &RequestContext<RoleServer>) -> bool {
        self.lasting == ClientLifetime::Connection || !is_stateless_protocol(cx)
    }

    /// Closes the run of this client's calls. Fails while one of them is in progress.
    pub(super) fn close_run(
        &self,
        client: &ClientIdentity,
        cx: &RequestContext<RoleServer>,
    ) -> BoxFuture<'static, Result<(), Fault>> {
        let own = self.has_own_run(cx).then(|| self.connection.clone());
        let shared = own.is_none().then(|| self.server.shared.slot_of(client));
        Box::pin(async move {
            let taken = match (&own, &shared) {
                (Some(connection), _) => connection.slot.take_unused().await,
                (None, Some(slot)) => slot.take_unused().await,
                (None, None) => Ok(None),
            };
            match taken {
                Ok(Some(run)) => {
                    run.session.close(None).await;
                    Ok(())
                }
                Ok(None) => Ok(()),
                Err(()) => Err(Fault::new(
                    Failure::PreconditionFailed,
                    "another call of this session is in progress, so nothing was undone",
                )
                .hint("wait until it has ended")),
            }
        })
    }

    /// Returns the session of this client's calls and plans.
    pub(super) fn session_of(
        &self,
        client: &ClientIdentity,
        cx: &RequestContext<RoleServer>,
    ) -> Option<SessionId> {
        let unique = &*self.server.parts.unique;
        if self.has_own_run(cx) {
            self.connection.slot.session(unique)
        } else {
            self.server.shared.slot_of(client).session(unique)
        }
    }

    /// Returns the id of the run that this client's next call would use, if it is open.
    fn current_run(&self, cx: &RequestContext<RoleServer>) -> Option<RunId> {
        if self.has_own_run(cx) { self.connection.slot.id() } else { self.server.shared.id(&self.client(cx)) }
    }

    /// Returns the client of a request: over HTTP by its token, otherwise the client on standard input.
    pub(super) fn client(&self, cx: &RequestContext<RoleServer>) -> ClientIdentity {
        let id = match self.lasting {
            ClientLifetime::Connection => {
                self.connection.id.get_or_init(|| ClientId::stdio(&(self.server.parts.unique)())).clone()
            }
            ClientLifetime::Http => {
                let head = cx.extensions.get::<Parts>();
                head.and_then(|head| head.extensions.get()).cloned().unwrap_or_else(ClientId::local)
            }
        };
        ClientIdentity { id, self_reported_name: client_name(cx) }
    }
}

/// Returns the name that the client reports, truncated, for the journal. No decision depends on it.
fn client_name(cx: &RequestContext<RoleServer>) -> String {
    match cx.client_info() {
        Some(client) => [&*printable(&client.name), " ", &*printable(&client.version)].concat(),
        None => "an MCP client".to_owned(),
    }
}

/// Long futures are boxed: each request task reserves space for the largest future of all requests, and moves it.
impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        let can = ServerCapabilities::builder().enable_tools().enable_tool_list_changed();
        let can = match self.server.records() {
            Some(_) => can.enable_resources().enable_completions().build(),
            None => can.build(),
        };
        let me = Implementation::new("tollgate", self.server.parts.version);
        ServerConfig::new(can).with_server_info(me).with_instructions(INSTRUCTIONS)
    }

    fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _cx: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListToolsResult, ErrorData>> + Send {
        Box::pin(async move {
            self.server.check_reload();
            self.server.surface().listing.page(request.as_ref().and_then(|page| page.cursor.as_deref()))
        })
    }

    /// Called before each HTTP call to validate headers against the schema; only the schema is used.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let surface = self.server.surface();
        let schema = surface.listing.tool(name)?.input_schema.clone();
        Some(Tool::new_with_raw(name.to_owned(), None, schema))
    }

    fn call_tool(
        &self,
        request: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<CallToolResponse, ErrorData>> + Send {
        Box::pin(async move {
            self.server.check_reload();
            self.answer_call(request, cx).await
        })
    }

    /// Handles the replacement of a request that was rejected for a duplicate key.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _cx: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let key = request.params.as_ref().and_then(|params| params["key"].as_str());
        match key.filter(|_| request.method == REFUSED) {
            Some(key) => Err(ErrorData::parse_error(
                format!("the key `{key}` is duplicated in one object of the message; send it once"),
                None,
            )),
            None => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None)),
        }
    }

    /// The server has no prompts and does not announce any.
    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _cx: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListResourcesResult, ErrorData>> + Send {
        Box::pin(async move {
            let Some(records) = self.server.records() else { return Ok(ListResourcesResult::default()) };
            let current = self.current_run(&cx);
            if let Some(run) = &current {
                self.server.runs.wait_until_durable(run.as_str()).await;
            }
            records.list(request.and_then(|page| page.cursor), current).await
        })
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _cx: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(self.server.records().map(|_| record_resources::templates()).unwrap_or_default())
    }

    fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _cx: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ReadResourceResponse, ErrorData>> + Send {
        Box::pin(async move {
            let Some(records) = self.server.records() else {
                return Err(ErrorData::method_not_found::<ReadResourceRequestMethod>());
            };
            if let Some(address) = ResourceAddress::parse(&request.uri) {
                self.server.runs.wait_until_durable(address.run()).await;
            }
            records.read(request.uri).await.map(ReadResourceResponse::from)
        })
    }

    fn complete(
        &self,
        request: CompleteRequestParams,
        _cx: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<CompleteResult, ErrorData>> + Send {
        Box::pin(async move {
            match self.server.records() {
                Some(records) => records.complete(request).await,
                None => Ok(CompleteResult::default()),
            }
        })
    }

    async fn on_initialized(&self, cx: NotificationContext<RoleServer>) {
        let notifications = self.server.clone().notify_peer(cx.peer, self.lists());
        self.server.runs.spawn_background(notifications);
    }

    fn accepted_subscription_filter(&self, _requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    fn listen(&self, listener: SubscriptionContext) -> impl Future<Output = Result<(), ErrorData>> + Send {
        Box::pin(async move { self.server.notify_listener(listener, self.lists(), self.gone_signal()).await })
    }
}
