//! Puts the faces of the server together.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use backend::TextModel;
use engine::{Approver, SystemClock};
use envelope::ClientId;
use gateway::edge::ClientTokens;
use gateway::gate_run::Runs;
use gateway::gate_tools::GateTools;
use gateway::mcp::{McpFace, McpSettings};
use gateway::metrics::Metrics;
use gateway::responses::answer::{AnswerSettings, Responder, ResponderParts, Toolbox};
use gateway::responses::routes;
use gateway::responses::store::{Store, StoreLimits};
use gateway::{ApproverOf, FrontEnd};

use super::mcp;
use crate::approvals::Broker;
use crate::ask::Asker;
use crate::desk;
use crate::drive::Interrupts;
use crate::place::Place;
use crate::progress::Progress;
use crate::stop::Stop;

/// Paths that say nothing worth a token.
pub(crate) const OPEN_PATHS: [&str; 1] = ["/healthz"];

pub(crate) struct Faces<'a> {
    pub(crate) model: Arc<dyn TextModel>,
    pub(crate) metrics: Arc<Metrics>,
    /// Where responses are kept.
    pub(crate) keep: Option<&'a Path>,
    /// Whose tools are served to MCP clients, if there is a vault.
    pub(crate) vault: Option<Arc<Place>>,
    /// Whether models that are answered here may use them too.
    pub(crate) for_models: Option<ForModels>,
    /// Whether everything has a yes in advance.
    pub(crate) yes: bool,
    /// How long a call waits for `tollgate approve`, where there is no terminal.
    pub(crate) wait: Duration,
    /// The clients that may ask.
    pub(crate) clients: Arc<ClientTokens>,
}

/// Which requests get the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForModels {
    /// Those that ask for them.
    OnRequest,
    /// Also every one that brings no tools of its own.
    Offered,
}

/// What is served, and what has to end before the server does.
pub(crate) struct Served {
    pub(crate) faces: gateway::edge::Faces,
    pub(crate) tools: Option<Arc<GateTools>>,
    pub(crate) mcp: Option<Arc<McpFace>>,
    /// The questions that the server's own terminal shows, if it has one.
    pub(crate) at_terminal: Option<Arc<Broker>>,
}

/// Who is asked about calls.
struct Asking {
    approvers: ApproverOf,
    at_terminal: Option<Arc<Broker>>,
}

impl Served {
    /// Ends the calls that are under way.
    pub(crate) fn stop(&self) {
        self.runs().for_each(Runs::stop);
    }

    /// Waits until every record is closed.
    pub(crate) async fn finish(&self, limit: Duration) {
        for runs in self.runs() {
            runs.finish(limit).await;
        }
    }

    fn runs(&self) -> impl Iterator<Item = &Runs> {
        let tools = self.tools.as_ref().map(|tools| tools.runs());
        tools.into_iter().chain(self.mcp.as_ref().map(|face| face.runs()))
    }
}

impl Faces<'_> {
    pub(crate) fn open(self, interrupts: &Interrupts) -> Result<Served, Stop> {
        let store = match self.keep {
            Some(folder) => Store::on_disk(folder.to_owned(), StoreLimits::default())
                .map_err(|error| Stop::bad_input("store", error.to_string()))?,
            None => Store::in_memory(StoreLimits::default()),
        };
        let offer_tools = self.for_models == Some(ForModels::Offered);
        let asking = self.vault.as_ref().map(|place| self.asking(place, interrupts)).transpose()?;
        let tools = match (&self.vault, &asking, self.for_models) {
            (Some(place), Some(asking), Some(_)) => Some(model_tools(place, &asking.approvers, !self.yes)?),
            _ => None,
        };
        let face = match (&self.vault, &asking) {
            (Some(place), Some(asking)) => {
                let settings = McpSettings { asks: !self.yes, ..McpSettings::default() };
                Some(mcp::face(place, &asking.approvers, settings)?)
            }
            _ => None,
        };
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
            get(move || async move { ([(CONTENT_TYPE, gateway::metrics::CONTENT_TYPE)], metrics.render()) }),
        );
        let mut faces = routes::mount(router, responder);
        if let Some(face) = &face {
            faces = gateway::mcp::mount(faces, face);
        }
        Ok(Served { faces, tools, mcp: face, at_terminal: asking.and_then(|asking| asking.at_terminal) })
    }

    /// Who is asked: whoever runs `tollgate approve`, and the person at this terminal, if there is one. With a terminal
    /// a call waits until its question expires, since somebody may be there.
    fn asking(&self, place: &Place, interrupts: &Interrupts) -> Result<Asking, Stop> {
        if self.yes {
            let asker: Arc<dyn Approver> =
                Arc::new(Asker::new(true, Arc::new(Progress::new(true)), interrupts.clone()));
            return Ok(Asking {
                approvers: Arc::new(move |_client, _front_end| asker.clone()),
                at_terminal: None,
            });
        }
        let has_terminal = std::io::stderr().is_terminal();
        let wait = if has_terminal { desk::LIFE } else { self.wait };
        let folder = desk::folder(Some(&place.vault))?;
        let clock = Arc::new(SystemClock::new());
        let clients = self.clients.clone();
        let broker = Broker::new(folder, &place.vault, "tollgate serve".to_owned(), wait, clock)
            .for_clients(Arc::new(move |client| client.as_str() == ClientId::LOCAL || clients.has(client)));
        let broker = Arc::new(broker);
        Ok(Asking { approvers: broker.approvers(), at_terminal: has_terminal.then_some(broker) })
    }
}

fn model_tools(place: &Arc<Place>, approvers: &ApproverOf, forecasts: bool) -> Result<Arc<GateTools>, Stop> {
    let asker = approvers(&ClientId::local(), FrontEnd::Local);
    let mcp::LiveGates { make, look, .. } = mcp::gates(place, &asker, forecasts)?;
    let tools = GateTools::new(make, approvers.clone(), place.prepare_runs()?, Some(look));
    Ok(Arc::new(tools.map_err(|error| Stop::bad_input("tools", error))?))
}
