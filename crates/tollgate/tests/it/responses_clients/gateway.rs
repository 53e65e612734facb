//! `tollgate serve` in a temporary folder, for as long as a test needs it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::responses_clients::client::{codex, interpreter, scripts};

/// How calls reach the model behind an app-server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallMode {
    AsText,
    Native,
}

pub(crate) struct TestGateway {
    serve: Child,
    /// What it said when it was ready.
    ready: Value,
    token: String,
    model: &'static str,
    dir: tempfile::TempDir,
    /// The service behind its model, if it has one.
    provider: Option<Child>,
}

impl TestGateway {
    /// In front of a model that plays a script of `tests/clients`.
    pub(crate) fn scripted(script: &str) -> TestGateway {
        let dir = folder();
        let backend = format!("scripted:{}", scripts().join(script).display());
        let serve = serve(dir.path(), &["--backend", &backend]);
        TestGateway::ready(serve, "scripted", dir, None)
    }

    /// In front of the real codex app-server, whose model is a service of ours.
    pub(crate) fn app_server(calls: CallMode) -> TestGateway {
        let dir = folder();
        let (provider, provider_url) = provider(dir.path());
        let home = dir.path().join("codex-home");
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(home.join("config.toml"), codex_config(&provider_url)).unwrap();
        let way = match calls {
            CallMode::AsText => "text",
            CallMode::Native => "native",
        };
        let backend = format!("codex:{}", codex().display());
        let mut serve = serve(dir.path(), &["--backend", &backend, "--calls", way]);
        serve.env("CODEX_HOME", home);
        TestGateway::ready(serve, "fake-model", dir, Some(provider))
    }

    fn ready(
        mut serve: Command,
        model: &'static str,
        dir: tempfile::TempDir,
        provider: Option<Child>,
    ) -> TestGateway {
        let mut serve = serve.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(serve.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let token = std::fs::read_to_string(ready["tokenFile"].as_str().unwrap()).unwrap().trim().to_owned();
        TestGateway { serve, ready, token, model, dir, provider }
    }

    /// Where clients are pointed to.
    pub(crate) fn base_url(&self) -> String {
        format!("{}/v1", self.ready["url"].as_str().unwrap())
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    pub(crate) fn model(&self) -> &str {
        self.model
    }

    /// What the app-server sent to the service behind it.
    pub(crate) fn asked_of_the_model(&self) -> Vec<Value> {
        let lines = std::fs::read_to_string(self.dir.path().join("requests.jsonl")).unwrap();
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Its output for people.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap()
    }

    /// A folder of this test alone.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    }
}

impl Drop for TestGateway {
    fn drop(&mut self) {
        let pid = Pid::from_child(&self.serve);
        kill_process(pid, Signal::TERM).unwrap();
        self.serve.wait().unwrap();
        if let Some(provider) = &mut self.provider {
            // It ends with the pipe that it reads.
            drop(provider.stdin.take());
            provider.wait().unwrap();
        }
    }
}

/// A temporary folder that is not below `/tmp`, where codex does not do all that it does elsewhere.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn serve(dir: &Path, args: &[&str]) -> Command {
    let vault = dir.join("vault");
    std::fs::create_dir_all(vault.join(".obsidian")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command
        .args(["serve", "--json", "--port", "0", "--vault", vault.to_str().unwrap()])
        .args(args)
        .env("HOME", dir.join("home"))
        .env("XDG_STATE_HOME", dir.join("state-home"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(dir.join("log")).unwrap());
    command
}

/// Starts the service behind the app-server; gives its address.
fn provider(dir: &Path) -> (Child, String) {
    let mut provider = interpreter("fake_provider.py")
        .env("REQUESTS", dir.join("requests.jsonl"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(provider.stdout.take().unwrap()).read_line(&mut url).unwrap();
    (provider, url.trim().to_owned())
}

fn codex_config(provider_url: &str) -> String {
    format!(
        r#"
model = "fake-model"
model_provider = "fake"

[model_providers.fake]
name = "fake"
base_url = "{provider_url}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"#
    )
}
