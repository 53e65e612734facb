//! The servers that requests are sent to.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use crate::gauge::ProcessUsage;
use crate::{litellm, relay, smg};

pub(crate) struct BenchServer {
    name: &'static str,
    address: SocketAddr,
    token: String,
    /// Nothing for the model's server itself.
    process: Option<Child>,
    _folder: Option<tempfile::TempDir>,
}

impl BenchServer {
    pub(crate) fn direct(upstream: SocketAddr) -> BenchServer {
        BenchServer { name: "direct", address: upstream, token: String::new(), process: None, _folder: None }
    }

    pub(crate) fn relay(upstream: SocketAddr) -> BenchServer {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .env(relay::WORD, upstream.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let address = first_line(&mut process).parse().unwrap();
        BenchServer { name: "relay", address, token: String::new(), process: Some(process), _folder: None }
    }

    pub(crate) fn tollgate(upstream: SocketAddr, more: &[&str]) -> BenchServer {
        let folder = tempfile::tempdir().unwrap();
        // The one that is shipped, where there is one.
        let program = std::env::var_os("TOLLGATE_BENCH_PROGRAM");
        let mut process = Command::new(program.unwrap_or_else(|| env!("CARGO_BIN_EXE_tollgate").into()))
            .args(["serve", "--json", "--port", "0", "--log", "error", "--backend"])
            .arg(format!("http://{upstream}/v1"))
            .args(more)
            .env("XDG_STATE_HOME", folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let ready: serde_json::Value = serde_json::from_str(&first_line(&mut process)).unwrap();
        let address = ready["url"].as_str().unwrap().trim_start_matches("http://").parse().unwrap();
        let token = std::fs::read_to_string(ready["tokenFile"].as_str().unwrap()).unwrap().trim().to_owned();
        BenchServer { name: "tollgate", address, token, process: Some(process), _folder: Some(folder) }
    }

    pub(crate) fn smg(upstream: SocketAddr) -> Result<BenchServer, String> {
        let (process, address) = smg::start(upstream)?;
        Ok(BenchServer {
            name: smg::NAME,
            address,
            token: String::new(),
            process: Some(process),
            _folder: None,
        })
    }

    pub(crate) fn litellm(upstream: SocketAddr) -> Result<BenchServer, String> {
        let folder = tempfile::tempdir().unwrap();
        let (process, address, token) = litellm::start(upstream, folder.path())?;
        Ok(BenchServer { name: litellm::NAME, address, token, process: Some(process), _folder: Some(folder) })
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn tree(&self) -> Option<ProcessUsage> {
        self.process.as_ref().map(|process| ProcessUsage(process.id()))
    }

    /// A request as bytes.
    pub(crate) fn request(&self, stream: bool, said: &str) -> Vec<u8> {
        let body = serde_json::json!({
            "model": "m", "stream": stream, "store": false, "input": said,
            "tools": [{ "type": "function", "name": "get_weather", "parameters": {
                "type": "object", "properties": { "city": { "type": "string" }, "unit": { "type": "string" } },
                "required": ["city"],
            }}],
        })
        .to_string();
        let (address, token) = (self.address, &self.token);
        format!(
            "POST /v1/responses HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes()
    }
}

impl Drop for BenchServer {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }
}

fn first_line(process: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    line.trim().to_owned()
}
