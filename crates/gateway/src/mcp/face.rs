//! The server that a client sees: what it can do, and which part of us does it.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use engine::{Approvals, Approver, Policy, RunPlace, SessionRequest};
use envelope::{Family, ToolName, ToolResult};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::answer;
use super::asking::Foreseer;
use super::calls::is_modern;
use super::instructions::INSTRUCTIONS;
use super::listing::{Listing, Show};
use super::parked::Parked;
use super::plans::{self, Plans};
use super::runs::{OwnRun, SharedRun};
use crate::gate_run::{Ends, GateRun, Runs};
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
    shared: SharedRun,
    surface: RwLock<Arc<Surface>>,
}

/// The tools and the rules as they stand.
struct Surface {
    listing: Listing,
    policy: Policy,
    families: std::collections::HashMap<ToolName, Family>,
}

impl McpFace {
    /// Or why there is no gate.
    pub fn new(parts: McpParts) -> Result<McpFace, String> {
        let surface = surface(&parts)?;
        Ok(McpFace {
            parked: Parked::new(parts.key, parts.settings.answer_limit).map_err(|error| error.to_string())?,
            runs: Runs::default(),
            shared: SharedRun::new(parts.settings.idle_limit),
            surface: RwLock::new(Arc::new(surface)),
            parts,
        })
    }

    /// A server for one connection, or for all requests that stand alone.
    pub fn handler(self: &Arc<McpFace>, lasting: Lasting) -> McpHandler {
        McpHandler { face: self.clone(), own: Arc::default(), lasting }
    }

    /// The runs of all clients: to be stopped and waited for when the server ends.
    pub fn runs(&self) -> &Runs {
        &self.runs
    }

    pub(super) fn listing(&self) -> impl std::ops::Deref<Target = Listing> + use<> {
        ListingOf(self.surface())
    }

    fn surface(&self) -> Arc<Surface> {
        self.surface.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn approvals(&self) -> Approvals {
        self.surface().policy.approval
    }

    pub(super) fn family(&self, tool: &ToolName) -> Family {
        self.surface().families.get(tool).copied().unwrap_or_default()
    }

    pub(super) fn told(&self, result: &ToolResult, family: Family) -> CallToolResult {
        answer::told(result, family, &self.surface().policy, self.parts.settings.structured)
    }

    fn open(&self, client: &str) -> Result<GateRun, String> {
        let engine = (self.parts.make)()?;
        let place = match &self.parts.recorded {
            Recorded::Disk(runs) => RunPlace::Disk(runs.clone()),
            Recorded::Memory => RunPlace::Memory,
        };
        let request = SessionRequest {
            place,
            goal: format!("calls of {client}"),
            planner_version: Some(client.to_owned()),
            tools: self.listing().own(),
        };
        let session = engine.open_session(request).map_err(|error| {
            tracing::error!(%error, "a run could not be opened");
            format!("the record of the run cannot be started, so no tool was run: {error}")
        })?;
        Ok(self.runs.keep(session, Ends::Well))
    }
}

struct ListingOf(Arc<Surface>);

impl std::ops::Deref for ListingOf {
    type Target = Listing;

    fn deref(&self) -> &Listing {
        &self.0.listing
    }
}

fn surface(parts: &McpParts) -> Result<Surface, String> {
    let engine = (parts.make)()?;
    let show = Show { dotted: parts.settings.dotted, structured: parts.settings.structured };
    let families =
        engine.surface().iter().map(|(entry, _)| (entry.decl.name.clone(), entry.decl.family)).collect();
    let mut listing = Listing::of(&engine, show);
    plans::list(&mut listing, show);
    Ok(Surface { listing, policy: engine.policy().clone(), families })
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
    own: Arc<OwnRun>,
    lasting: Lasting,
}

impl McpHandler {
    /// Ends the run of this connection.
    pub async fn end(&self) {
        self.own.end().await;
    }

    pub(super) fn run_for(&self, cx: &RequestContext<RoleServer>) -> Result<Arc<GateRun>, String> {
        let client = client_name(cx);
        let open = || self.face.open(&client);
        if self.lasting == Lasting::Connection || !is_modern(cx) {
            return self.own.get(&open);
        }
        let (run, is_new) = self.face.shared.get(&open)?;
        if is_new {
            let face = self.face.clone();
            // Nobody else would end it: the requests that share it come and go.
            self.face.runs.beside(async move { face.shared.watch().await });
        }
        Ok(run)
    }

    /// What the client calls itself.
    pub(super) fn client(&self, cx: &RequestContext<RoleServer>) -> String {
        client_name(cx)
    }

    /// Who carries a question from one round to the next. Over HTTP everyone has the same token, so what else the
    /// client says of itself is all there is to tell two apart.
    pub(super) fn principal(&self, cx: &RequestContext<RoleServer>) -> String {
        format!("{:?} {}", self.lasting, client_name(cx))
    }
}

/// What the client calls itself, for the record. Bounded, and nothing is decided by it.
fn client_name(cx: &RequestContext<RoleServer>) -> String {
    let shown = |text: &str| -> String { text.chars().filter(|c| !c.is_control()).take(60).collect() };
    match cx.client_info() {
        Some(client) => format!("{} {}", shown(&client.name), shown(&client.version)),
        None => "an MCP client".to_owned(),
    }
}

impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        let can = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        let me = Implementation::new("tollgate", self.face.parts.version);
        ServerConfig::new(can).with_server_info(me).with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _cx: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.face.listing().page(request.as_ref().and_then(|page| page.cursor.as_deref()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.face.listing().tool(name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.answer_call(request, cx).await
    }
}
