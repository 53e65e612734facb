//! `tollgate mcp`: serves the tools of a vault to one MCP client, over standard input and output.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use call_session::{ApproverFactory, ToolChoice, ToolSet};
use clap::Args;
use engine::{Approver, SystemClock};
use mcp_server::{ClientLifetime, McpSettings, OutputSchemas, open_standard_io, serve_stdio};

use crate::cli_error::{CliError, CommandResult};
use crate::exit::Exit;
use crate::logging::{self, LogFormat};
use crate::progress::Progress;
use crate::prompt::TerminalApprover;
use crate::runtime::{self, InterruptSignal, WorkerCount};
use crate::serving::mcp;
use app::approval_queue;
use app::approvals::ApprovalBroker;
use app::live_settings::new_host_registry;
use app::vault_context::VaultContext;

/// Time limit to close the record after the client has left.
const CLOSING_LIMIT: Duration = Duration::from_secs(10);

/// Serves the tools of a vault to an MCP client over standard input and output
///
/// For a client to start, not for you: `tollgate connect CLIENT` writes the client's settings. Every call is
/// checked and recorded. Approvals are asked for through the client, or through `tollgate approve`.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[command(
    after_help = "Example:\n  tollgate connect claude-code --vault ~/Notes\n  tollgate mcp --vault ~/Notes\n  tollgate approve --watch"
)]
pub(crate) struct McpCommand {
    /// Approve every call in advance that would be asked about
    #[arg(long)]
    yes: bool,
    /// Seconds that a call waits for `tollgate approve` before it is refused for now
    #[arg(long, default_value_t, value_name = "SECONDS")]
    wait: crate::wait_argument::ApprovalTimeout,
    /// Results as text only, without structured content
    #[arg(long)]
    text_only: bool,
    /// List output schemas, for clients that check structured content; some hand them to the model
    #[arg(long, conflicts_with = "text_only")]
    output_schemas: bool,
    /// The tools to offer: some of notes, commands, text, host, servers and plans [default: all but text and host]
    #[arg(long, value_name = "SETS", value_delimiter = ',')]
    tools: Vec<ToolSet>,
    /// Tool names with dots, as Tollgate names them; many clients refuse them
    #[arg(long)]
    dotted: bool,
    /// What to log to standard error: error, warn, info or debug
    #[arg(long, default_value = "warn", value_name = "LEVEL")]
    log: logging::LogLevel,
    /// Log as `text` or as `json` lines
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    log_format: LogFormat,
}

impl McpCommand {
    pub(crate) fn run(self, vault: Option<&Path>) -> CommandResult {
        logging::start(self.log, self.log_format);
        let context = Arc::new(VaultContext::find(vault)?);
        let interrupts = InterruptSignal::new(false);
        let approvers: ApproverFactory = if self.yes {
            let approver: Arc<dyn Approver> =
                Arc::new(TerminalApprover::new(true, Arc::new(Progress::new(true)), interrupts.clone()));
            Arc::new(move |_client, _front_end| approver.clone())
        } else {
            let folder = approval_queue::folder(Some(&context.vault))?;
            let clock = Arc::new(SystemClock::new());
            let label = "an MCP client".to_owned();
            let broker =
                Arc::new(ApprovalBroker::new(folder, &context.vault, label, self.wait.into(), clock));
            broker.approvers()
        };
        let settings = self.settings();
        let stop = interrupts.cancel();
        // One client makes one call after the other as a rule: a second worker would only be woken in vain.
        runtime::block_on_with(&interrupts, WorkerCount::One, async {
            let server = mcp::open_server(&context, &approvers, settings, &new_host_registry(&context))?;
            let handler = server.handler(ClientLifetime::Connection);
            let (input, output) = open_standard_io();
            let served = serve_stdio(handler.clone(), input, output, stop.cancelled()).await;
            // Without the client, questions have no answer and results no reader.
            server.runs().stop();
            handler.end().await;
            server.runs().finish(CLOSING_LIMIT).await;
            served.map_err(|error| CliError::new(Exit::Failures, "mcp", error))?;
            Ok(Exit::Done)
        })?
    }

    fn settings(&self) -> McpSettings {
        McpSettings {
            structured: !self.text_only,
            output_schemas: if self.output_schemas { OutputSchemas::Listed } else { OutputSchemas::Omitted },
            tools: ToolChoice { sets: self.tools.clone(), has_host: false },
            dotted: self.dotted,
            ask_approval: !self.yes,
            ..McpSettings::default()
        }
    }
}
