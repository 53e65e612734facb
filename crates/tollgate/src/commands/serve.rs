//! `tollgate serve`: the HTTP server on loopback.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use backend::{BackendErrorKind, TextModel};
use call_session::ToolSet;
use clap::Args;
use http_edge::metrics::Metrics;
use http_edge::{ClientTokens, EdgeSettings, HttpListener};
use journal::RunState;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::cli_error::{CliError, CommandResult};
use crate::exit::Exit;
use crate::logging::{self, LogFormat};
use crate::runtime::{self, HangupAction, InterruptSignal, WorkerCount};
use crate::screen;
use crate::serving::backend::{BackendChoice, ToolCallRoute};
use crate::serving::{server_builder, startup_message, state_folder, terminal};
use app::display_text::display_path;
use app::vault_context::{VaultContext, enclosing_vault};

/// Time limit to close the runs of tools when the server stops.
const CLOSING_LIMIT: Duration = Duration::from_secs(10);

/// How long answers may continue after the server was told to stop. Shorter than the time for which connections stay
/// open, so that every stream ends with an event that says why.
const ANSWER_GRACE: Duration = Duration::from_secs(8);

/// How long a server waits at its start to see whether the model's server answers.
const MODEL_PROBE_LIMIT: Duration = Duration::from_secs(5);

/// Serves models and the tools of a vault on this machine, over HTTP
///
/// Clients that speak `/v1/responses` get function calling from a model that only takes and gives text. MCP clients get
/// the tools of the vault under `/mcp`, with the usual checks. Every request needs a token: the one that the first start
/// creates in a file that only you can read, or one of its own for each client (`tollgate token`).
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[command(
    after_help = "Example:\n  tollgate serve --backend codex\n  tollgate serve --backend http://127.0.0.1:11434/v1 --chat --model llama3.3\n  tollgate serve --backend scripted:answers.jsonl --port 8800\n  tollgate serve --tools --vault ~/Notes"
)]
pub(crate) struct ServeCommand {
    /// The model: `codex`, `codex:PROGRAM`, the `/v1` address of a server, `scripted:FILE`, or `none` for MCP clients only
    #[arg(long, default_value = "codex", value_name = "MODEL")]
    backend: BackendChoice,
    /// The model to ask, whatever clients name [default: the one that they name]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// How calls reach the model: by `text`, `native` to codex, or `auto`
    #[arg(long, default_value = "auto", value_name = "WAY")]
    calls: ToolCallRoute,
    /// The variable that holds the key of the model's server
    #[arg(long, value_name = "VARIABLE")]
    key_env: Option<String>,
    /// Ask the model's server through `/chat/completions` instead of `/responses`
    #[arg(long)]
    chat: bool,
    /// The port; 0 takes a free one
    #[arg(long, default_value_t = 8787)]
    port: u16,
    /// The address to listen on
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    host: std::net::IpAddr,
    /// Let other machines in; the token then travels unencrypted
    #[arg(long)]
    allow_remote: bool,
    /// A page that may call from a browser, such as app://obsidian.md; may be given more than once
    #[arg(long, value_name = "ORIGIN")]
    origin: Vec<String>,
    /// A name, with the port, under which clients address the server besides localhost; may be given more than once
    #[arg(long, value_name = "HOST:PORT")]
    name: Vec<String>,
    /// Keep responses in this folder, so that they survive a restart [default: in memory]
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Let models use Tollgate's tools on the vault, with the usual checks; SETS are some of notes, commands, text,
    /// host, servers and plans [default: all but text and host]
    #[arg(long, value_name = "SETS", num_args = 0..=1, value_delimiter = ',')]
    tools: Option<Vec<ToolSet>>,
    /// Offer these tools to every request that brings none of its own
    #[arg(long, requires = "tools")]
    offer: bool,
    /// Approve in advance what models and MCP clients do with the tools
    #[arg(long)]
    yes: bool,
    /// Seconds that a call waits for `tollgate approve`, without a terminal, before it is refused for now
    #[arg(long, default_value_t, value_name = "SECONDS")]
    wait: crate::wait_argument::ApprovalTimeout,
    /// The file with the token [default: tollgate/token in the state folder]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// What to log: error, warn, info or debug
    #[arg(long, default_value = "info", value_name = "LEVEL")]
    log: logging::LogLevel,
    /// Log as `text` or as `json` lines
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    log_format: LogFormat,
    /// Print what clients need to know as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

impl ServeCommand {
    pub(crate) fn run(self, vault: Option<&Path>) -> CommandResult {
        logging::start(self.log, self.log_format);
        raise_descriptor_limit();
        let state = state_folder::server_state_folder(vault)?;
        self.refuse_tools_without_model()?;
        let model = self.backend.open(&crate::serving::backend::ModelOptions {
            home: &state,
            model: self.model.as_deref(),
            calls: self.calls,
            key_env: self.key_env.as_deref(),
            chat: self.chat,
        })?;
        let token_file = self.token_file.clone().unwrap_or_else(|| state.join("token"));
        let clients = ClientTokens::open(token_file.clone(), state.join(state_folder::CLIENTS_FILE))
            .map_err(|error| CliError::bad_input("token", error.to_string()))?;
        let clients = Arc::new(clients);
        let interrupts = InterruptSignal::new(self.json).on_hangup(HangupAction::Ignore);
        let metrics = Arc::new(Metrics::new());
        let context = self.context(vault)?;
        if let Some(folder) = &self.keep {
            refuse_vault_folder(folder)?;
        }
        if let Some(context) = &context {
            report_interrupted_runs(context);
        }
        let has_mcp = context.is_some();
        let builder = server_builder::ServerBuilder {
            model: model.clone(),
            metrics: metrics.clone(),
            keep: self.keep.as_deref(),
            vault: context,
            model_tools: self.model_tools(),
            tool_sets: self.tools.clone().unwrap_or_default(),
            yes: self.yes,
            wait: self.wait.into(),
            clients: clients.clone(),
        };
        let served = builder.build(&interrupts)?;
        let settings = EdgeSettings {
            origins: self.origin.clone(),
            hosts: self.name.clone(),
            allow_remote: self.allow_remote,
            open_paths: server_builder::OPEN_PATHS.map(str::to_owned).to_vec(),
            ..EdgeSettings::for_clients(clients)
        };
        let stop = interrupts.cancel();
        runtime::block_on_with(&interrupts, WorkerCount::Half, async {
            let address = SocketAddr::new(self.host, self.port);
            let edge = HttpListener::bind(settings, metrics, address).await.map_err(|error| {
                CliError::bad_input("listen", error.to_string())
                    .hint("choose another port with --port, or 0 for a free one")
            })?;
            startup_message::StartupMessage {
                address: edge.address(),
                token_file: &token_file,
                model: &model.describe(),
                has_model: !matches!(self.backend, BackendChoice::None),
                named: self.model.as_deref(),
                tools: self.tools.is_some(),
                mcp: has_mcp,
            }
            .show(self.json);
            if matches!(self.backend, BackendChoice::Server { .. }) {
                tokio::spawn(report_unreachable_model(model.clone()));
            }
            let stopping = async {
                stop.cancelled().await;
                served.stop();
                let responder = served.responder.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(ANSWER_GRACE).await;
                    responder.stop_answers();
                });
            };
            if let Some(broker) = served.at_terminal.clone() {
                tokio::spawn(terminal::answer_questions(broker, interrupts.clone()));
            }
            edge.serve(served.router.clone(), stopping).await;
            served.finish(CLOSING_LIMIT).await;
            model.shut_down().await;
            Ok(Exit::Done)
        })?
    }

    /// Refuses options that would have no effect without a model.
    fn refuse_tools_without_model(&self) -> Result<(), CliError> {
        if self.backend == BackendChoice::None && self.tools.is_some() {
            return Err(CliError::bad_input(
                "unused_option",
                "--tools would do nothing: no model is asked, and MCP clients get the tools anyway",
            )
            .hint("leave out --tools, or choose a model with --backend"));
        }
        Ok(())
    }

    /// Returns the vault whose tools are served; `None` without a vault and without `--tools`.
    fn context(&self, vault: Option<&Path>) -> Result<Option<Arc<VaultContext>>, CliError> {
        match VaultContext::find(vault) {
            Err(error) if error.code == "no_vault" && vault.is_none() && self.tools.is_none() => Ok(None),
            found => Ok(Some(Arc::new(found?))),
        }
    }

    fn model_tools(&self) -> Option<server_builder::ModelToolAccess> {
        match (self.tools.is_some(), self.offer) {
            (false, _) => None,
            (true, false) => Some(server_builder::ModelToolAccess::OnRequest),
            (true, true) => Some(server_builder::ModelToolAccess::Offered),
        }
    }
}

/// Refuses a folder inside of a vault: responses would be notes to its apps, and would be synced with it.
fn refuse_vault_folder(folder: &Path) -> Result<(), CliError> {
    let absolute = std::path::absolute(folder)
        .map_err(|error| CliError::io(format_args!("find the folder {}", display_path(folder)), error))?;
    // A folder that does not exist yet is where its nearest existing parent is.
    let existing = absolute.ancestors().find_map(|dir| dir.canonicalize().ok()).unwrap_or(absolute);
    match enclosing_vault(&existing) {
        None => Ok(()),
        Some(vault) => Err(CliError::bad_input(
            "keep_in_vault",
            format!("`{}` is inside of the vault `{}`", display_path(folder), display_path(vault)),
        )
        .hint(
            "keep responses in a folder outside of every vault, such as ~/.local/state/tollgate/responses",
        )),
    }
}

/// Tells the user at the start which runs a crash interrupted. A record that cannot be listed is reported by
/// `tollgate runs`, and does not stop the server.
fn report_interrupted_runs(context: &VaultContext) {
    let Ok(runs) = context.runs().and_then(|runs| Ok(runs.list()?)) else { return };
    let mut interrupted = runs.iter().filter(|run| run.state == RunState::Interrupted).map(|run| &run.run_id);
    let Some(newest) = interrupted.next_back() else { return };
    let what = match interrupted.count() {
        0 => format!("run {newest} was"),
        more => format!("{} runs were, the newest is {newest}:", more + 1),
    };
    screen::notice(format_args!(
        "{what} interrupted by a crash or a kill. `tollgate resume RUN` completes one, `tollgate runs` lists all."
    ));
}

/// Warns at the start if the model's server cannot be used. It may be started later, so the server starts anyway.
async fn report_unreachable_model(model: Arc<dyn TextModel>) {
    let problem = match tokio::time::timeout(MODEL_PROBE_LIMIT, model.models()).await {
        Ok(Ok(_models)) => return,
        Ok(Err(error)) => match error.kind {
            BackendErrorKind::Unavailable | BackendErrorKind::Unauthorized | BackendErrorKind::Died => {
                error.message
            }
            // It answers; not every server lists its models.
            BackendErrorKind::Overloaded
            | BackendErrorKind::RateLimited
            | BackendErrorKind::ContextTooLong
            | BackendErrorKind::BadRequest
            | BackendErrorKind::UnknownModel
            | BackendErrorKind::Timeout
            | BackendErrorKind::Protocol
            | BackendErrorKind::Upstream => return,
        },
        Err(_elapsed) => {
            format!("the model's server did not answer within {} seconds", MODEL_PROBE_LIMIT.as_secs())
        }
    };
    screen::notice(format_args!("warning: {problem}"));
}

/// Raises the limit of open files to its maximum: each client takes a descriptor, and often one more towards the model.
fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    // Best effort: the HTTP server accepts no more clients than fit.
    let _refused = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
