//! Starts an MCP server as a client would, and checks whether it answers.
//!
//! Speaks a few lines of JSON-RPC over standard input and output, with limits on time and size. The caller makes sure
//! that the program may be started. The answers are not trusted or kept, and no process is left running.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use engine::{Clock, SystemClock};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Map, Value, json};

/// Time limit for an answer. Clients wait a little longer for a start.
pub(crate) const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// The longest line that is read.
const MAX_LINE_BYTES: u64 = 8 << 20;

/// Bytes of standard error that are kept.
const STDERR_BYTES: u64 = 4 << 10;

/// Maximum number of pages of tools.
const MAX_PAGES: usize = 100;

/// Maximum number of lines before an answer: notifications, and requests to the client.
const MAX_OTHER_LINES: usize = 1000;

/// The protocol version that most clients send in `initialize`; a server answers with its own.
const GREETING_PROTOCOL: &str = "2025-11-25";

/// The first version without `initialize`: a client asks what there is, and each request is complete in itself.
const STATELESS_PROTOCOL: &str = "2026-07-28";

/// A server command as a client's settings have it.
pub(crate) struct ProbeCommand<'a> {
    pub(crate) program: &'a Path,
    pub(crate) args: Vec<&'a str>,
    pub(crate) env: &'a Map<String, Value>,
    pub(crate) folder: &'a Path,
}

/// The result of a probe.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ProbeReport {
    /// The version that `initialize` agreed on.
    pub(crate) greeted: String,
    /// The newest version that the server supports without `initialize`, if any.
    pub(crate) discovered: Option<String>,
    pub(crate) tools: usize,
    pub(crate) millis: u64,
}

/// Asks the server which versions it supports, initializes it and lists its tools. Returns the reason if that fails.
pub(crate) fn probe_server(started: &ProbeCommand<'_>, limit: Duration) -> Result<ProbeReport, String> {
    let clock = SystemClock::new();
    let mut connection =
        ProbeConnection::start(started, limit).map_err(|error| format!("it cannot be started: {error}"))?;
    let client = json!({ "name": "tollgate-doctor", "version": env!("CARGO_PKG_VERSION") });
    // A request before `initialize` that changes nothing. An older server answers it with an error.
    let about = json!({ "_meta": {
        "io.modelcontextprotocol/protocolVersion": STATELESS_PROTOCOL,
        "io.modelcontextprotocol/clientInfo": client,
        "io.modelcontextprotocol/clientCapabilities": {},
    } });
    let discovered = connection.response("server/discover", &about)?.ok().and_then(|known| newest(&known));
    let greeting = json!({ "protocolVersion": GREETING_PROTOCOL, "capabilities": {}, "clientInfo": client });
    let greeted = connection.request("initialize", &greeting)?;
    let greeted = greeted["protocolVersion"].as_str().ok_or("it names no protocol version")?.to_owned();
    connection.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
    let (mut tools, mut params) = (0, json!({}));
    for _page in 0..MAX_PAGES {
        let page = connection.request("tools/list", &params)?;
        tools += page["tools"].as_array().ok_or("it lists no tools")?.len();
        match page["nextCursor"].as_str() {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => return Ok(ProbeReport { greeted, discovered, tools, millis: clock.micros() / 1000 }),
        }
    }
    Err(format!("it has more than {MAX_PAGES} pages of tools"))
}

/// Versions are dates, so the newest is the last in order.
fn newest(known: &Value) -> Option<String> {
    let versions = known["supportedVersions"].as_array()?.iter().filter_map(Value::as_str);
    versions.filter(|version| *version >= STATELESS_PROTOCOL).max().map(str::to_owned)
}

/// A connection to a server process.
struct ProbeConnection {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Result<String, String>>,
    stderr_text: Receiver<String>,
    limit: Duration,
    requests: u64,
}

impl ProbeConnection {
    #[allow(clippy::disallowed_methods, reason = "the user asked to have it started, as their client would")]
    fn start(started: &ProbeCommand<'_>, limit: Duration) -> std::io::Result<ProbeConnection> {
        let env = started.env.iter().filter_map(|(name, value)| Some((name, value.as_str()?)));
        let mut child = Command::new(started.program)
            .args(&started.args)
            .envs(env)
            .current_dir(started.folder)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (line_sender, lines) = mpsc::sync_channel(1);
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || {
                let mut output = BufReader::new(output);
                while let Some(line) = next_line(&mut output) {
                    let over = line.is_err();
                    if line_sender.send(line).is_err() || over {
                        break;
                    }
                }
            });
        }
        let (stderr_sender, stderr_text) = mpsc::channel();
        if let Some(mut errors) = child.stderr.take() {
            std::thread::spawn(move || {
                let mut output = Vec::new();
                let _unread = errors.by_ref().take(STDERR_BYTES).read_to_end(&mut output);
                let _gone = stderr_sender.send(String::from_utf8_lossy(&output).into_owned());
                // Drained, so that the server does not block on a full pipe.
                let _rest = std::io::copy(&mut errors, &mut std::io::sink());
            });
        }
        let input = child.stdin.take();
        Ok(ProbeConnection { child, input, lines, stderr_text, limit, requests: 0 })
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        let line = format!("{message}\n");
        let sent =
            self.input.as_mut().map(|input| input.write_all(line.as_bytes()).and_then(|()| input.flush()));
        match sent {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) | None => Err(self.end_reason()),
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        let refused = |error| format!("it answers `{method}` with an error: {error}");
        self.response(method, params)?.map_err(refused)
    }

    /// Returns the answer, a result or an error. Returns the reason if none came.
    fn response(&mut self, method: &str, params: &Value) -> Result<Result<Value, String>, String> {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        for _aside in 0..MAX_OTHER_LINES {
            let line = match self.lines.recv_timeout(self.limit) {
                Ok(line) => line?,
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!(
                        "it does not answer `{method}` within {} seconds",
                        self.limit.as_secs()
                    ));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.end_reason()),
            };
            let mut message: Value = serde_json::from_str(&line)
                .map_err(|_bad| "it prints something to standard output that is not MCP".to_owned())?;
            if message["id"] != json!(id) || message.get("method").is_some() {
                continue;
            }
            if let Some(error) = message["error"]["message"].as_str() {
                return Ok(Err(error.to_owned()));
            }
            return Ok(Ok(message["result"].take()));
        }
        Err(format!("it says much and does not answer `{method}`"))
    }

    /// Returns why no further answer comes.
    fn end_reason(&mut self) -> String {
        // When the process ends, the pipe closes and its whole output is there.
        let text = self.stderr_text.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
        let how = self.exit_status().map(|status| format!(" ({status})")).unwrap_or_default();
        match text.trim().lines().last() {
            Some(line) => format!("it ended{how}: {line}"),
            None => format!("it ended{how} without an answer"),
        }
    }
}

impl ProbeConnection {
    /// Returns the exit status. A process closes its pipes a moment before it is gone.
    fn exit_status(&mut self) -> Option<ExitStatus> {
        for _moment in 0..100 {
            if let Some(status) = self.child.try_wait().ok()? {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }
}

impl Drop for ProbeConnection {
    /// Closes the server's input, which ends it. Kills it with all its processes if it does not end.
    fn drop(&mut self) {
        drop(self.input.take());
        let mut left = (0..MAX_OTHER_LINES).map(|_line| self.lines.recv_timeout(Duration::from_secs(2)));
        let ended = left.find(Result::is_err);
        if ended != Some(Err(RecvTimeoutError::Disconnected))
            && let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
        {
            let _gone = kill_process_group(group, Signal::KILL);
        }
        let _gone = self.child.kill();
        let _collected = self.child.wait();
    }
}

/// Returns the next line; `None` at the end.
fn next_line(output: &mut BufReader<impl Read>) -> Option<Result<String, String>> {
    let mut line = Vec::new();
    match output.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) if line.len() as u64 == MAX_LINE_BYTES => {
            Some(Err("it answers with more than fits".to_owned()))
        }
        Ok(_) => Some(
            String::from_utf8(line).map_err(|_bad| "it answers with something that is not text".to_owned()),
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use expect_test::{Expect, expect};
    use serde_json::Map;

    use super::{ANSWER_LIMIT, ProbeCommand, ProbeReport, probe_server};

    /// Probes a server that is this shell script.
    #[track_caller]
    fn check(script: &str, limit: Duration, expect: Expect) {
        let env = Map::new();
        let started = ProbeCommand {
            program: Path::new("/bin/sh"),
            args: vec!["-c", script],
            env: &env,
            folder: Path::new("/"),
        };
        let text = match probe_server(&started, limit) {
            Ok(ProbeReport { greeted, discovered, tools, .. }) => {
                format!("{tools} tools, {greeted}, {discovered:?}")
            }
            Err(why) => why,
        };
        expect.assert_eq(&text);
    }

    /// The reply of a server that does not know `server/discover`.
    const OLD: &str = r#"read l; echo '{"id":1,"error":{"code":-32601,"message":"what?"}}';"#;

    const GREETING: &str = r#"read l; echo '{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}'; read l;"#;

    #[test]
    fn tools_are_counted_over_all_pages() {
        let script = format!(
            r#"{OLD} {GREETING} echo '{{"jsonrpc":"2.0","method":"notifications/message"}}'
            read l; echo '{{"id":3,"result":{{"tools":[{{}},{{}}],"nextCursor":"n"}}}}'
            read l; case "$l" in *'"cursor":"n"'*) echo '{{"id":4,"result":{{"tools":[{{}}]}}}}';; esac; cat"#
        );
        check(&script, ANSWER_LIMIT, expect!["3 tools, 2025-06-18, None"]);
    }

    #[test]
    fn what_it_speaks_without_a_greeting_is_told() {
        let knows = |versions: &str, expect: Expect| {
            let script = format!(
                r#"read l; case "$l" in *'"server/discover"'*) echo '{{"id":1,"result":{{"supportedVersions":{versions}}}}}';; esac
                {GREETING} read l; echo '{{"id":3,"result":{{"tools":[]}}}}'; cat"#
            );
            check(&script, ANSWER_LIMIT, expect);
        };
        let new = expect![[r#"0 tools, 2025-06-18, Some("2026-07-28")"#]];
        knows(r#"["2025-11-25", "2026-07-28", "2025-06-18"]"#, new);
        knows(r#"["2025-11-25"]"#, expect!["0 tools, 2025-06-18, None"]);
        knows("7", expect!["0 tools, 2025-06-18, None"]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let fails = |script: &str, expect: Expect| check(script, ANSWER_LIMIT, expect);
        fails("echo 'no such vault' >&2; exit 3", expect!["it ended (exit status: 3): no such vault"]);
        fails("echo Starting...; cat", expect!["it prints something to standard output that is not MCP"]);
        fails(
            &format!(r#"{OLD} read l; echo '{{"id":2,"error":{{"code":-1,"message":"no"}}}}'; cat"#),
            expect!["it answers `initialize` with an error: no"],
        );
        fails(
            &format!(r#"{OLD} read l; echo '{{"id":2,"result":{{}}}}'; cat"#),
            expect!["it names no protocol version"],
        );
        fails(
            &format!(r#"{OLD} {GREETING} read l; echo '{{"id":3,"result":{{}}}}'; cat"#),
            expect!["it lists no tools"],
        );
    }

    #[test]
    fn a_server_that_never_answers_is_not_waited_for() {
        let silent = expect!["it does not answer `server/discover` within 0 seconds"];
        check("cat > /dev/null", Duration::ZERO, silent);
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let env = Map::new();
        let started = ProbeCommand {
            program: Path::new("/nowhere/tollgate"),
            args: vec![],
            env: &env,
            folder: Path::new("/"),
        };
        let why = probe_server(&started, ANSWER_LIMIT).unwrap_err();
        assert_eq!(why, "it cannot be started: No such file or directory (os error 2)");
    }
}
