//! A vault for clients, and `tollgate serve` on it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::TestVault;

/// One folder is closed to every call, and three programs run unasked.
const SETTINGS: &str = "[[rules]]\neffect = \"deny\"\ntools = [\"vault.*\"]\npaths = [\"Private/**\"]\nreason = \"private notes\"\n\
    [[rules]]\neffect = \"allow\"\ncommand = [\"sleep\", \"*\"]\nmatch = [\"sleep 600\"]\nnot_match = [\"id\"]\n\
    [[rules]]\neffect = \"allow\"\ncommand = [\"touch\", \"*\"]\nmatch = [\"touch begun\"]\nnot_match = [\"id\"]\n\
    [[rules]]\neffect = \"allow\"\ncommand = [\"seq\"]\nmatch = [\"seq 1 9\"]\nnot_match = [\"id\"]\n";

/// Looks before a command is given up, a hundred of them a second.
const PATIENCE: u32 = 6_000;

pub(crate) fn vault() -> TestVault {
    let sandbox = TestVault::new();
    sandbox.trusted_config(SETTINGS);
    std::fs::create_dir_all(sandbox.path("home")).unwrap();
    sandbox
}

/// Waits until the slow command of a client is under way.
#[track_caller]
pub(crate) fn until_begun(sandbox: &TestVault) {
    let begun = sandbox.vault().join("begun");
    for _ in 0..PATIENCE {
        if begun.exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the command has not begun: {}", sandbox.tollgate(&["show", "last"]).out);
}

/// The server; it is ended with the test.
pub(crate) struct McpHttpServer {
    process: Child,
    pub(crate) url: String,
    pub(crate) token: String,
}

impl McpHttpServer {
    pub(crate) fn start(sandbox: &TestVault, args: &[&str]) -> McpHttpServer {
        let model = sandbox.write("model.jsonl", "{\"text\":\"Hello.\"}\n");
        let backend = format!("scripted:{}", model.display());
        let serve = ["serve", "--json", "--port", "0", "--backend", &backend];
        let log = std::fs::File::create(sandbox.path("serve.log")).unwrap();
        let mut process =
            sandbox.command(&[&serve, args].concat()).stderr(log).stdin(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let token = std::fs::read_to_string(ready["tokenFile"].as_str().unwrap()).unwrap().trim().to_owned();
        McpHttpServer { process, url: ready["mcp"].as_str().unwrap().to_owned(), token }
    }

    /// Ends the server, and waits until every record is closed.
    pub(crate) fn stop(mut self) {
        kill_process(Pid::from_child(&self.process), Signal::TERM).unwrap();
        assert!(self.process.wait().unwrap().success());
    }
}

impl Drop for McpHttpServer {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _gone = self.process.wait();
    }
}
