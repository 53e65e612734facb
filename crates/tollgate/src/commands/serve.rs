//! `tollgate serve`: the server on loopback.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use gateway::edge::{ClientTokens, Edge, EdgeSettings};
use gateway::metrics::Metrics;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::desk;
use crate::drive::{self, Interrupts, Workers};
use crate::exit::Exit;
use crate::logging::{self, LogFormat};
use crate::place::Place;
use crate::serving::backend::{BackendChoice, CallsBy};
use crate::serving::{faces, home, terminal, welcome};
use crate::stop::{Outcome, Stop};

/// How long the runs of tools may take to be closed when the server stops.
const CLOSING_LIMIT: Duration = Duration::from_secs(10);

/// Serves models and the tools of a vault on this machine, over HTTP
///
/// Clients that speak `/v1/responses` get function calling from a model that only takes and gives text. MCP clients get
/// the tools of the vault under `/mcp`, through the gate. Everything needs a token: the one that is made at the first start and kept in a file that only you can read, or one of your own for each client (`tollgate token`).
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[command(
    after_help = "Example:\n  tollgate serve --backend codex\n  tollgate serve --backend http://127.0.0.1:11434/v1 --chat --model llama3.3\n  tollgate serve --backend scripted:answers.jsonl --port 8800\n  tollgate serve --tools --vault ~/Notes"
)]
pub(crate) struct Serve {
    /// The model: `codex`, `codex:PROGRAM`, the `/v1` address of a server, or `scripted:FILE`
    #[arg(long, default_value = "codex", value_name = "MODEL")]
    backend: BackendChoice,
    /// The model that is asked, whatever clients name [default: the one that they name]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// How calls reach the model: by `text`, `native` to codex, or `auto`
    #[arg(long, default_value = "auto", value_name = "WAY")]
    calls: CallsBy,
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
    /// Let models use Tollgate's tools on the vault, through the gate
    #[arg(long)]
    tools: bool,
    /// Offer these tools to every request that brings none of its own
    #[arg(long, requires = "tools")]
    offer: bool,
    /// Say yes in advance to what models and MCP clients want to do with the tools
    #[arg(long)]
    yes: bool,
    /// Seconds that a call waits for `tollgate approve`, where there is no terminal, before it is refused for now
    #[arg(long, default_value_t, value_name = "SECONDS")]
    wait: desk::Wait,
    /// The file with the token [default: tollgate/token in the folder for state]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// What to log: error, warn, info or debug
    #[arg(long, default_value = "info", value_name = "LEVEL")]
    log: logging::Level,
    /// Log as `text` or as `json` lines
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    log_format: LogFormat,
    /// Print what clients need to know as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

impl Serve {
    pub(crate) fn run(self, vault: Option<&Path>) -> Outcome {
        logging::start(self.log, self.log_format);
        take_all_descriptors();
        let home = home::folder(vault)?;
        let model = self.backend.open(&crate::serving::backend::Wishes {
            home: &home,
            model: self.model.as_deref(),
            calls: self.calls,
            key_env: self.key_env.as_deref(),
            chat: self.chat,
        })?;
        let token_file = self.token_file.clone().unwrap_or_else(|| home.join("token"));
        let clients = ClientTokens::open(token_file.clone(), home.join(home::CLIENTS))
            .map_err(|error| Stop::bad_input("token", error.to_string()))?;
        let clients = Arc::new(clients);
        let interrupts = Interrupts::new(self.json);
        let metrics = Arc::new(Metrics::new());
        let place = self.place(vault)?;
        let has_mcp = place.is_some();
        let faces = faces::Faces {
            model: model.clone(),
            metrics: metrics.clone(),
            keep: self.keep.as_deref(),
            vault: place,
            for_models: self.for_models(),
            yes: self.yes,
            wait: self.wait.into(),
            clients: clients.clone(),
        };
        let served = faces.open(&interrupts)?;
        let settings = EdgeSettings {
            origins: self.origin.clone(),
            hosts: self.name.clone(),
            allow_remote: self.allow_remote,
            open_paths: faces::OPEN_PATHS.map(str::to_owned).to_vec(),
            ..EdgeSettings::for_clients(clients)
        };
        let stop = interrupts.cancel();
        drive::to_end_with(&interrupts, Workers::Half, async {
            let address = SocketAddr::new(self.host, self.port);
            let edge = Edge::bind(settings, metrics, address).await.map_err(|error| {
                Stop::bad_input("listen", error.to_string())
                    .hint("choose another port with --port, or 0 for a free one")
            })?;
            welcome::Welcome {
                address: edge.address(),
                token_file: &token_file,
                model: &model.describe(),
                named: self.model.as_deref(),
                tools: self.tools,
                mcp: has_mcp,
            }
            .show(self.json);
            let stopping = async {
                stop.cancelled().await;
                served.stop();
            };
            if let Some(broker) = served.at_terminal.clone() {
                tokio::spawn(terminal::answer_questions(broker, interrupts.clone()));
            }
            edge.serve(served.faces.clone(), stopping).await;
            served.finish(CLOSING_LIMIT).await;
            model.shut_down().await;
            Ok(Exit::Done)
        })?
    }

    /// The vault whose tools are served. Without `--tools` there need not be one.
    fn place(&self, vault: Option<&Path>) -> Result<Option<Arc<Place>>, Stop> {
        match Place::find(vault) {
            Err(stop) if stop.code == "no_vault" && vault.is_none() && !self.tools => Ok(None),
            found => Ok(Some(Arc::new(found?))),
        }
    }

    fn for_models(&self) -> Option<faces::ForModels> {
        match (self.tools, self.offer) {
            (false, _) => None,
            (true, false) => Some(faces::ForModels::OnRequest),
            (true, true) => Some(faces::ForModels::Offered),
        }
    }
}

/// Each client takes a descriptor, and often one more towards the model. The system allows more than it gives at first.
fn take_all_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    // As good as it goes: the edge takes no more clients than fit.
    let _refused = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
