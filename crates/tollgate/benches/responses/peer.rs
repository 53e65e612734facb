//! smg, the gateway of SGLang: Rust, installed from PyPI into `target/peers`. It passes the events on as they are.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) const NAME: &str = "smg";
const VERSION: &str = "1.13.0";

pub(crate) fn start(upstream: SocketAddr) -> (Child, SocketAddr) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers/smg");
    let program = folder.join("bin/smg");
    if !program.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder));
        run(Command::new(folder.join("bin/pip")).args(["install", "--quiet", &format!("smg=={VERSION}")]));
    }
    let (address, metrics) = (free(), free());
    let process = Command::new(program)
        .args(["launch", "--backend", "openai", "--worker-urls", &format!("http://{upstream}")])
        .args(["--host", "127.0.0.1", "--port", &address.port().to_string(), "--log-level", "error"])
        .args(["--history-backend", "none", "--prometheus-host", "127.0.0.1"])
        .args(["--prometheus-port", &metrics.port().to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while TcpStream::connect(address).is_err() {
        assert!(began.elapsed() < Duration::from_secs(60), "{NAME} does not listen");
        std::thread::sleep(Duration::from_millis(50));
    }
    (process, address)
}

/// An address that was free a moment ago.
fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn run(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}
