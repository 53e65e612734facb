//! Keeps the route that a request was matched with where its answer can be counted.
//!
//! By hand, since it stands before every request that is routed: the general way makes a service and two boxes for each.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::extract::{MatchedPath, Request};
use axum::response::Response;
use tower_layer::Layer;
use tower_service::Service;

use crate::metrics::Route;

/// The route that the router answered on, if any.
pub(super) fn route_of(response: &Response) -> Option<Route> {
    response.extensions().get::<MatchedPath>().map(|route| Route::from(route.as_str()))
}

#[derive(Clone, Copy)]
pub(super) struct NameRoute;

impl<S> Layer<S> for NameRoute {
    type Service = Naming<S>;

    fn layer(&self, inner: S) -> Naming<S> {
        Naming(inner)
    }
}

#[derive(Clone)]
pub(super) struct Naming<S>(S);

impl<S> Service<Request> for Naming<S>
where
    S: Service<Request, Response = Response>,
    S::Future: Unpin,
{
    type Response = Response;
    type Error = S::Error;
    type Future = Named<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Named<S::Future> {
        let route = request.extensions().get::<MatchedPath>().cloned();
        Named { answer: self.0.call(request), route }
    }
}

pub(super) struct Named<F> {
    answer: F,
    route: Option<MatchedPath>,
}

impl<F, E> Future for Named<F>
where
    F: Future<Output = Result<Response, E>> + Unpin,
{
    type Output = Result<Response, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut response = ready!(Pin::new(&mut self.answer).poll(cx))?;
        if let Some(route) = self.route.take() {
            response.extensions_mut().insert(route);
        }
        Poll::Ready(Ok(response))
    }
}
