//! The clients that use this vault over MCP: what their settings say, and whether it works.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use serde_json::Map;

use super::startable::Here;
use super::{Finding, Health};
use crate::connect::{ANSWER_LIMIT, Found, Homes, STATE_VARIABLE, Scope, Started, Unread, find, try_out};
use crate::place::Place;
use crate::quoting::quoted;
use crate::visible::{count, path_words};

/// How long a server on this machine may take to be reached.
const REACH_LIMIT: Duration = Duration::from_secs(2);

/// What clients are set up for this vault. With `trying`, each server that is this program is started, and each one on
/// this machine called, as the client would.
pub(super) fn connections(place: &Place, trying: bool) -> Vec<Finding> {
    let Some(homes) = Homes::of_person() else { return Vec::new() };
    let here = std::env::current_dir().unwrap_or_else(|_gone| place.vault.clone());
    let state = std::env::var_os(STATE_VARIABLE);
    let start = Here {
        program: std::env::current_exe().ok().and_then(|program| program.canonicalize().ok()),
        vault: &place.vault,
        folder: &here,
        state: state.as_deref(),
    };
    let mut findings = Vec::new();
    for found in find(&homes, &[&here, &place.vault]) {
        match found {
            Ok(found) => findings.extend(look(&found, place, trying.then_some(&start))),
            Err(unread) => findings.push(unreadable(&unread)),
        }
    }
    if trying && findings.is_empty() {
        let mend =
            format!("tollgate connect CLIENT {} (claude-code, codex, cursor ...)", place.vault_words());
        findings.push(Finding::new(Health::Warn, WHAT, "no client is set up for this vault").mend(mend));
    }
    findings
}

const WHAT: &str = "clients";

fn unreadable(unread: &Unread) -> Finding {
    let message =
        format!("{}: {} cannot be read: {}", unread.client.title(), path_words(&unread.file), unread.why);
    Finding::new(Health::Warn, WHAT, message)
}

fn look(found: &Found, place: &Place, trying: Option<&Here<'_>>) -> Vec<Finding> {
    let words = format!("{} ({}): `{}`", found.client.title(), path_words(&found.file), found.name);
    if let Some(url) = found.entry["url"].as_str() {
        let said = Finding::ok(WHAT, format!("{words} calls {url}"));
        return if trying.is_some() { vec![said, reached(&words, url, place)] } else { vec![said] };
    }
    match found.vault() {
        Some(vault) => match Path::new(vault).canonicalize() {
            Ok(vault) if vault == place.vault => {}
            // It is about another vault, and another `doctor` will see to it.
            Ok(_) => return Vec::new(),
            Err(_) => {
                let message = format!("{words} names a vault that is not there: {vault}");
                return vec![Finding::new(Health::Warn, WHAT, message).mend(again(found, place))];
            }
        },
        None => {
            let message = format!("{words} names no vault, and takes the one that it is started in");
            return vec![Finding::new(Health::Warn, WHAT, message).mend(again(found, place))];
        }
    }
    let mut findings = vec![program(found, place, &words)];
    if let Some(here) = trying
        && findings.iter().all(|finding| finding.health != Health::Fail)
    {
        findings.push(tried(found, place, here, &words));
    }
    findings
}

fn program(found: &Found, place: &Place, words: &str) -> Finding {
    let named = found.entry["command"].as_str().unwrap_or_default();
    let real = |path: &Path| path.canonicalize().ok();
    let this = std::env::current_exe().ok().as_deref().and_then(real);
    match real(Path::new(named)) {
        None if Path::new(named).is_absolute() => {
            Finding::new(Health::Fail, WHAT, format!("{words} starts a program that is not there: {named}"))
                .mend(again(found, place))
        }
        other if other.is_some() && other == this => {
            Finding::ok(WHAT, format!("{words} starts this program for this vault"))
        }
        _ => Finding::new(Health::Warn, WHAT, format!("{words} starts another program than this: {named}"))
            .mend(again(found, place)),
    }
}

/// The command that writes the entry anew.
fn again(found: &Found, place: &Place) -> String {
    let scope = match found.scope {
        Scope::User => "",
        Scope::Project => " --project",
    };
    let name = if found.name == "tollgate" { String::new() } else { format!(" --name {}", found.name) };
    format!("tollgate connect {}{scope}{name} {} --write", found.client, place.vault_words())
}

fn tried(found: &Found, place: &Place, here: &Here<'_>, words: &str) -> Finding {
    let program = match here.program_for(found) {
        Ok(program) => program,
        Err(why) => {
            return Finding::new(Health::Warn, WHAT, format!("{words} was not started: {why}"))
                .mend(format!("if you trust it, start it yourself: {}", by_hand(found)));
        }
    };
    let none = Map::new();
    let env = found.entry["env"].as_object().unwrap_or(&none);
    match try_out(&Started { program, args: found.args(), env, folder: &place.vault }, ANSWER_LIMIT) {
        Ok(answered) => {
            let tools = count(answered.tools as u64, "tool");
            let (millis, greeted) = (answered.millis, answered.greeted);
            let alone = answered.discovered.map(|version| format!(", and {version} without a greeting"));
            let protocols = format!("protocol {greeted}{}", alone.unwrap_or_default());
            Finding::ok(WHAT, format!("{words} answers: {tools} in {millis} ms, {protocols}"))
        }
        Err(why) => Finding::new(Health::Fail, WHAT, format!("{words} does not work: {why}"))
            .mend(format!("see what it says: {}", by_hand(found))),
    }
}

/// The command of an entry, as a person would type it.
fn by_hand(found: &Found) -> String {
    let word = |word: &str| quoted(Path::new(word));
    let env = found.entry["env"].as_object().into_iter().flatten();
    let set = env.filter_map(|(name, value)| Some(format!("{}={}", word(name), word(value.as_str()?))));
    let words = found.entry["command"].as_str().into_iter().chain(found.args());
    set.chain(words.map(word)).collect::<Vec<_>>().join(" ")
}

/// Whether the server runs. Its token stays where it is: this path wants none.
fn reached(words: &str, url: &str, place: &Place) -> Finding {
    match answers(url) {
        Some(true) => Finding::ok(WHAT, format!("{words}: the server there answers")),
        Some(false) => Finding::new(Health::Fail, WHAT, format!("{words}: no Tollgate answers at {url}"))
            .mend(format!("start it: tollgate serve {}", place.vault_words())),
        None => Finding::new(
            Health::Warn,
            WHAT,
            format!("{words}: {url} is not on this machine, and was not tried"),
        ),
    }
}

/// `None` for an address that is not one of this machine without encryption.
fn answers(url: &str) -> Option<bool> {
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

    use super::answers;

    /// The address of a server that gives this answer once.
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
        assert_eq!(answers(&server("HTTP/1.1 200 OK\r\n\r\nok")), Some(true));
        assert_eq!(answers(&server("HTTP/1.1 404 Not Found\r\n\r\n")), Some(false));
        assert_eq!(answers(&server("")), Some(false));
        assert_eq!(answers("http://192.0.2.1:8787/mcp"), None);
        assert_eq!(answers("https://127.0.0.1:8787/mcp"), None);
        assert_eq!(answers("nonsense"), None);
    }
}
