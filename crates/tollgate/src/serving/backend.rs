//! Opens the model that the server uses.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use backend::codex::{Codex, CodexSettings, ToolMode};
use backend::openai::{OpenAi, OpenAiSettings, ProxySettings, Wire};
use backend::scripted::ScriptedModel;
use backend::{NoModel, TextModel};

use crate::cli_error::CliError;
use app::display_text::display_path;

/// The argument of `--backend`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BackendChoice {
    Codex {
        program: PathBuf,
    },
    Server {
        url: String,
    },
    Scripted {
        file: PathBuf,
    },
    /// Only MCP clients are served.
    None,
}

/// How tool calls reach the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ToolCallRoute {
    Auto,
    Native,
    Text,
}

/// The other options for the model.
pub(crate) struct ModelOptions<'a> {
    /// The folder for codex's files.
    pub(crate) home: &'a Path,
    pub(crate) model: Option<&'a str>,
    pub(crate) calls: ToolCallRoute,
    pub(crate) key_env: Option<&'a str>,
    pub(crate) chat: bool,
}

impl FromStr for BackendChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<BackendChoice, String> {
        match text.split_once(':') {
            None if text == "none" => Ok(BackendChoice::None),
            None if text == "codex" => Ok(BackendChoice::Codex { program: PathBuf::from("codex") }),
            Some(("codex", program)) if !program.is_empty() => {
                Ok(BackendChoice::Codex { program: PathBuf::from(program) })
            }
            Some(("scripted", file)) if !file.is_empty() => {
                Ok(BackendChoice::Scripted { file: PathBuf::from(file) })
            }
            Some(("http" | "https", _)) => Ok(BackendChoice::Server { url: text.to_owned() }),
            Some(_) | None => Err(
                "write `codex`, `codex:PROGRAM`, an address such as `http://127.0.0.1:11434/v1`, `scripted:FILE`, or `none`"
                    .to_owned(),
            ),
        }
    }
}

impl BackendChoice {
    pub(crate) fn open(&self, options: &ModelOptions<'_>) -> Result<Arc<dyn TextModel>, CliError> {
        self.refuse_unused(options)?;
        match self {
            BackendChoice::Codex { program } => open_codex(program, options),
            BackendChoice::Server { url } => open_server(url, options),
            BackendChoice::Scripted { file } => {
                let scripted = ScriptedModel::open(file).map_err(|error| {
                    CliError::bad_input("bad_script", error.to_string())
                        .hint("a script has one answer a line, such as {\"text\": \"Hello.\"}")
                })?;
                Ok(Arc::new(scripted))
            }
            BackendChoice::None => Ok(Arc::new(NoModel)),
        }
    }
}

impl BackendChoice {
    /// Returns an error for an option that would have no effect: the user relies on it.
    fn refuse_unused(&self, options: &ModelOptions<'_>) -> Result<(), CliError> {
        let native = options.calls == ToolCallRoute::Native;
        let (what, unused) = match self {
            BackendChoice::Codex { .. } => {
                ("codex has its own way to its model", vec![(options.chat, "--chat")])
            }
            BackendChoice::Server { .. } => {
                ("a model behind an address is used as a text model", vec![(native, "--calls native")])
            }
            BackendChoice::Scripted { .. } | BackendChoice::None => (
                "no model is asked",
                vec![
                    (options.model.is_some(), "--model"),
                    (native, "--calls native"),
                    (options.key_env.is_some(), "--key-env"),
                    (options.chat, "--chat"),
                ],
            ),
        };
        match unused.into_iter().find(|(given, _)| *given) {
            None => Ok(()),
            Some((_, flag)) => {
                Err(CliError::bad_input("unused_option", format!("{flag} would do nothing: {what}"))
                    .hint(format!("leave out {flag}, or choose another model with --backend")))
            }
        }
    }
}

fn open_codex(program: &Path, options: &ModelOptions<'_>) -> Result<Arc<dyn TextModel>, CliError> {
    if !program_exists(program) {
        return Err(CliError::bad_input("no_codex", format!("there is no program `{}`", display_path(program))).hint(
            "install it with `npm install --global @openai/codex`, name it with --backend codex:PROGRAM, or choose another model with --backend",
        ));
    }
    let folder = options.home.join("codex");
    std::fs::create_dir_all(&folder)
        .map_err(|error| CliError::io(format_args!("make the folder {}", display_path(&folder)), error))?;
    let named: Vec<String> = options.key_env.map(str::to_owned).into_iter().collect();
    let mut settings = CodexSettings::new(folder);
    settings.program = program.to_owned();
    settings.environment = CodexSettings::environment_of(std::env::vars_os(), &named);
    settings.home = std::env::var_os("CODEX_HOME").map(PathBuf::from);
    settings.model = options.model.map(str::to_owned);
    settings.tools = match options.calls {
        ToolCallRoute::Auto => ToolMode::Auto,
        ToolCallRoute::Native => ToolMode::Native,
        ToolCallRoute::Text => ToolMode::Sentinel,
    };
    Ok(Arc::new(Codex::new(settings)))
}

fn open_server(url: &str, options: &ModelOptions<'_>) -> Result<Arc<dyn TextModel>, CliError> {
    let key = match options.key_env {
        Some(name) => Some(std::env::var(name).map_err(|_unset| {
            CliError::bad_input("no_key", format!("the variable {name} is not set"))
                .hint("set it to the key of the model's server, or leave out --key-env")
        })?),
        None => None,
    };
    let settings = OpenAiSettings {
        wire: if options.chat { Wire::Chat } else { Wire::Responses },
        key,
        model: options.model.map(str::to_owned),
        proxy: ProxySettings::from_variables(|name| std::env::var(name).ok()),
        ..OpenAiSettings::new(url)
    };
    let model =
        OpenAi::new(settings).map_err(|error| CliError::bad_input("bad_backend", error.to_string()))?;
    Ok(Arc::new(model))
}

/// Returns whether a program can be found in `PATH`, or as a path.
fn program_exists(program: &Path) -> bool {
    if program.components().count() > 1 {
        return program.is_file();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{BackendChoice, ModelOptions, ToolCallRoute};

    #[test]
    fn a_model_is_named_in_one_word() {
        let read = |text: &str| text.parse::<BackendChoice>();
        assert_eq!(read("codex").unwrap(), BackendChoice::Codex { program: "codex".into() });
        assert_eq!(read("codex:/opt/codex").unwrap(), BackendChoice::Codex { program: "/opt/codex".into() });
        assert_eq!(read("scripted:a.jsonl").unwrap(), BackendChoice::Scripted { file: "a.jsonl".into() });
        let url = "https://models.example/v1".to_owned();
        assert_eq!(read(&url).unwrap(), BackendChoice::Server { url });
        assert!(read("ollama").unwrap_err().contains("http://127.0.0.1:11434/v1"));
        assert!(read("scripted:").is_err());
    }

    #[test]
    fn an_option_that_would_do_nothing_is_refused() {
        let plain = || ModelOptions {
            home: Path::new("/"),
            model: None,
            calls: ToolCallRoute::Auto,
            key_env: None,
            chat: false,
        };
        let refused = |backend: &str, options: ModelOptions<'_>| {
            let refused = backend.parse::<BackendChoice>().unwrap().refuse_unused(&options);
            refused.err().map(|stop| stop.message)
        };
        let model = || ModelOptions { model: Some("m"), ..plain() };
        let native = || ModelOptions { calls: ToolCallRoute::Native, ..plain() };
        let key = || ModelOptions { key_env: Some("KEY"), ..plain() };
        let chat = || ModelOptions { chat: true, ..plain() };
        let (script, server) = ("scripted:a.jsonl", "http://127.0.0.1:1/v1");
        for (backend, options, flag) in [
            (script, model(), "--model"),
            (script, native(), "--calls native"),
            (script, key(), "--key-env"),
            (script, chat(), "--chat"),
            ("codex", chat(), "--chat"),
            (server, native(), "--calls native"),
        ] {
            let message = refused(backend, options).unwrap();
            assert!(message.starts_with(&format!("{flag} would do nothing: ")), "{message}");
        }
        for (backend, options) in [
            (script, plain()),
            (script, ModelOptions { calls: ToolCallRoute::Text, ..plain() }),
            ("codex", model()),
            ("codex", native()),
            ("codex", key()),
            (server, model()),
            (server, key()),
            (server, chat()),
        ] {
            assert_eq!(refused(backend, options), None, "{backend}");
        }
    }
}
