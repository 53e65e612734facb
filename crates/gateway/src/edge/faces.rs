//! Where requests go that the guard let through.
//!
//! A router stands ready for all of them. For the few that come most it is a detour: it clones itself, boxes what it
//! passes on several times and looks paths up in a tree, some 9,000 instructions for each request. So a path can be
//! marked as a straight one, whose answer is asked for without the router.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use http::Method;
use http::request::Parts;
use hyper_util::service::TowerToHyperService;
use toolkit::BoxFuture;

use crate::metrics::Route;

use super::named::NameRoute;
use super::visit::{Again, Visit};

/// Everything that a server answers.
#[derive(Clone)]
pub struct Faces {
    router: Router,
    straight: Vec<Straight>,
}

/// One method of one path that the router would answer in the same way.
#[derive(Clone)]
pub(super) struct Straight {
    method: Method,
    path: &'static str,
    pub(super) route: Route,
    pub(super) answer: Answer,
}

type Answer = Arc<dyn Fn(Request, &Arrival<'_>) -> BoxFuture<'static, Response> + Send + Sync>;

/// The connection that a request arrived on.
pub struct Arrival<'a>(pub(super) &'a Arc<Visit>);

impl Arrival<'_> {
    /// As handlers behind the router find it among the extensions of their request.
    pub fn again(&self) -> Again {
        Again::new(self.0)
    }
}

impl From<Router> for Faces {
    fn from(router: Router) -> Faces {
        Faces { router, straight: Vec::new() }
    }
}

impl Faces {
    /// Takes these routes in, too.
    #[must_use]
    pub fn merge(mut self, routes: Router) -> Faces {
        self.router = self.router.merge(routes);
        self
    }

    /// Answers this method of this path without asking the router. It has to know the path all the same, for the
    /// methods that are left and for what it says is allowed.
    #[must_use]
    pub fn straight(
        mut self,
        method: Method,
        path: &'static str,
        answer: impl Fn(Request, &Arrival<'_>) -> BoxFuture<'static, Response> + Send + Sync + 'static,
    ) -> Faces {
        self.straight.push(Straight { method, path, route: Route::from(path), answer: Arc::new(answer) });
        self
    }

    pub(super) fn open(self) -> OpenFaces {
        OpenFaces { router: TowerToHyperService::new(self.router.layer(NameRoute)), straight: self.straight }
    }
}

/// The faces, ready to be asked.
pub(super) struct OpenFaces {
    pub(super) router: TowerToHyperService<Router>,
    straight: Vec<Straight>,
}

impl OpenFaces {
    /// Who answers this request without the router.
    pub(super) fn straight(&self, request: &Parts) -> Option<&Straight> {
        let path = request.uri.path();
        self.straight.iter().find(|straight| straight.path == path && straight.method == request.method)
    }
}
