//! Peers that come from PyPI, each in a virtual environment of its own in `target/peers`.
//!
//! They are installed if they are missing in the wanted version. A failure is printed and is no reason to stop: without
//! a peer the rest is still worth measuring.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Is written last, and says what is installed.
const STAMP: &str = "installed.txt";

/// The folder of a peer. `install` gets the folder with an empty environment in it.
pub(crate) fn installed(
    name: &str,
    what: &str,
    install: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers").join(name);
    if std::fs::read_to_string(folder.join(STAMP)).is_ok_and(|found| found == what) {
        return Ok(folder);
    }
    println!("installing {what} into target/peers/{name}");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(|error| format!("an older {name} stays: {error}"))?;
    }
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    install(&folder)?;
    std::fs::write(folder.join(STAMP), what).map_err(|error| format!("{name} is not complete: {error}"))?;
    Ok(folder)
}

pub(crate) fn pip(folder: &Path, what: &str) -> Result<(), String> {
    run(Command::new(folder.join("bin/pip")).args(["install", "--quiet", what]))
}

pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?} ended with {status}")),
        Err(error) => Err(format!("{command:?} cannot be started: {error}")),
    }
}

/// Waits until a process that was just started takes connections.
pub(crate) fn listening(mut process: Child, address: SocketAddr, limit: Duration) -> Result<Child, String> {
    let began = Instant::now();
    while TcpStream::connect(address).is_err() {
        if let Ok(Some(status)) = process.try_wait() {
            return Err(format!("it ended with {status} before it listened"));
        }
        if began.elapsed() > limit {
            process.kill().unwrap();
            process.wait().unwrap();
            return Err(format!("it did not listen within {} s", limit.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(process)
}

/// An address that was free a moment ago.
pub(crate) fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}
