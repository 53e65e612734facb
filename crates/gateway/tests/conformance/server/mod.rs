//! A server for the suites: the face as the product serves it, with what the suites ask for by name beside its tools.
//!
//! Most scenarios call tools, prompts and resources that a server has only for them. Those are here and nowhere in the
//! product; everything else goes to the product's own handler, over its own edge. The suites send no token, so this
//! server alone asks for none.

mod asking;
mod gate;
mod handler;
mod prompts;
mod resources;
mod rounds;
mod tasks;
mod tools;

use std::net::Ipv4Addr;
use std::sync::Arc;

use gateway::edge::{Edge, EdgeSettings, Token};
use gateway::mcp::mount_within;
use gateway::metrics::Metrics;

use gate::Changing;
use handler::Fixtures;
use tasks::Tasks;

/// Runs as long as it is held.
pub(crate) struct Server {
    pub(crate) url: String,
    /// Ends it when it goes.
    _runtime: tokio::runtime::Runtime,
    _folder: tempfile::TempDir,
}

impl Server {
    pub(crate) fn start() -> Server {
        let folder = tempfile::tempdir().unwrap();
        let token = Token::load_or_create(&folder.path().join("token")).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let edge = runtime.block_on(edge(&token));
        let url = format!("http://{}/mcp", edge.address());
        let (list, tasks) = (Changing::new(folder.path().join("runs")).unwrap(), Tasks::default());
        let face = list.face.clone();
        let within = move |own| Fixtures { own, list: list.clone(), tasks: tasks.clone() };
        let router = mount_within(axum::Router::new(), &face, within);
        runtime.spawn(edge.serve(router, std::future::pending()));
        Server { url, _runtime: runtime, _folder: folder }
    }
}

/// An edge that needs no token and lets in pages of its own address, as `--origin` does: the suites want both.
async fn edge(token: &Token) -> Edge {
    loop {
        // The port has to be known before anyone listens on it. Somebody else may be quicker, so this is tried again.
        let free = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let origins = ["localhost", "127.0.0.1"].map(|name| format!("http://{name}:{}", free.port()));
        let settings = EdgeSettings {
            open_paths: vec!["/mcp".to_owned()],
            origins: origins.to_vec(),
            ..EdgeSettings::new(token.clone())
        };
        if let Ok(edge) = Edge::bind(settings, Arc::new(Metrics::new()), free).await {
            return edge;
        }
    }
}
