//! smg, the gateway of SGLang: Rust, installed from PyPI. It passes the events on as they are.

use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::pypi;

pub(crate) const NAME: &str = "smg";
const WHAT: &str = "smg==1.13.0";

pub(crate) fn start(upstream: SocketAddr) -> Result<(Child, SocketAddr), String> {
    let folder = pypi::installed(NAME, WHAT, |folder| pypi::pip(folder, WHAT))?;
    let (address, metrics) = (pypi::free(), pypi::free());
    let process = Command::new(folder.join("bin/smg"))
        .args(["launch", "--backend", "openai", "--worker-urls", &format!("http://{upstream}")])
        .args(["--host", "127.0.0.1", "--port", &address.port().to_string(), "--log-level", "error"])
        .args(["--history-backend", "none", "--prometheus-host", "127.0.0.1"])
        .args(["--prometheus-port", &metrics.port().to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("it cannot be started: {error}"))?;
    Ok((pypi::listening(process, address, Duration::from_secs(60))?, address))
}
