//! The two servers: rmcp with only the tool, and the MCP server with the gate.

use std::io::Write as _;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use envelope::SessionId;
use http_edge::metrics::Metrics;
use http_edge::{EdgeSettings, HttpListener, Token};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use mcp_server::{
    ClientLifetime, McpParts, McpServer, McpSettings, PlanRunOptions, PlanRunner, PlanSource, PlanToolResult,
    RunStorage, UndoRequest, mount, open_standard_io, serve_stdio,
};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use toolkit::{BoxFuture, CancelToken};

use crate::tool::{Args, Never, SUMMARY, gate, said, work};

/// rmcp's own server: reads the arguments, does the work, answers in text and in data.
#[derive(Clone)]
struct Bare;

impl ServerHandler for Bare {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _cx: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = Tool::new("bench_look", SUMMARY, serde_json::Map::new()).with_input_schema::<Args>();
        Ok(ListToolsResult::with_all_items(vec![tool]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let args = Value::Object(request.arguments.unwrap_or_default());
        let args: Args = serde_json::from_value(args)
            .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        let output = work(args);
        let said = said(&output);
        let mut result = CallToolResult::success(vec![ContentBlock::text(said.clone())]);
        result.structured_content = Some(json!({ "summary": said, "data": output }));
        Ok(result.into())
    }
}

struct Nothing;

impl PlanRunner for Nothing {
    fn check(&self, _plan: String, _session: Option<SessionId>) -> BoxFuture<'static, PlanToolResult> {
        none()
    }

    fn preview(
        &self,
        _plan: PlanSource,
        _session: Option<SessionId>,
        _cancel: CancelToken,
    ) -> BoxFuture<'static, PlanToolResult> {
        none()
    }

    fn run(&self, _plan: PlanSource, _with: PlanRunOptions) -> BoxFuture<'static, PlanToolResult> {
        none()
    }

    fn undo(&self, _request: UndoRequest, _with: PlanRunOptions) -> BoxFuture<'static, PlanToolResult> {
        none()
    }

    fn end_session(&self, _session: &SessionId) {}
}

fn none() -> BoxFuture<'static, PlanToolResult> {
    let why = "this benchmark has no plans".to_owned();
    let answer = PlanToolResult {
        ok: false,
        summary: why.clone(),
        text: why,
        data: Value::Null,
        ..PlanToolResult::default()
    };
    Box::pin(std::future::ready(answer))
}

fn face() -> Arc<McpServer> {
    let parts = McpParts {
        make: Arc::new(gate),
        recorded: RunStorage::Memory,
        approvers: Arc::new(|_, _| Arc::new(Never)),
        plans: Arc::new(Nothing),
        unique: Arc::new(|| "bench".to_owned()),
        key: [7; 32],
        version: "0",
        settings: McpSettings::default(),
    };
    Arc::new(McpServer::new(parts).unwrap())
}

/// Runs the server of this kind until its client disconnects.
pub(crate) async fn serve(kind: &str, token_file: Option<&Path>) {
    match kind {
        "bare-stdio" => {
            // As `rmcp::transport::stdio` has it.
            let running = Bare.serve((tokio::io::stdin(), tokio::io::stdout())).await.unwrap();
            running.waiting().await.unwrap();
        }
        "even-stdio" => {
            let running = Bare.serve(open_standard_io()).await.unwrap();
            running.waiting().await.unwrap();
        }
        "gate-stdio" => {
            let handler = face().handler(ClientLifetime::Connection);
            let never = std::future::pending();
            let (input, output) = open_standard_io();
            serve_stdio(handler, input, output, never).await.unwrap();
        }
        "bare-http" | "even-http" => bare_http(StreamableHttpServerConfig::default()).await,
        "object-http" => bare_http(StreamableHttpServerConfig::default().with_json_response(true)).await,
        "gate-http" => gate_http(token_file.unwrap()).await,
        other => panic!("there is no server `{other}`"),
    }
}

async fn bare_http(config: StreamableHttpServerConfig) {
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(|| Ok(Bare), sessions, config);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    announce(listener.local_addr().unwrap().port());
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(async move {
            let connection =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            let _closed = connection.await;
        });
    }
}

async fn gate_http(token_file: &Path) {
    let token = Token::load_or_create(token_file).unwrap();
    let address = (Ipv4Addr::LOCALHOST, 0).into();
    let edge = HttpListener::bind(EdgeSettings::new(token), Arc::new(Metrics::new()), address).await.unwrap();
    announce(edge.address().port());
    edge.serve(mount(axum::Router::new(), &face()), std::future::pending()).await;
}

fn announce(port: u16) {
    let mut out = std::io::stdout();
    writeln!(out, "{port}").unwrap();
    out.flush().unwrap();
}
