//! `tollgate mcp`: the tools of a vault for one MCP client, over standard input and output.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use engine::{Approver, SystemClock};
use gateway::ApproverOf;
use gateway::mcp::{Lasting, McpSettings, serve_stdio, standard};

use crate::approvals::Broker;
use crate::ask::Asker;
use crate::desk;
use crate::drive::{self, Interrupts, Workers};
use crate::exit::Exit;
use crate::logging::{self, LogFormat};
use crate::place::Place;
use crate::progress::Progress;
use crate::serving::mcp;
use crate::stop::{Outcome, Stop};

/// How long the record may take to be closed when the client is gone.
const CLOSING_LIMIT: Duration = Duration::from_secs(10);

/// Serves the tools of a vault to an MCP client over standard input and output
///
/// For a client to start, not for a person: `tollgate connect CLIENT` writes the client's settings. Every call passes
/// the gate and is recorded. What needs a yes is asked through the client, or through `tollgate approve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tollgate connect claude-code --vault ~/Notes\n  tollgate mcp --vault ~/Notes\n  tollgate approve --watch"
)]
pub(crate) struct Mcp {
    /// Say yes in advance to every call that would be asked about
    #[arg(long)]
    yes: bool,
    /// Seconds that a call waits for `tollgate approve` before it is refused for now
    #[arg(long, default_value_t, value_name = "SECONDS")]
    wait: desk::Wait,
    /// Results as text only, without output schemas
    #[arg(long)]
    text_only: bool,
    /// Tool names with dots, as they are called here; many clients refuse them
    #[arg(long)]
    dotted: bool,
    /// What to log to standard error: error, warn, info or debug
    #[arg(long, default_value = "warn", value_name = "LEVEL")]
    log: logging::Level,
    /// Log as `text` or as `json` lines
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    log_format: LogFormat,
}

impl Mcp {
    pub(crate) fn run(self, vault: Option<&Path>) -> Outcome {
        logging::start(self.log, self.log_format);
        let place = Arc::new(Place::find(vault)?);
        let interrupts = Interrupts::new(false);
        let approvers: ApproverOf = if self.yes {
            let asker: Arc<dyn Approver> =
                Arc::new(Asker::new(true, Arc::new(Progress::new(true)), interrupts.clone()));
            Arc::new(move |_client, _front_end| asker.clone())
        } else {
            let folder = desk::folder(Some(&place.vault))?;
            let clock = Arc::new(SystemClock::new());
            let label = "an MCP client".to_owned();
            Arc::new(Broker::new(folder, &place.vault, label, self.wait.into(), clock)).approvers()
        };
        let settings = self.settings();
        let stop = interrupts.cancel();
        // One client, whose calls come one after the other as a rule: a second worker would only be woken in vain.
        drive::to_end_with(&interrupts, Workers::One, async {
            let face = mcp::face(&place, &approvers, settings)?;
            let handler = face.handler(Lasting::Connection);
            let (input, output) = standard();
            let served = serve_stdio(handler.clone(), input, output, stop.cancelled()).await;
            // Nobody is left to answer what was asked, nor to hear what comes of a call.
            face.runs().stop();
            handler.end().await;
            face.runs().finish(CLOSING_LIMIT).await;
            served.map_err(|error| Stop::new(Exit::Failures, "mcp", error))?;
            Ok(Exit::Done)
        })?
    }

    fn settings(&self) -> McpSettings {
        McpSettings {
            structured: !self.text_only,
            dotted: self.dotted,
            asks: !self.yes,
            ..McpSettings::default()
        }
    }
}
