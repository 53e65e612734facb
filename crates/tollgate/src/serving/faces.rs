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
use gateway::gate_run::Runs;
use gateway::gate_tools::GateTools;
use gateway::mcp::{McpFace, McpSettings};
use gateway::metrics::Metrics;
use gateway::responses::answer::{AnswerSettings, Responder, ResponderParts, Toolbox};
use gateway::responses::routes;
use gateway::responses::store::{Store, StoreLimits};

use super::mcp;
use crate::ask::Asker;
use crate::desk::{self, Desk};
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
    /// How long a call waits for `tollgate approve`.
    pub(crate) wait: Duration,
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
        let asker = self.vault.as_ref().map(|place| self.asker(place, interrupts)).transpose()?;
        let tools = match (&self.vault, &asker, self.for_models) {
            (Some(place), Some(asker), Some(_)) => Some(model_tools(place, asker)?),
            _ => None,
        };
        let face = match (&self.vault, asker) {
            (Some(place), Some(asker)) => {
                let settings = McpSettings { asks: !self.yes, ..McpSettings::default() };
                Some(mcp::face(place, asker, settings)?)
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
        Ok(Served { faces, tools, mcp: face })
    }

    /// Who is asked: the person at this terminal, or whoever runs `tollgate approve` where there is none. One
    /// person, whichever run asks.
    fn asker(&self, place: &Place, interrupts: &Interrupts) -> Result<Arc<dyn Approver>, Stop> {
        if self.yes || std::io::stderr().is_terminal() {
            let asker = Asker::new(self.yes, Arc::new(Progress::new(true)), interrupts.clone());
            return Ok(Arc::new(asker.of_server()));
        }
        let folder = desk::folder(Some(&place.vault))?;
        let clock = Arc::new(SystemClock::new());
        Ok(Arc::new(Desk::new(folder, &place.vault, "tollgate serve".to_owned(), self.wait, clock)))
    }
}

fn model_tools(place: &Arc<Place>, asker: &Arc<dyn Approver>) -> Result<Arc<GateTools>, Stop> {
    let runs = place.prepare_runs()?;
    let tools = {
        let desk = asker.clone();
        GateTools::new(mcp::maker(place, asker)?, Arc::new(move |_client| desk.clone()), runs)
    };
    Ok(Arc::new(tools.map_err(|error| Stop::bad_input("tools", error))?))
}
