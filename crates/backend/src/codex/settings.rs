//! How the Codex app-server is started, how many of it run, and how long anything may take.
//!
//! Nothing here is read from the environment; the caller decides which variables the process sees.

use std::ffi::OsString;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

/// Everything that a [`Codex`](super::Codex) needs to know.
#[derive(Debug, Clone)]
pub struct CodexSettings {
    /// The program that is asked for `app-server`: `codex`, or a path.
    pub program: PathBuf,
    /// Arguments before `app-server`, for programs that are started through another one.
    pub arguments: Vec<String>,
    /// A folder of ours that exists. Threads live in it, so it is best empty; the patched list of models is
    /// kept in it.
    pub folder: PathBuf,
    /// Where codex keeps its login and settings; its own choice when left out.
    pub home: Option<PathBuf>,
    /// The whole environment of the process. [`CodexSettings::environment_of`] picks what it needs.
    pub environment: Vec<(OsString, OsString)>,
    /// The entry of codex's `model_providers` to use; codex's own choice when left out.
    pub provider: Option<String>,
    /// The model of every turn, whatever a client names.
    pub model: Option<String>,
    /// More settings of codex as `key`, TOML value. They come last and override the others.
    pub config: Vec<(String, String)>,
    pub tools: ToolMode,
    pub models: CodexModelList,
    pub pool: PoolSettings,
    pub limits: CodexTimeouts,
}

/// How a turn with tools reaches the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolMode {
    /// Native if the app-server takes tools, which is tried once, and if its models are plain ones; by text
    /// otherwise.
    Auto,
    Native,
    /// By text only: the app-server is given no tools.
    Sentinel,
}

/// Whether codex's own list of models is rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodexModelList {
    /// Rewritten so that a listed model is a plain one. As it is, most of them carry codex's own tools and
    /// reach others only through a script that the model must write.
    Plain,
    AsItIs,
}

#[derive(Debug, Clone)]
pub struct PoolSettings {
    /// Processes at most. They are started when they are needed.
    pub processes: NonZeroUsize,
    /// Another process is started when each has this many turns open; more wait.
    pub turns_per_process: NonZeroUsize,
    /// A process is replaced after so many threads: it cannot forget one.
    pub threads_per_process: NonZeroU64,
    /// A process is replaced when it and its children hold so many bytes.
    pub memory_per_process: u64,
    /// Bytes of events that one turn may have waiting. A reader that is slower than that loses the turn: a
    /// pause would stop every other turn of the process as well.
    pub waiting_bytes: usize,
    /// The first pause before a process is started again, and the longest.
    pub back_off: (Duration, Duration),
}

/// Timeouts of processes, requests and turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodexTimeouts {
    /// From the start of a process to its greeting, and for a turn to wait for one.
    pub start: Duration,
    /// For the answer to a request.
    pub request: Duration,
    /// For the answer to an interrupt. A second one of the same turn is never answered.
    pub interrupt: Duration,
    /// From the start of a turn to the first sign of the model.
    pub first_event: Duration,
    /// Between two signs of the model.
    pub idle: Duration,
    /// For a process to end after its input has been closed. Then it is killed.
    pub stop: Duration,
}

/// Variables that the process may see, besides those that its settings name.
const NEEDED: [&str; 21] = [
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CODEX_CA_CERTIFICATE",
    "CODEX_HOME",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
];

impl CodexSettings {
    /// Settings for the `codex` of the path. It sees nothing of the environment yet.
    pub fn new(folder: PathBuf) -> CodexSettings {
        CodexSettings {
            program: PathBuf::from("codex"),
            arguments: Vec::new(),
            folder,
            home: None,
            environment: Vec::new(),
            provider: None,
            model: None,
            config: Vec::new(),
            tools: ToolMode::Auto,
            models: CodexModelList::Plain,
            pool: PoolSettings::default(),
            limits: CodexTimeouts::default(),
        }
    }

    /// Returns the `variables` that the process needs and those that are `named`, such as the key of a provider.
    /// Everything else stays out, our own token above all.
    pub fn environment_of(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        named: &[String],
    ) -> Vec<(OsString, OsString)> {
        let wanted = |key: &OsString| {
            key.to_str().is_some_and(|key| NEEDED.contains(&key) || named.iter().any(|name| name == key))
        };
        variables.into_iter().filter(|(key, _)| wanted(key)).collect()
    }
}

impl Default for PoolSettings {
    fn default() -> PoolSettings {
        PoolSettings {
            processes: NonZeroUsize::MIN.saturating_add(1),
            turns_per_process: NonZeroUsize::MIN.saturating_add(31),
            threads_per_process: NonZeroU64::MIN.saturating_add(199),
            memory_per_process: 768 * 1024 * 1024,
            waiting_bytes: 4 * 1024 * 1024,
            back_off: (Duration::from_millis(100), Duration::from_secs(10)),
        }
    }
}

impl Default for CodexTimeouts {
    fn default() -> CodexTimeouts {
        CodexTimeouts {
            start: Duration::from_secs(20),
            request: Duration::from_secs(20),
            interrupt: Duration::from_secs(2),
            // A model may push_reasoning for minutes before it says a word.
            first_event: Duration::from_secs(600),
            idle: Duration::from_secs(300),
            stop: Duration::from_secs(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use expect_test::expect;

    use super::CodexSettings;

    #[test]
    fn a_process_sees_what_it_needs_and_what_was_named() {
        let variables = ["PATH", "TOLLGATE_TOKEN", "OPENAI_API_KEY", "MY_KEY", "https_proxy"]
            .map(|key| (OsString::from(key), OsString::from("x")));
        let seen = CodexSettings::environment_of(variables, &["MY_KEY".to_owned()]);
        let keys: Vec<_> = seen.into_iter().map(|(key, _)| key).collect();
        expect![[r#"["PATH", "MY_KEY", "https_proxy"]"#]].assert_eq(&format!("{keys:?}"));
    }
}
