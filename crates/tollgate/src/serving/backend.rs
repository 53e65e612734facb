//! Which model stands behind the server.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use backend::TextModel;
use backend::codex::{Codex, CodexSettings, ToolMode};
use backend::openai::{OpenAi, OpenAiSettings, Wire};
use backend::scripted::Scripted;

use crate::stop::Stop;
use crate::visible::path_words;

/// The argument of `--backend`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BackendChoice {
    Codex { program: PathBuf },
    Server { url: String },
    Scripted { file: PathBuf },
}

/// How calls reach the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum CallsBy {
    Auto,
    Native,
    Text,
}

/// What else was said about the model.
pub(crate) struct Wishes<'a> {
    /// Where codex may keep files.
    pub(crate) home: &'a Path,
    pub(crate) model: Option<&'a str>,
    pub(crate) calls: CallsBy,
    pub(crate) key_env: Option<&'a str>,
    pub(crate) chat: bool,
}

impl FromStr for BackendChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<BackendChoice, String> {
        match text.split_once(':') {
            None if text == "codex" => Ok(BackendChoice::Codex { program: PathBuf::from("codex") }),
            Some(("codex", program)) if !program.is_empty() => {
                Ok(BackendChoice::Codex { program: PathBuf::from(program) })
            }
            Some(("scripted", file)) if !file.is_empty() => {
                Ok(BackendChoice::Scripted { file: PathBuf::from(file) })
            }
            Some(("http" | "https", _)) => Ok(BackendChoice::Server { url: text.to_owned() }),
            Some(_) | None => Err(
                "write `codex`, `codex:PROGRAM`, an address such as `http://127.0.0.1:11434/v1`, or `scripted:FILE`"
                    .to_owned(),
            ),
        }
    }
}

impl BackendChoice {
    pub(crate) fn open(&self, wishes: &Wishes<'_>) -> Result<Arc<dyn TextModel>, Stop> {
        self.refuse_unused(wishes)?;
        match self {
            BackendChoice::Codex { program } => codex(program, wishes),
            BackendChoice::Server { url } => server(url, wishes),
            BackendChoice::Scripted { file } => {
                let scripted = Scripted::open(file).map_err(|error| {
                    Stop::bad_input("bad_script", error.to_string())
                        .hint("a script has one answer a line, such as {\"text\": \"Hello.\"}")
                })?;
                Ok(Arc::new(scripted))
            }
        }
    }
}

impl BackendChoice {
    /// A wish that would change nothing is a mistake, and whoever made it relies on it.
    fn refuse_unused(&self, wishes: &Wishes<'_>) -> Result<(), Stop> {
        let native = wishes.calls == CallsBy::Native;
        let (what, unused) = match self {
            BackendChoice::Codex { .. } => {
                ("codex has its own way to its model", vec![(wishes.chat, "--chat")])
            }
            BackendChoice::Server { .. } => {
                ("a model behind an address is used as a text model", vec![(native, "--calls native")])
            }
            BackendChoice::Scripted { .. } => (
                "a script is no model and asks none",
                vec![
                    (wishes.model.is_some(), "--model"),
                    (native, "--calls native"),
                    (wishes.key_env.is_some(), "--key-env"),
                    (wishes.chat, "--chat"),
                ],
            ),
        };
        match unused.into_iter().find(|(wished, _)| *wished) {
            None => Ok(()),
            Some((_, flag)) => {
                Err(Stop::bad_input("unused_option", format!("{flag} would do nothing: {what}"))
                    .hint(format!("leave out {flag}, or choose another model with --backend")))
            }
        }
    }
}

fn codex(program: &Path, wishes: &Wishes<'_>) -> Result<Arc<dyn TextModel>, Stop> {
    if !is_there(program) {
        return Err(Stop::bad_input("no_codex", format!("there is no program `{}`", path_words(program))).hint(
            "install it with `npm install --global @openai/codex`, name it with --backend codex:PROGRAM, or choose another model with --backend",
        ));
    }
    let folder = wishes.home.join("codex");
    std::fs::create_dir_all(&folder)
        .map_err(|error| Stop::io(format_args!("make the folder {}", path_words(&folder)), error))?;
    let named: Vec<String> = wishes.key_env.map(str::to_owned).into_iter().collect();
    let mut settings = CodexSettings::new(folder);
    settings.program = program.to_owned();
    settings.environment = CodexSettings::environment_of(std::env::vars_os(), &named);
    settings.home = std::env::var_os("CODEX_HOME").map(PathBuf::from);
    settings.model = wishes.model.map(str::to_owned);
    settings.tools = match wishes.calls {
        CallsBy::Auto => ToolMode::Auto,
        CallsBy::Native => ToolMode::Native,
        CallsBy::Text => ToolMode::Sentinel,
    };
    Ok(Arc::new(Codex::new(settings)))
}

fn server(url: &str, wishes: &Wishes<'_>) -> Result<Arc<dyn TextModel>, Stop> {
    let key = match wishes.key_env {
        Some(name) => Some(std::env::var(name).map_err(|_unset| {
            Stop::bad_input("no_key", format!("the variable {name} is not set"))
                .hint("set it to the key of the model's server, or leave out --key-env")
        })?),
        None => None,
    };
    let settings = OpenAiSettings {
        wire: if wishes.chat { Wire::Chat } else { Wire::Responses },
        key,
        model: wishes.model.map(str::to_owned),
        ..OpenAiSettings::new(url)
    };
    let model = OpenAi::new(settings).map_err(|error| Stop::bad_input("bad_backend", error.to_string()))?;
    Ok(Arc::new(model))
}

/// Whether a program can be found, as the system would look for it.
fn is_there(program: &Path) -> bool {
    if program.components().count() > 1 {
        return program.is_file();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{BackendChoice, CallsBy, Wishes};

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
        let plain =
            || Wishes { home: Path::new("/"), model: None, calls: CallsBy::Auto, key_env: None, chat: false };
        let refused = |backend: &str, wishes: Wishes<'_>| {
            let refused = backend.parse::<BackendChoice>().unwrap().refuse_unused(&wishes);
            refused.err().map(|stop| stop.message)
        };
        let model = || Wishes { model: Some("m"), ..plain() };
        let native = || Wishes { calls: CallsBy::Native, ..plain() };
        let key = || Wishes { key_env: Some("KEY"), ..plain() };
        let chat = || Wishes { chat: true, ..plain() };
        let (script, server) = ("scripted:a.jsonl", "http://127.0.0.1:1/v1");
        for (backend, wishes, flag) in [
            (script, model(), "--model"),
            (script, native(), "--calls native"),
            (script, key(), "--key-env"),
            (script, chat(), "--chat"),
            ("codex", chat(), "--chat"),
            (server, native(), "--calls native"),
        ] {
            let message = refused(backend, wishes).unwrap();
            assert!(message.starts_with(&format!("{flag} would do nothing: ")), "{message}");
        }
        for (backend, wishes) in [
            (script, plain()),
            (script, Wishes { calls: CallsBy::Text, ..plain() }),
            ("codex", model()),
            ("codex", native()),
            ("codex", key()),
            (server, model()),
            (server, key()),
            (server, chat()),
        ] {
            assert_eq!(refused(backend, wishes), None, "{backend}");
        }
    }
}
