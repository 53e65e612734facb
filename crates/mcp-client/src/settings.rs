//! One `[servers.NAME]` table of the settings.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::num::NonZeroU64;
use std::path::PathBuf;

use envelope::{Hash, canonical_hash};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Longest name of a server: it is part of the names of its tools.
const MAX_NAME: usize = 32;
/// The same limit as for any tool that runs commands.
const MAX_TIMEOUT_MS: u64 = 24 * 60 * 60 * 1_000;
const MAX_OUTPUT: u64 = 64 << 20;

/// Settings of one server: how it is reached and what it may access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerSettings {
    /// Program and arguments, for a server that is started as a process.
    pub command: Option<Vec<String>>,
    /// Address, for a remote server.
    pub url: Option<String>,
    /// Environment variables of the program: `NAME` is passed on, `NAME=value` is set.
    pub env: Vec<String>,
    /// Name of the environment variable with the bearer token for the url.
    pub token_env: Option<String>,
    pub timeout_ms: NonZeroU64,
    pub network: bool,
    /// Folders outside of the vault that the program may read.
    pub readable: Vec<PathBuf>,
    /// Folders outside of the vault that the program may change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<PathBuf>,
    /// Whether its annotations (read-only, idempotent) are trusted.
    pub trust_hints: bool,
    /// Largest result of a call, in bytes.
    pub max_output_bytes: NonZeroU64,
}

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerAddress<'a> {
    Command(&'a [String]),
    Url(&'a str),
}

impl Default for ServerSettings {
    fn default() -> ServerSettings {
        ServerSettings {
            command: None,
            url: None,
            env: Vec::new(),
            token_env: None,
            timeout_ms: NonZeroU64::MIN.saturating_add(60_000 - 1),
            network: false,
            readable: Vec::new(),
            writable: Vec::new(),
            trust_hints: false,
            max_output_bytes: NonZeroU64::MIN.saturating_add((4 << 20) - 1),
        }
    }
}

impl ServerSettings {
    /// Returns an error, on one line, if the settings cannot be used.
    pub fn check(&self, name: &str) -> Result<(), String> {
        let is_word = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        };
        if name.len() > MAX_NAME || !is_word(name) {
            return Err(format!(
                "`servers.{name}` is not a valid server name: start with a letter, then use letters, digits, `_` or `-`, at most {MAX_NAME}"
            ));
        }
        let bad = |key: &str, why: &str| Err(format!("`servers.{name}.{key}` {why}"));
        let is_set_twice = |(index, entry): (usize, &String)| {
            self.env[..index].iter().any(|earlier| variable_name(earlier) == variable_name(entry))
        };
        if let Some(entry) =
            self.env.iter().find(|entry| variable_name(entry).is_empty() || entry.contains('\0'))
        {
            return bad("env", &format!("cannot have `{entry}`: write `NAME` or `NAME=value`"));
        }
        if let Some((_, entry)) = self.env.iter().enumerate().find(|entry| is_set_twice(*entry)) {
            return bad("env", &format!("has `{}` twice", variable_name(entry)));
        }
        if let Some(name) = self.token_env.iter().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
            return bad("token_env", &format!("cannot be `{name}`: it is not a variable name"));
        }
        if let Some(folder) = self.writable.iter().find(|folder| folder.parent().is_none()) {
            return bad("writable", &format!("cannot have `{}`: that is the whole system", folder.display()));
        }
        if self.timeout_ms.get() > MAX_TIMEOUT_MS {
            return bad("timeout_ms", &format!("cannot be more than {MAX_TIMEOUT_MS}"));
        }
        if self.max_output_bytes.get() > MAX_OUTPUT {
            return bad("max_output_bytes", &format!("cannot be more than {MAX_OUTPUT}"));
        }
        match (&self.command, &self.url) {
            (Some(command), None) if command.first().is_none_or(String::is_empty) => {
                bad("command", "is empty: name a program")
            }
            (Some(_), None) if self.token_env.is_some() => bad("token_env", "is for a server with `url`"),
            (Some(_), None) => Ok(()),
            (None, Some(url)) => self.check_url(name, url),
            (Some(_), Some(_)) => Err(format!("`servers.{name}` has `command` and `url`; give one of them")),
            (None, None) => {
                Err(format!("`servers.{name}` has neither `command` nor `url`; give one of them"))
            }
        }
    }

    fn check_url(&self, name: &str, url: &str) -> Result<(), String> {
        let uri: Option<http::Uri> = url.parse().ok();
        let is_http = uri.as_ref().is_some_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.authority().is_some_and(|authority| !authority.as_str().contains('@'))
        });
        if !is_http {
            return Err(format!(
                "`servers.{name}.url` cannot be `{url}`: write it like `https://example.org/mcp`, with a token in `token_env`"
            ));
        }
        if self.token_env.is_some() && is_unencrypted(url) {
            return Err(format!(
                "`servers.{name}.url` cannot be `{url}` with a `token_env`: the token could be read on the network; write `https://`, or an address of this machine such as `http://127.0.0.1:8080/mcp`"
            ));
        }
        if !self.env.is_empty() || self.network || !self.readable.is_empty() || !self.writable.is_empty() {
            return Err(format!(
                "`servers.{name}` has a `url`: `env`, `network`, `readable` and `writable` are for a `command`"
            ));
        }
        Ok(())
    }

    /// Returns the variables that are set for the program. `value_of` returns the value of a variable of the user; one
    /// that has none is not set.
    pub fn variables(&self, value_of: impl Fn(&str) -> Option<String>) -> BTreeMap<String, String> {
        let variable = |entry: &String| match entry.split_once('=') {
            Some((name, value)) => Some((name.to_owned(), value.to_owned())),
            None => Some((entry.clone(), value_of(entry)?)),
        };
        self.env.iter().filter_map(variable).collect()
    }

    pub fn address(&self) -> Option<ServerAddress<'_>> {
        match (&self.command, &self.url) {
            (Some(command), _) => Some(ServerAddress::Command(command)),
            (None, Some(url)) => Some(ServerAddress::Url(url)),
            (None, None) => None,
        }
    }

    /// Hash of the settings that identify the server: an approval of one server does not apply to another.
    pub fn identity(&self) -> Hash {
        let mut identity = json!({
            "command": self.command, "url": self.url, "env": self.env, "tokenEnv": self.token_env,
            "network": self.network, "readable": self.readable,
        });
        // Absent if empty, so that approvals of earlier versions stay valid.
        if !self.writable.is_empty() {
            identity["writable"] = json!(self.writable);
        }
        canonical_hash(&identity)
    }

    /// Describes what trusting the vault permits this server, on one line.
    pub fn describe(&self, name: &str) -> String {
        let mut text = match self.address() {
            Some(ServerAddress::Command(command)) => {
                format!("server {name} runs {} in the sandbox of commands", json!(command))
            }
            Some(ServerAddress::Url(url)) if is_unencrypted(url) => format!(
                "server {name} receives the arguments of its tools: {url}, over unencrypted http, which can be read and changed on the network"
            ),
            Some(ServerAddress::Url(url)) => {
                format!("server {name} receives the arguments of its tools: {url}")
            }
            None => format!("server {name} has no address"),
        };
        if self.network {
            text.push_str(", has network access");
        }
        for (what, folders) in [("reads", &self.readable), ("changes files in", &self.writable)] {
            if !folders.is_empty() {
                let folders: Vec<String> = folders.iter().map(|path| path.display().to_string()).collect();
                text.push_str(&format!(", {what} {}", folders.join(", ")));
            }
        }
        let variables: Vec<&str> = self.env.iter().chain(&self.token_env).map(String::as_str).collect();
        if !variables.is_empty() {
            text.push_str(&format!(", receives {}", variables.join(", ")));
        }
        if self.trust_hints {
            text.push_str(", and its read-only hints are trusted");
        }
        text
    }
}

/// Returns the name in an entry of `env`.
fn variable_name(entry: &str) -> &str {
    entry.split_once('=').map_or(entry, |(name, _)| name)
}

/// Returns true if data sent to the url leaves this machine unencrypted.
fn is_unencrypted(url: &str) -> bool {
    let Ok(uri) = url.parse::<http::Uri>() else { return false };
    let host = uri.host().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let is_here = host.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    uri.scheme_str() == Some("http") && !is_here
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::ServerSettings;

    fn at(url: &str, token_env: Option<&str>) -> ServerSettings {
        let token_env = token_env.map(str::to_owned);
        ServerSettings { url: Some(url.to_owned()), token_env, ..ServerSettings::default() }
    }

    #[test]
    fn a_token_is_sent_encrypted_or_not_beyond_this_machine() {
        for url in [
            "https://example.org/mcp",
            "http://127.0.0.1:1/",
            "http://127.8.9.1/",
            "http://[::1]:1/x",
            "http://LocalHost/",
        ] {
            assert_eq!(at(url, Some("TOKEN")).check("web"), Ok(()), "{url}");
        }
        for url in [
            "http://example.org/mcp",
            "HTTP://example.org/",
            "http://192.168.0.2/",
            "http://[::2]/",
            "http://localhost.example.org/",
            "http://127.0.0.1.example.org/",
            "http://0.0.0.0/",
        ] {
            let refused = at(url, Some("TOKEN")).check("web").unwrap_err();
            assert!(refused.contains("the token could be read on the network"), "{refused}");
            assert_eq!(at(url, None).check("web"), Ok(()), "{url}");
        }
    }

    fn program(env: &[&str]) -> ServerSettings {
        let env = env.iter().map(|entry| (*entry).to_owned()).collect();
        ServerSettings { command: Some(vec!["x".to_owned()]), env, ..ServerSettings::default() }
    }

    #[test]
    fn a_variable_is_passed_on_or_set() {
        let settings = program(&["HOST", "GONE", "MODE=fast=yes", "EMPTY="]);
        assert_eq!(settings.check("fs"), Ok(()));
        let variables = settings.variables(|name| (name == "HOST").then(|| "h".to_owned()));
        let variables: Vec<String> =
            variables.iter().map(|(name, value)| format!("{name}:{value}")).collect();
        assert_eq!(variables, ["EMPTY:", "HOST:h", "MODE:fast=yes"]);
        expect![[
            r#"server fs runs ["x"] in the sandbox of commands, receives HOST, GONE, MODE=fast=yes, EMPTY="#
        ]]
        .assert_eq(&settings.describe("fs"));
        for (env, expected) in [
            (&["=x"][..], "`servers.fs.env` cannot have `=x`: write `NAME` or `NAME=value`"),
            (&[""], "`servers.fs.env` cannot have ``: write `NAME` or `NAME=value`"),
            (&["A", "A=1"], "`servers.fs.env` has `A` twice"),
        ] {
            assert_eq!(program(env).check("fs").unwrap_err(), expected);
        }
    }

    #[test]
    fn what_a_server_may_change_is_part_of_its_identity_and_of_what_is_trusted() {
        let before = program(&[]);
        let after = ServerSettings { writable: vec!["/var/lib/fs".into()], ..before.clone() };
        assert_ne!(before.identity(), after.identity());
        expect![[r#"server fs runs ["x"] in the sandbox of commands, changes files in /var/lib/fs"#]]
            .assert_eq(&after.describe("fs"));
        let whole = ServerSettings { writable: vec!["/".into()], ..before };
        assert!(whole.check("fs").unwrap_err().contains("the whole system"));
        let remote = ServerSettings { writable: vec!["/x".into()], ..at("https://example.org/", None) };
        assert!(remote.check("web").unwrap_err().contains("`writable`"));
    }

    #[test]
    fn who_trusts_a_vault_is_told_of_plain_http() {
        expect!["server web receives the arguments of its tools: http://example.org/mcp, over unencrypted http, which can be read and changed on the network"]
            .assert_eq(&at("http://example.org/mcp", None).describe("web"));
        expect!["server web receives the arguments of its tools: https://example.org/mcp, receives TOKEN"]
            .assert_eq(&at("https://example.org/mcp", Some("TOKEN")).describe("web"));
        expect!["server web receives the arguments of its tools: http://localhost:8080/mcp"]
            .assert_eq(&at("http://localhost:8080/mcp", None).describe("web"));
    }
}
