//! Minimal clients: they send a request, wait, and check the answer.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{ChildStdin, ChildStdout};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

use super::model::AnswerForm;
use super::notes::TrainingCall;
use super::process::TrainingProcess;

/// The version in which each call over HTTP is complete in itself.
const STATELESS: &str = "2026-07-28";

/// Time limit for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// An MCP client on pipes.
pub(super) struct StdioClient {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    asked: u64,
}

impl StdioClient {
    pub(super) fn new(started: &mut TrainingProcess) -> anyhow::Result<StdioClient> {
        let (to, from) = started.pipes()?;
        let mut pipe = StdioClient { to, from: BufReader::new(from), asked: 0 };
        let client = json!({ "name": "training", "version": "1" });
        pipe.ask(
            "initialize",
            &json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client }),
        )?;
        pipe.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        pipe.ask("tools/list", &json!({}))?;
        Ok(pipe)
    }

    pub(super) fn call(&mut self, call: &TrainingCall) -> anyhow::Result<()> {
        worked(call, &self.ask_tool(call)?)
    }

    /// Returns whether a call works on this machine.
    pub(super) fn can(&mut self, call: &TrainingCall) -> anyhow::Result<bool> {
        Ok(worked(call, &self.ask_tool(call)?).is_ok())
    }

    fn ask_tool(&mut self, call: &TrainingCall) -> anyhow::Result<Value> {
        self.ask("tools/call", &json!({ "name": call.tool, "arguments": call.arguments }))
    }

    fn ask(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        self.asked += 1;
        self.say(&json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params }))?;
        loop {
            let mut line = String::new();
            ensure!(self.from.read_line(&mut line)? > 0, "`tollgate mcp` ended in the middle of `{method}`");
            let said: Value = serde_json::from_str(&line).context("a line that is no JSON")?;
            if said["id"] == self.asked {
                return Ok(said);
            }
        }
    }

    /// Writes in one piece, as clients do: small pieces take other code paths.
    fn say(&mut self, message: &Value) -> anyhow::Result<()> {
        self.to.write_all(format!("{message}\n").as_bytes()).context("`tollgate mcp` does not listen")
    }
}

/// Checks that the call succeeded: training on failures would optimize the wrong half.
fn worked(call: &TrainingCall, said: &Value) -> anyhow::Result<()> {
    let result = &said["result"];
    ensure!(result.is_object() && result["isError"] != true, "`{}` failed: {said}", call.tool);
    Ok(())
}

/// A server that is ready, with its address and token.
pub(super) struct RunningServer {
    address: String,
    token: String,
    /// Kept open while the server is used, as for a user.
    _pipes: (ChildStdin, BufReader<ChildStdout>),
}

impl RunningServer {
    pub(super) fn ready(started: &mut TrainingProcess) -> anyhow::Result<RunningServer> {
        let mut line = String::new();
        let (to, from) = started.pipes()?;
        let mut from = BufReader::new(from);
        from.read_line(&mut line)?;
        let ready: Value =
            serde_json::from_str(&line).context("`tollgate serve` did not say that it is ready")?;
        let (Some(url), Some(file)) = (ready["url"].as_str(), ready["tokenFile"].as_str()) else {
            bail!("`tollgate serve` did not say where it is: {line}");
        };
        let token = std::fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
        let (address, token) = (url.trim_start_matches("http://").to_owned(), token.trim().to_owned());
        Ok(RunningServer { address, token, _pipes: (to, from) })
    }
}

/// A client on one connection.
pub(super) struct TrainingHttpClient<'a> {
    server: &'a RunningServer,
    to: TcpStream,
    from: BufReader<TcpStream>,
}

impl TrainingHttpClient<'_> {
    pub(super) fn connect(server: &RunningServer) -> anyhow::Result<TrainingHttpClient<'_>> {
        let to = TcpStream::connect(&server.address).context("`tollgate serve` cannot be reached")?;
        to.set_nodelay(true)?;
        to.set_read_timeout(Some(PATIENCE))?;
        let from = BufReader::new(to.try_clone()?);
        Ok(TrainingHttpClient { server, to, from })
    }

    pub(super) fn answer(&mut self, form: AnswerForm) -> anyhow::Result<()> {
        let parameters = json!({ "type": "object", "properties": { "city": { "type": "string" }, "unit": { "type": "string" } }, "required": ["city"] });
        let body = json!({
            "model": "m", "stream": form.streamed, "store": false, "input": form.said,
            "tools": [{ "type": "function", "name": "get_weather", "parameters": parameters }],
        });
        let said = self.post("/v1/responses", "", &body)?;
        let called = said.contains(r#""type":"function_call""#) && said.contains(r#""status":"completed""#);
        ensure!(called, "no call in the answer: {said}");
        Ok(())
    }

    pub(super) fn call(&mut self, call: &TrainingCall) -> anyhow::Result<()> {
        let about = json!({
            "io.modelcontextprotocol/protocolVersion": STATELESS,
            "io.modelcontextprotocol/clientInfo": { "name": "training", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({ "name": call.tool, "arguments": call.arguments, "_meta": about });
        let headers = format!(
            "accept: application/json, text/event-stream\r\nmcp-protocol-version: {STATELESS}\r\n\
             mcp-method: tools/call\r\nmcp-name: {}\r\n",
            call.tool
        );
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let said = self.post("/mcp", &headers, &body)?;
        // One object, or the last event of a stream.
        let data = said.lines().rev().find_map(|line| line.strip_prefix("data: ")).unwrap_or(&said);
        worked(call, &serde_json::from_str(data).with_context(|| format!("no JSON: {said}"))?)
    }

    /// Sends a request and returns the body of the answer.
    fn post(&mut self, path: &str, headers: &str, body: &Value) -> anyhow::Result<String> {
        let (RunningServer { address, token, .. }, body) = (self.server, body.to_string());
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\n{headers}content-length: {length}\r\n\r\n{body}",
        );
        self.to.write_all(request.as_bytes())?;
        let mut status = String::new();
        self.from.read_line(&mut status)?;
        let length = self.length()?;
        let mut said = Vec::new();
        match length {
            Some(length) => _ = (&mut self.from).take(length).read_to_end(&mut said)?,
            None => while self.chunk(&mut said)? {},
        }
        let said = String::from_utf8(said)?;
        ensure!(status.starts_with("HTTP/1.1 200"), "{path} was answered {}: {said}", status.trim_end());
        Ok(said)
    }

    /// Reads the headers. Returns the length of the body; `None` if it is chunked.
    fn length(&mut self) -> anyhow::Result<Option<u64>> {
        let mut length = None;
        loop {
            let mut line = String::new();
            ensure!(self.from.read_line(&mut line)? > 0, "`tollgate serve` hung up");
            if line == "\r\n" {
                return Ok(length);
            }
            if let Some(said) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = Some(said.trim().parse()?);
            }
        }
    }

    /// Reads a chunk. Returns whether more follow.
    fn chunk(&mut self, said: &mut Vec<u8>) -> anyhow::Result<bool> {
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        let size = u64::from_str_radix(line.trim_end(), 16).with_context(|| format!("no chunk: {line}"))?;
        (&mut self.from).take(size).read_to_end(said)?;
        self.from.read_line(&mut line)?;
        Ok(size > 0)
    }
}
