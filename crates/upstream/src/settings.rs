//! One `[servers.NAME]` of the settings, and what it asks for.

use std::net::IpAddr;
use std::num::NonZeroU64;
use std::path::PathBuf;

use envelope::{Hash, canonical_hash};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The longest name of a server: it is part of the names of its tools.
const MAX_NAME: usize = 32;
/// As for any tool that runs commands.
const MAX_TIMEOUT_MS: u64 = 24 * 60 * 60 * 1_000;
const MAX_OUTPUT: u64 = 64 << 20;

/// How a server is reached and how far it reaches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerSettings {
    /// The program and its arguments, for one that is started here.
    pub command: Option<Vec<String>>,
    /// Where it listens, for one that runs elsewhere.
    pub url: Option<String>,
    /// Names of variables that are handed on to the program.
    pub env: Vec<String>,
    /// The variable that holds the bearer token for the url.
    pub token_env: Option<String>,
    pub timeout_ms: NonZeroU64,
    pub network: bool,
    /// Folders outside of the vault that the program may read.
    pub readable: Vec<PathBuf>,
    /// Whether what it says about its tools (read-only, idempotent) is believed.
    pub trust_hints: bool,
    /// The largest result of a call.
    pub max_output_bytes: NonZeroU64,
}

/// Where a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address<'a> {
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
            trust_hints: false,
            max_output_bytes: NonZeroU64::MIN.saturating_add((4 << 20) - 1),
        }
    }
}

impl ServerSettings {
    /// Everything that keeps the entry from being used, one line.
    pub fn check(&self, name: &str) -> Result<(), String> {
        let is_word = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        };
        if name.len() > MAX_NAME || !is_word(name) {
            return Err(format!(
                "`servers.{name}` is no name for a server: start with a letter, then use letters, digits, `_` or `-`, at most {MAX_NAME}"
            ));
        }
        let bad = |key: &str, why: &str| Err(format!("`servers.{name}.{key}` {why}"));
        let not_a_variable = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
        if let Some(variable) = self.env.iter().chain(&self.token_env).find(not_a_variable) {
            return bad("env", &format!("cannot have `{variable}`: it is no name of a variable"));
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
        if self.token_env.is_some() && is_in_the_open(url) {
            return Err(format!(
                "`servers.{name}.url` cannot be `{url}` with a `token_env`: everybody on the way could read the token; write `https://`, or an address of this machine such as `http://127.0.0.1:8080/mcp`"
            ));
        }
        if !self.env.is_empty() || self.network || !self.readable.is_empty() {
            return Err(format!(
                "`servers.{name}` has a `url`: `env`, `network` and `readable` are for a `command`"
            ));
        }
        Ok(())
    }

    pub fn address(&self) -> Option<Address<'_>> {
        match (&self.command, &self.url) {
            (Some(command), _) => Some(Address::Command(command)),
            (None, Some(url)) => Some(Address::Url(url)),
            (None, None) => None,
        }
    }

    /// What makes it this server and no other: what was approved of one is not approved of another.
    pub fn identity(&self) -> Hash {
        canonical_hash(&json!({
            "command": self.command, "url": self.url, "env": self.env, "tokenEnv": self.token_env,
            "network": self.network, "readable": self.readable,
        }))
    }

    /// What a person lets happen who trusts the vault, one line.
    pub fn in_words(&self, name: &str) -> String {
        let mut said = match self.address() {
            Some(Address::Command(command)) => {
                format!("server {name} runs {} in the sandbox of commands", json!(command))
            }
            Some(Address::Url(url)) if is_in_the_open(url) => format!(
                "server {name} is sent what its tools are called with: {url}, over plain http, which everybody on the way can read and change"
            ),
            Some(Address::Url(url)) => format!("server {name} is sent what its tools are called with: {url}"),
            None => format!("server {name} is nowhere"),
        };
        if self.network {
            said.push_str(", reaches the network");
        }
        if !self.readable.is_empty() {
            let folders: Vec<String> = self.readable.iter().map(|path| path.display().to_string()).collect();
            said.push_str(&format!(", reads {}", folders.join(", ")));
        }
        let variables: Vec<&str> = self.env.iter().chain(&self.token_env).map(String::as_str).collect();
        if !variables.is_empty() {
            said.push_str(&format!(", gets {}", variables.join(", ")));
        }
        if self.trust_hints {
            said.push_str(", and is believed when it calls a tool read-only");
        }
        said
    }
}

/// Whether what is sent there leaves this machine as it is.
fn is_in_the_open(url: &str) -> bool {
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
            assert!(refused.contains("everybody on the way could read the token"), "{refused}");
            assert_eq!(at(url, None).check("web"), Ok(()), "{url}");
        }
    }

    #[test]
    fn who_trusts_a_vault_is_told_of_plain_http() {
        expect!["server web is sent what its tools are called with: http://example.org/mcp, over plain http, which everybody on the way can read and change"]
            .assert_eq(&at("http://example.org/mcp", None).in_words("web"));
        expect!["server web is sent what its tools are called with: https://example.org/mcp, gets TOKEN"]
            .assert_eq(&at("https://example.org/mcp", Some("TOKEN")).in_words("web"));
        expect!["server web is sent what its tools are called with: http://localhost:8080/mcp"]
            .assert_eq(&at("http://localhost:8080/mcp", None).in_words("web"));
    }
}
