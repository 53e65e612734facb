//! The server that a client sees: what it can do, and which part of us does it.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use engine::{Approver, RunPlace, SessionRequest};
use envelope::{RunId, is_invisible};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, Implementation,
    ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestMethod, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, SubscriptionFilter, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::sync::watch;
use toolkit::CancelToken;

use super::asking::Foreseer;
use super::calls::is_modern;
use super::changes::{Changes, Look};
use super::instructions::INSTRUCTIONS;
use super::listing::Show;
use super::parked::Parked;
use super::plans::Plans;
use super::records::{self, Address, Records};
use super::runs::{OpenRun, OwnRun, SharedRuns};
use super::surface::Surface;
use crate::gate_run::{Ends, Runs};
use crate::gate_tools::MakeEngine;

/// How the face behaves, where that is not settled by the protocol.
#[derive(Debug, Clone)]
pub struct McpSettings {
    /// Results as data beside the text, with output schemas.
    pub structured: bool,
    /// Tool names with dots, which many clients refuse.
    pub dotted: bool,
    /// Whether anybody is asked; else whoever answers for the engine answers for every call.
    pub asks: bool,
    /// How long a client's person may take to answer.
    pub answer_limit: Duration,
    /// How long nobody may call before a run that requests share comes to its end.
    pub idle_limit: Duration,
}

impl Default for McpSettings {
    fn default() -> McpSettings {
        McpSettings {
            structured: true,
            dotted: false,
            asks: true,
            answer_limit: Duration::from_secs(600),
            idle_limit: Duration::from_secs(300),
        }
    }
}

/// Where runs are recorded.
#[derive(Debug, Clone)]
pub enum Recorded {
    Disk(PathBuf),
    /// Gone with the process; for measuring.
    Memory,
}

/// What the face is made of.
pub struct McpParts {
    pub make: MakeEngine,
    pub recorded: Recorded,
    /// Who is asked where a client's word does not count or the client cannot ask.
    pub desk: Arc<dyn Approver>,
    pub foreseer: Arc<dyn Foreseer>,
    pub plans: Arc<dyn Plans>,
    /// A new unguessable word each time.
    pub unique: Arc<dyn Fn() -> String + Send + Sync>,
    /// Seals what clients carry from one round to the next.
    pub key: [u8; 32],
    /// The name and version that clients are told.
    pub version: &'static str,
    pub settings: McpSettings,
}

/// The face: one for all clients of a server.
pub struct McpFace {
    pub(super) parts: McpParts,
    pub(super) parked: Parked,
    pub(super) runs: Runs,
    pub(super) changes: Changes,
    shared: SharedRuns,
    surface: RwLock<Arc<Surface>>,
}

impl McpFace {
    /// Or why there is no gate.
    pub fn new(parts: McpParts) -> Result<McpFace, String> {
        let surface = surface(&parts)?;
        Ok(McpFace {
            parked: Parked::new(parts.key, parts.settings.answer_limit).map_err(|error| error.to_string())?,
            runs: Runs::default(),
            changes: Changes::new(None),
            shared: SharedRuns::new(parts.settings.idle_limit),
            surface: RwLock::new(Arc::new(surface)),
            parts,
        })
    }

    /// Looks now and then whether what gates are made from has changed, and takes the change over.
    #[must_use]
    pub fn looking(mut self, look: Look) -> McpFace {
        self.changes = Changes::new(Some(look));
        self
    }

    /// Makes the list of tools anew, and tells clients if it is another. What cannot be made leaves all as it was.
    pub fn refresh(&self) -> Result<(), String> {
        let new = surface(&self.parts)?;
        let mut current = self.surface.write().unwrap_or_else(PoisonError::into_inner);
        if current.is_like(&new) {
            return Ok(());
        }
        let is_other_list = !current.listing.is_like(&new.listing);
        *current = Arc::new(new);
        drop(current);
        tracing::info!("the settings have changed; the next call opens a run under them");
        if is_other_list {
            self.changes.another_list();
        }
        Ok(())
    }

    /// Lets no further call into the runs that are open.
    pub(super) fn retire(&self) {
        let mut current = self.surface.write().unwrap_or_else(PoisonError::into_inner);
        // The same in everything but that no run was opened under it.
        let same = Surface::clone(&current);
        *current = Arc::new(same);
    }

    /// A server for one connection, or for all requests that stand alone.
    pub fn handler(self: &Arc<McpFace>, lasting: Lasting) -> McpHandler {
        let here =
            Here { own: OwnRun::default(), gone: OnceLock::new(), came_at: self.changes.lists_so_far() };
        McpHandler { face: self.clone(), lasting, here: Arc::new(here) }
    }

    /// The runs of all clients: to be stopped and waited for when the server ends.
    pub fn runs(&self) -> &Runs {
        &self.runs
    }

    pub(super) fn surface(&self) -> Arc<Surface> {
        self.surface.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn records(&self) -> Option<Records> {
        match &self.parts.recorded {
            Recorded::Disk(runs) => Some(Records { runs: runs.clone() }),
            Recorded::Memory => None,
        }
    }

    fn open(&self, client: &str, now: &Arc<Surface>) -> Result<OpenRun, String> {
        let engine = (self.parts.make)()?;
        // The settings may have changed since the last look; the run tells what it was really opened under.
        let surface = if *engine.policy() == now.policy {
            now.clone()
        } else {
            Arc::new(Surface::of(&engine, show(&self.parts.settings)))
        };
        let place = match &self.parts.recorded {
            Recorded::Disk(runs) => RunPlace::Disk(runs.clone()),
            Recorded::Memory => RunPlace::Memory,
        };
        let request = SessionRequest {
            place,
            goal: format!("calls of {client}"),
            planner_version: Some(client.to_owned()),
            tools: surface.listing.own(),
        };
        let session = engine.open_session(request).map_err(|error| {
            tracing::error!(%error, "a run could not be opened");
            format!("the record of the run cannot be started, so no tool was run: {error}")
        })?;
        Ok(OpenRun::new(self.runs.keep(session, Ends::Well), surface, now.clone()))
    }
}

fn show(settings: &McpSettings) -> Show {
    Show { dotted: settings.dotted, structured: settings.structured }
}

fn surface(parts: &McpParts) -> Result<Surface, String> {
    let engine = (parts.make)()?;
    Ok(Surface::of(&engine, show(&parts.settings)))
}

/// How long what a client is lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasting {
    /// One connection: its calls are one run.
    Connection,
    /// Over HTTP: a session of the older era is a connection, a request of the newer one stands alone.
    Http,
}

/// The server as one connection sees it.
#[derive(Clone)]
pub struct McpHandler {
    pub(super) face: Arc<McpFace>,
    lasting: Lasting,
    here: Arc<Here>,
}

/// What only one connection has. Over HTTP two are made for each request, and nearly none of it is used.
struct Here {
    own: OwnRun,
    /// Fires when nobody is there any more who could answer or listen. Made when somebody wants to hear of it.
    gone: OnceLock<CancelToken>,
    /// The lists that there had been when the client came, so that it misses none before it listens.
    came_at: u64,
}

impl McpHandler {
    /// Ends the run of this connection, once its calls have. Those that wait for an answer end now: nobody is left to
    /// give it.
    pub async fn end(&self) {
        if let Some(own) = self.here.own.take().await {
            self.face.parked.let_go(&own);
            own.run.close(None).await;
        }
    }

    pub(super) fn gone(&self) -> &CancelToken {
        self.here.gone.get_or_init(CancelToken::new)
    }

    /// Ends when nobody is there any more.
    pub(super) async fn goes(&self) {
        self.gone().cancelled().await;
    }

    /// Hears of every list since the client came.
    fn lists(&self) -> watch::Receiver<u64> {
        self.face.changes.lists_since(self.here.came_at)
    }

    pub(super) async fn run_for(
        &self,
        now: &Arc<Surface>,
        client: &str,
        has_own: bool,
    ) -> Result<Arc<OpenRun>, String> {
        let open = || self.face.open(client, now);
        if has_own {
            return self.here.own.get(now, &open).await;
        }
        let (run, is_new) = self.face.shared.get(client, now, &open).await?;
        if is_new {
            let (face, id, client) = (self.face.clone(), run.run.run_id().clone(), client.to_owned());
            // Nobody else would end it: the requests that share it come and go.
            self.face.runs.beside(async move {
                face.shared.watch(&client, &id, || face.parked.sweep()).await;
            });
        }
        Ok(run)
    }

    /// Whether what this client does is told apart from what others do by more than the name that it gives itself.
    pub(super) fn has_own_run(&self, cx: &RequestContext<RoleServer>) -> bool {
        self.lasting == Lasting::Connection || !is_modern(cx)
    }

    /// The run that this client's next call would be made in, if there is one yet.
    fn current_run(&self, cx: &RequestContext<RoleServer>) -> Option<RunId> {
        if self.has_own_run(cx) { self.here.own.id() } else { self.face.shared.id(&client_name(cx)) }
    }

    /// What the client calls itself.
    pub(super) fn client(&self, cx: &RequestContext<RoleServer>) -> String {
        client_name(cx)
    }

    /// Who carries a question from one round to the next. Over HTTP everyone has the same token, so what else the
    /// client says of itself is all there is to tell two apart.
    pub(super) fn principal(&self, client: &str) -> String {
        format!("{:?} {client}", self.lasting)
    }
}

/// What the client calls itself, for the record. Bounded, and nothing is decided by it.
fn client_name(cx: &RequestContext<RoleServer>) -> String {
    match cx.client_info() {
        Some(client) => [&*printable(&client.name), " ", &*printable(&client.version)].concat(),
        None => "an MCP client".to_owned(),
    }
}

/// The beginning of a text, without what a terminal would act on.
fn printable(text: &str) -> Cow<'_, str> {
    const CHARS: usize = 60;
    if text.len() <= CHARS && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|c| !is_invisible(*c)).take(CHARS).collect())
}

/// What takes long is boxed: the task of every request has room for the largest future of all requests, and moves it.
impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        let can = ServerCapabilities::builder().enable_tools().enable_tool_list_changed();
        let can = match self.face.records() {
            Some(_) => can.enable_resources().enable_completions().build(),
            None => can.build(),
        };
        let me = Implementation::new("tollgate", self.face.parts.version);
        ServerConfig::new(can).with_server_info(me).with_instructions(INSTRUCTIONS)
    }

    fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _cx: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListToolsResult, ErrorData>> + Send {
        Box::pin(async move {
            self.face.look().await;
            self.face.surface().listing.page(request.as_ref().and_then(|page| page.cursor.as_deref()))
        })
    }

    /// Asked for before each call over HTTP, for what headers may say of arguments: the schema is all that is looked at.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let surface = self.face.surface();
        let schema = surface.listing.tool(name)?.input_schema.clone();
        Some(Tool::new_with_raw(name.to_owned(), None, schema))
    }

    fn call_tool(
        &self,
        request: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<CallToolResponse, ErrorData>> + Send {
        Box::pin(async move {
            self.face.look().await;
            self.answer_call(request, cx).await
        })
    }

    /// There are none, and no client is told that there are.
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
            let Some(records) = self.face.records() else { return Ok(ListResourcesResult::default()) };
            let current = self.current_run(&cx);
            if let Some(run) = &current {
                self.face.runs.settled(run.as_str()).await;
            }
            records.list(request.and_then(|page| page.cursor), current).await
        })
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _cx: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(self.face.records().map(|_| records::templates()).unwrap_or_default())
    }

    fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _cx: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ReadResourceResponse, ErrorData>> + Send {
        Box::pin(async move {
            let Some(records) = self.face.records() else {
                return Err(ErrorData::method_not_found::<ReadResourceRequestMethod>());
            };
            if let Some(address) = Address::parse(&request.uri) {
                self.face.runs.settled(address.run()).await;
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
            match self.face.records() {
                Some(records) => records.complete(request).await,
                None => Ok(CompleteResult::default()),
            }
        })
    }

    async fn on_initialized(&self, cx: NotificationContext<RoleServer>) {
        let told = self.face.clone().tell_peer(cx.peer, self.lists());
        self.face.runs.beside(told);
    }

    fn accepted_subscription_filter(&self, _requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    fn listen(&self, listener: SubscriptionContext) -> impl Future<Output = Result<(), ErrorData>> + Send {
        Box::pin(async move { self.face.tell_listener(listener, self.lists(), self.gone()).await })
    }
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn what_a_client_calls_itself_is_short_and_acts_on_nothing() {
        let long = "é".repeat(100);
        for (text, shown) in [
            ("codex", "codex"),
            ("a\u{1b}[31m\u{9b}b\n\u{e0041}", "a[31mb"),
            (&long, &*"é".repeat(60)),
            ("", ""),
        ] {
            assert_eq!(printable(text), shown);
        }
        assert_eq!(printable(&"x".repeat(61)).len(), 60);
    }
}
