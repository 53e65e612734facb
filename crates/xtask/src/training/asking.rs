//! Clients, as small as clients can be: they ask, wait, and look whether there was an answer.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{ChildStdin, ChildStdout};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

use super::model::Form;
use super::notes::Call;
use super::started::Started;

/// The version in which a call over HTTP stands for itself.
const STATELESS: &str = "2026-07-28";

/// An answer that takes longer will not come.
const PATIENCE: Duration = Duration::from_secs(60);

/// An MCP client on pipes.
pub(super) struct Pipe {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    asked: u64,
}

impl Pipe {
    pub(super) fn new(started: &mut Started) -> anyhow::Result<Pipe> {
        let (to, from) = started.pipes()?;
        let mut pipe = Pipe { to, from: BufReader::new(from), asked: 0 };
        let client = json!({ "name": "training", "version": "1" });
        pipe.ask(
            "initialize",
            &json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client }),
        )?;
        pipe.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        pipe.ask("tools/list", &json!({}))?;
        Ok(pipe)
    }

    pub(super) fn call(&mut self, call: &Call) -> anyhow::Result<()> {
        worked(call, &self.ask_tool(call)?)
    }

    /// Whether a call works here at all.
    pub(super) fn can(&mut self, call: &Call) -> anyhow::Result<bool> {
        Ok(worked(call, &self.ask_tool(call)?).is_ok())
    }

    fn ask_tool(&mut self, call: &Call) -> anyhow::Result<Value> {
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

    /// In one write, as clients do: what is read in crumbs goes other ways.
    fn say(&mut self, message: &Value) -> anyhow::Result<()> {
        self.to.write_all(format!("{message}\n").as_bytes()).context("`tollgate mcp` does not listen")
    }
}

/// Training on calls that fail would lay out the wrong half.
fn worked(call: &Call, said: &Value) -> anyhow::Result<()> {
    let result = &said["result"];
    ensure!(result.is_object() && result["isError"] != true, "`{}` failed: {said}", call.tool);
    Ok(())
}

/// A server that is ready, and what it wants to see.
pub(super) struct Server {
    address: String,
    token: String,
    /// Open for as long as it is used, as they are for a person.
    _pipes: (ChildStdin, BufReader<ChildStdout>),
}

impl Server {
    pub(super) fn ready(started: &mut Started) -> anyhow::Result<Server> {
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
        Ok(Server { address, token, _pipes: (to, from) })
    }
}

/// A client on one connection.
pub(super) struct Http<'a> {
    server: &'a Server,
    to: TcpStream,
    from: BufReader<TcpStream>,
}

impl Http<'_> {
    pub(super) fn connect(server: &Server) -> anyhow::Result<Http<'_>> {
        let to = TcpStream::connect(&server.address).context("`tollgate serve` cannot be reached")?;
        to.set_nodelay(true)?;
        to.set_read_timeout(Some(PATIENCE))?;
        let from = BufReader::new(to.try_clone()?);
        Ok(Http { server, to, from })
    }

    pub(super) fn answer(&mut self, form: Form) -> anyhow::Result<()> {
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

    pub(super) fn call(&mut self, call: &Call) -> anyhow::Result<()> {
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

    /// The body of the answer.
    fn post(&mut self, path: &str, headers: &str, body: &Value) -> anyhow::Result<String> {
        let (Server { address, token, .. }, body) = (self.server, body.to_string());
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

    /// Reads the headers; gives the length of the body, unless it comes in chunks.
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

    /// Reads a chunk; says whether it was not the last.
    fn chunk(&mut self, said: &mut Vec<u8>) -> anyhow::Result<bool> {
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        let size = u64::from_str_radix(line.trim_end(), 16).with_context(|| format!("no chunk: {line}"))?;
        (&mut self.from).take(size).read_to_end(said)?;
        self.from.read_line(&mut line)?;
        Ok(size > 0)
    }
}
