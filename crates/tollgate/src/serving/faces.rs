//! Puts the faces of the server together.

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use backend::TextModel;
use engine::{Engine, Observer, SystemClock};
use envelope::{ExecutionEvent, ToolResult};
use gateway::gate_tools::{GateTools, MakeEngine};
use gateway::metrics::Metrics;
use gateway::responses::answer::{AnswerSettings, Responder, ResponderParts, Toolbox};
use gateway::responses::routes;
use gateway::responses::store::{Store, StoreLimits};
use shell::Lifetime;

use crate::ask::Asker;
use crate::drive::Interrupts;
use crate::place::Place;
use crate::progress::Progress;
use crate::stop::Stop;
use crate::wiring::{self, Toolset};

/// Paths that say nothing worth a token.
pub(crate) const OPEN_PATHS: [&str; 1] = ["/healthz"];

pub(crate) struct Faces<'a> {
    pub(crate) model: Arc<dyn TextModel>,
    pub(crate) metrics: Arc<Metrics>,
    /// Where responses are kept.
    pub(crate) keep: Option<&'a Path>,
    pub(crate) tools: Option<Tools<'a>>,
}

/// Whose tools, and who says yes.
pub(crate) struct Tools<'a> {
    pub(crate) vault: Option<&'a Path>,
    pub(crate) yes: bool,
    pub(crate) offer: bool,
}

/// What is served, and what has to end before the server does.
pub(crate) struct Served {
    pub(crate) router: Router,
    pub(crate) tools: Option<Arc<GateTools>>,
}

impl Faces<'_> {
    pub(crate) fn open(self, interrupts: &Interrupts) -> Result<Served, Stop> {
        let store = match self.keep {
            Some(folder) => Store::on_disk(folder.to_owned(), StoreLimits::default())
                .map_err(|error| Stop::bad_input("store", error.to_string()))?,
            None => Store::in_memory(StoreLimits::default()),
        };
        let offer_tools = self.tools.as_ref().is_some_and(|tools| tools.offer);
        let tools = self.tools.map(|tools| tools.open(interrupts)).transpose()?;
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
        let router = routes::router(responder).route("/healthz", get(|| async { "ok\n" })).route(
            "/metrics",
            get(move || async move { ([(CONTENT_TYPE, gateway::metrics::CONTENT_TYPE)], metrics.render()) }),
        );
        Ok(Served { router, tools })
    }
}

impl Tools<'_> {
    fn open(&self, interrupts: &Interrupts) -> Result<Arc<GateTools>, Stop> {
        let place = Place::find(self.vault)?;
        let runs = place.prepare_runs()?;
        // One person, whichever run asks.
        let asker = Asker::new(self.yes, Arc::new(Progress::new(true)), interrupts.clone());
        let asker = Arc::new(asker.of_server());
        let make = move || -> Result<Engine, Stop> {
            let tools = Toolset::open(&place, Lifetime::Session)?;
            wiring::engine(&place, &tools, asker.clone(), Arc::new(Nobody))
        };
        // Whatever is wrong with the settings is said now, in full.
        drop(make()?);
        let make: MakeEngine = Arc::new(move || make().map_err(|stop| stop.message));
        let tools = GateTools::new(make, runs).map_err(|error| Stop::bad_input("tools", error))?;
        Ok(Arc::new(tools))
    }
}

/// The record is what there is to follow; a server shows nothing of it on its terminal.
struct Nobody;

impl Observer for Nobody {
    fn event(&self, _event: &ExecutionEvent) {}

    fn result(&self, _result: &ToolResult) {}
}
