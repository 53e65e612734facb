//! Checks the clients that use this vault over MCP: their settings, and whether the server answers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use serde_json::Map;

use super::start_policy::DoctorContext;
use super::{HealthFinding, HealthLevel};
use crate::connect::{
    ANSWER_LIMIT, ClientEntry, ConfigFolders, ConfigScope, ProbeCommand, STATE_VARIABLE, UnreadableConfig,
    find_client_entries, probe_server,
};
use app::display_text::{count, display_path};
use app::shell_quoting::quote_for_shell;
use app::vault_context::VaultContext;

/// Time limit to reach a server on this machine.
const REACH_LIMIT: Duration = Duration::from_secs(2);

/// Reports the clients that are set up for this vault. With `probe`, each server that is this program is started, and
/// each HTTP server on this machine is called, as the client would.
pub(super) fn check_connections(context: &VaultContext, probe: bool) -> Vec<HealthFinding> {
    let Some(homes) = ConfigFolders::from_environment() else { return Vec::new() };
    let here = std::env::current_dir().unwrap_or_else(|_gone| context.vault.clone());
    let state = std::env::var_os(STATE_VARIABLE);
    let start = DoctorContext {
        program: std::env::current_exe().ok().and_then(|program| program.canonicalize().ok()),
        vault: &context.vault,
        folder: &here,
        state: state.as_deref(),
    };
    let mut findings = Vec::new();
    for found in find_client_entries(&homes, &[&here, &context.vault]) {
        match found {
            Ok(found) => findings.extend(check_entry(&found, context, probe.then_some(&start))),
            Err(unread) => findings.push(unreadable(&unread)),
        }
    }
    if probe && findings.is_empty() {
        let fix =
            format!("tollgate connect CLIENT {} (claude-code, codex, cursor ...)", context.vault_arguments());
        findings.push(
            HealthFinding::new(HealthLevel::Warn, SUBJECT, "no client is set up for this vault").fix(fix),
        );
    }
    findings
}

const SUBJECT: &str = "clients";

fn unreadable(unread: &UnreadableConfig) -> HealthFinding {
    let message =
        format!("{}: {} cannot be read: {}", unread.client.title(), display_path(&unread.file), unread.why);
    HealthFinding::new(HealthLevel::Warn, SUBJECT, message)
}

fn check_entry(
    found: &ClientEntry,
    context: &VaultContext,
    probe: Option<&DoctorContext<'_>>,
) -> Vec<HealthFinding> {
    let words = format!("{} ({}): `{}`", found.client.title(), display_path(&found.file), found.name);
    if let Some(url) = found.url() {
        let finding = HealthFinding::ok(SUBJECT, format!("{words} calls {url}"));
        return if probe.is_some() {
            vec![finding, check_http_server(&words, url, context)]
        } else {
            vec![finding]
        };
    }
    match found.vault() {
        Some(vault) => match Path::new(vault).canonicalize() {
            Ok(vault) if vault == context.vault => {}
            // The entry is for another vault.
            Ok(_) => return Vec::new(),
            Err(_) => {
                let message = format!("{words} names a vault that is not there: {vault}");
                return vec![
                    HealthFinding::new(HealthLevel::Warn, SUBJECT, message)
                        .fix(reconnect_command(found, context)),
                ];
            }
        },
        None => {
            let message = format!("{words} names no vault, and takes the one that it is started in");
            return vec![
                HealthFinding::new(HealthLevel::Warn, SUBJECT, message)
                    .fix(reconnect_command(found, context)),
            ];
        }
    }
    let mut findings = vec![check_program(found, context, &words)];
    if let Some(here) = probe
        && findings.iter().all(|finding| finding.health != HealthLevel::Fail)
    {
        findings.push(probe_entry(found, context, here, &words));
    }
    findings
}

fn check_program(found: &ClientEntry, context: &VaultContext, words: &str) -> HealthFinding {
    let named = found.entry["command"].as_str().unwrap_or_default();
    let real = |path: &Path| path.canonicalize().ok();
    let this = std::env::current_exe().ok().as_deref().and_then(real);
    match real(Path::new(named)) {
        None if Path::new(named).is_absolute() => HealthFinding::new(
            HealthLevel::Fail,
            SUBJECT,
            format!("{words} starts a program that is not there: {named}"),
        )
        .fix(reconnect_command(found, context)),
        other if other.is_some() && other == this => {
            HealthFinding::ok(SUBJECT, format!("{words} starts this program for this vault"))
        }
        _ => HealthFinding::new(
            HealthLevel::Warn,
            SUBJECT,
            format!("{words} starts another program than this: {named}"),
        )
        .fix(reconnect_command(found, context)),
    }
}

/// The command that writes the entry again.
fn reconnect_command(found: &ClientEntry, context: &VaultContext) -> String {
    let scope = match found.scope {
        ConfigScope::User => "",
        ConfigScope::Project => " --project",
    };
    let name = if found.name == "tollgate" { String::new() } else { format!(" --name {}", found.name) };
    format!("tollgate connect {}{scope}{name} {} --write", found.client, context.vault_arguments())
}

fn probe_entry(
    found: &ClientEntry,
    context: &VaultContext,
    here: &DoctorContext<'_>,
    words: &str,
) -> HealthFinding {
    let program = match here.program_for(found) {
        Ok(program) => program,
        Err(why) => {
            return HealthFinding::new(HealthLevel::Warn, SUBJECT, format!("{words} was not started: {why}"))
                .fix(format!("if you trust it, start it yourself: {}", shell_command(found)));
        }
    };
    let none = Map::new();
    let env = found.entry["env"].as_object().unwrap_or(&none);
    match probe_server(
        &ProbeCommand { program, args: found.args(), env, folder: &context.vault },
        ANSWER_LIMIT,
    ) {
        Ok(answered) => {
            let tools = count(answered.tools as u64, "tool");
            let (millis, greeted) = (answered.millis, answered.greeted);
            let alone = answered.discovered.map(|version| format!(", and {version} without a greeting"));
            let protocols = format!("protocol {greeted}{}", alone.unwrap_or_default());
            HealthFinding::ok(SUBJECT, format!("{words} answers: {tools} in {millis} ms, {protocols}"))
        }
        Err(why) => HealthFinding::new(HealthLevel::Fail, SUBJECT, format!("{words} does not work: {why}"))
            .fix(format!("see what it says: {}", shell_command(found))),
    }
}

/// The command of an entry, quoted for a shell.
fn shell_command(found: &ClientEntry) -> String {
    let word = |word: &str| quote_for_shell(Path::new(word));
    let env = found.entry["env"].as_object().into_iter().flatten();
    let set = env.filter_map(|(name, value)| Some(format!("{}={}", word(name), word(value.as_str()?))));
    let words = found.entry["command"].as_str().into_iter().chain(found.args());
    set.chain(words.map(word)).collect::<Vec<_>>().join(" ")
}

/// Reports whether the HTTP server runs. No token is sent: this path needs none.
fn check_http_server(words: &str, url: &str, context: &VaultContext) -> HealthFinding {
    match server_answers(url) {
        Some(true) => HealthFinding::ok(SUBJECT, format!("{words}: the server there answers")),
        Some(false) => {
            HealthFinding::new(HealthLevel::Fail, SUBJECT, format!("{words}: no Tollgate answers at {url}"))
                .fix(format!("start it: tollgate serve {}", context.vault_arguments()))
        }
        None => HealthFinding::new(
            HealthLevel::Warn,
            SUBJECT,
            format!("{words}: {url} is not on this machine, and was not tried"),
        ),
    }
}

/// Returns whether the server answers; `None` if the address is not a plain HTTP address on this machine.
fn server_answers(url: &str) -> Option<bool> {
    let host = url.strip_prefix("http://")?.split('/').next()?;
    let address: SocketAddr = host.replace("localhost", "127.0.0.1").parse().ok()?;
    if !address.ip().is_loopback() {
        return None;
    }
    let asked = || -> std::io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect_timeout(&address, REACH_LIMIT)?;
        stream.set_read_timeout(Some(REACH_LIMIT))?;
        stream.write_all(
            format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes(),
        )?;
        let mut answer = vec![0; 12];
        stream.read_exact(&mut answer)?;
        Ok(answer)
    };
    Some(asked().is_ok_and(|answer| answer == b"HTTP/1.1 200"))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::server_answers;

    /// Starts a server that gives this answer once, and returns its address.
    fn server(answer: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let asked = stream.read(&mut [0; 1024]).unwrap();
            assert!(asked > 0);
            stream.write_all(answer.as_bytes()).unwrap();
        });
        format!("http://localhost:{port}/mcp")
    }

    #[test]
    fn a_server_on_this_machine_is_asked_and_no_other() {
        assert_eq!(server_answers(&server("HTTP/1.1 200 OK\r\n\r\nok")), Some(true));
        assert_eq!(server_answers(&server("HTTP/1.1 404 Not Found\r\n\r\n")), Some(false));
        assert_eq!(server_answers(&server("")), Some(false));
        assert_eq!(server_answers("http://192.0.2.1:8787/mcp"), None);
        assert_eq!(server_answers("https://127.0.0.1:8787/mcp"), None);
        assert_eq!(server_answers("nonsense"), None);
    }
}
