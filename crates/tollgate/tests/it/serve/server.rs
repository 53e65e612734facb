//! The server in a folder of its own, for as long as a test needs it.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::serve::wire::{self, PATIENCE, RawResponse};
use crate::support::TestVault;

pub(crate) struct ServeProcess {
    /// Gone once it has ended.
    process: Option<Child>,
    address: String,
    token: String,
    log: Receiver<String>,
}

impl ServeProcess {
    /// In front of a model that plays this script.
    pub(crate) fn scripted(sandbox: &TestVault, script: &[Value], args: &[&str]) -> ServeProcess {
        let lines: Vec<String> = script.iter().map(Value::to_string).collect();
        let script = sandbox.write("model.jsonl", &lines.join("\n"));
        let backend = format!("scripted:{}", script.display());
        ServeProcess::start(sandbox, &[&["--backend", &backend], args].concat())
    }

    pub(crate) fn start(sandbox: &TestVault, args: &[&str]) -> ServeProcess {
        let vault = sandbox.vault();
        let serve = ["serve", "--json", "--port", "0", "--vault", vault.to_str().unwrap()];
        let mut process = sandbox
            .command(&[&serve, args].concat())
            .env("CODEX_HOME", sandbox.path("codex-home"))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = follow(process.stderr.take().unwrap());
        let ready = wire::line(&mut BufReader::new(process.stdout.take().unwrap()));
        let ready: Value = serde_json::from_str(&ready)
            .unwrap_or_else(|error| panic!("{error}: {ready}{:?}", log.iter().collect::<Vec<_>>()));
        let token = std::fs::read_to_string(ready["tokenFile"].as_str().unwrap()).unwrap().trim().to_owned();
        let address = ready["url"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
        ServeProcess { process: Some(process), address, token, log }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    pub(crate) fn send(&self, line: &str, body: &str) -> TcpStream {
        wire::send(&self.address, &self.token, line, body)
    }

    /// Asks for a stream, with more members of the request than what is said.
    pub(crate) fn stream(&self, said: &str, more: Value) -> TcpStream {
        let mut request = json!({ "model": "scripted", "stream": true, "input": said });
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.send("POST /v1/responses", &request.to_string())
    }

    pub(crate) fn get(&self, path: &str) -> RawResponse {
        RawResponse::of(self.send(&format!("GET {path}"), ""))
    }

    /// A counter; nothing that was never counted is listed.
    pub(crate) fn counted(&self, series: &str) -> u64 {
        let text = self.get("/metrics").text();
        let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        line.map_or(0, |number| number.parse().unwrap())
    }

    /// Reads the log until a line that says so.
    #[track_caller]
    pub(crate) fn until_logged(&self, words: &str) {
        loop {
            let line = self.log.recv_timeout(PATIENCE);
            if line.unwrap_or_else(|error| panic!("{error} for: {words}")).contains(words) {
                return;
            }
        }
    }

    pub(crate) fn is_listening(&self) -> bool {
        TcpStream::connect(&self.address).is_ok()
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(self.process.as_ref().unwrap())
    }

    /// Ends the server, as a service manager does.
    pub(crate) fn terminate(&self) {
        kill_process(self.pid(), Signal::TERM).unwrap();
    }

    /// Waits for its end.
    pub(crate) fn ended(mut self) -> ExitStatus {
        self.process.take().unwrap().wait().unwrap()
    }
}

impl Drop for ServeProcess {
    /// A test that failed may have left streams open; nothing of this server is worth a wait for them.
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _gone = process.kill();
            process.wait().unwrap();
        }
    }
}

/// Passes the log on line by line, so that its pipe never fills.
fn follow(log: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(log).lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
