//! A server for the suites: the product's server, extended by the features that the suites require by name.
//!
//! Most scenarios use tools, prompts and resources that exist only for them. Those are here and not in the product;
//! everything else goes to the product's own handler, over its own edge. The suites send no token, so only this
//! server requires none.

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

use http_edge::metrics::Metrics;
use http_edge::{EdgeSettings, HttpListener, Token};
use mcp_server::mount_within;

use gate::Changing;
use handler::Fixtures;
use tasks::Tasks;

/// A server that runs until it is dropped.
pub(crate) struct Server {
    pub(crate) url: String,
    /// Stops the server when dropped.
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
        let mcp_server = list.mcp_server.clone();
        let within = move |own| Fixtures { own, list: list.clone(), tasks: tasks.clone() };
        let router = mount_within(axum::Router::new(), &mcp_server, within);
        runtime.spawn(edge.serve(router, std::future::pending()));
        Server { url, _runtime: runtime, _folder: folder }
    }
}

/// Creates a listener without a token that accepts the origin of its own address, as with `--origin`: the suites
/// need both.
async fn edge(token: &Token) -> HttpListener {
    loop {
        // The port has to be known before listening. Another process may take it meanwhile, so this is retried.
        let free = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let origins = ["localhost", "127.0.0.1"].map(|name| format!("http://{name}:{}", free.port()));
        let settings = EdgeSettings {
            open_paths: vec!["/mcp".to_owned()],
            origins: origins.to_vec(),
            ..EdgeSettings::new(token.clone())
        };
        if let Ok(edge) = HttpListener::bind(settings, Arc::new(Metrics::new()), free).await {
            return edge;
        }
    }
}
