//! Which entries of clients the doctor may start: this very program as `connect` would have it started, and nothing
//! else.
//!
//! A file below the vault or the current folder may have come with it from anywhere. What it names is at most shown.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::connect::{Found, STATE_VARIABLE, Scope};

/// Where the doctor is.
pub(super) struct Here<'a> {
    /// This program; `None` if it is no longer where it was started from.
    pub(super) program: Option<PathBuf>,
    pub(super) vault: &'a Path,
    /// The current folder.
    pub(super) folder: &'a Path,
    /// Where this process was told to keep state.
    pub(super) state: Option<&'a OsStr>,
}

impl Here<'_> {
    /// The program to start for this entry, which is always this one, or why nothing is started.
    pub(super) fn program_for(&self, found: &Found) -> Result<&Path, &'static str> {
        let Some(program) = self.program.as_deref().filter(|program| is_at(found, program)) else {
            return Err("it names another program than this");
        };
        let env = found.entry["env"].as_object();
        let given = env.and_then(|env| env.get(STATE_VARIABLE));
        if found.entry.get("env").is_some() && env.is_none_or(|env| env.len() > usize::from(given.is_some()))
        {
            return Err("it sets other variables than XDG_STATE_HOME");
        }
        if !self.is_foreign(found) {
            return Ok(program);
        }
        // Other state has other answers to what a vault may run.
        let own = given.is_none_or(|given| given.as_str().map(OsStr::new) == self.state);
        let as_written = found.entry["args"] == json!(["mcp", "--vault", found.vault()]);
        if own && as_written {
            Ok(program)
        } else {
            Err("it came with this folder, and is not as `connect` writes it")
        }
    }

    /// Whether others than the person may have written it.
    fn is_foreign(&self, found: &Found) -> bool {
        let real = found.file.canonicalize();
        let below = |folder: &Path| {
            let near = |file: &Path| file.starts_with(folder);
            near(&found.file) || real.as_deref().is_ok_and(near)
        };
        found.scope == Scope::Project || below(self.vault) || below(self.folder)
    }
}

fn is_at(found: &Found, program: &Path) -> bool {
    let named = found.entry["command"].as_str().map(Path::new);
    named.and_then(|named| named.canonicalize().ok()).is_some_and(|named| named == program)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::path::Path;

    use expect_test::expect;
    use serde_json::{Value, json};

    use super::Here;
    use crate::connect::{Client, Found, Scope};

    /// What comes of an entry in a file that is the person's, in one below the vault, and in one of a project.
    fn started(entry: &Value) -> String {
        let program = Path::new("/bin/sh").canonicalize().unwrap();
        let here = Here {
            program: Some(program.clone()),
            vault: Path::new("/notes"),
            folder: Path::new("/work"),
            state: Some(OsStr::new("/state")),
        };
        let said = |scope: Scope, file: &str| {
            let (name, entry) = ("tollgate".to_owned(), entry.clone());
            let found = Found { client: Client::Codex, scope, file: file.into(), name, entry };
            match here.program_for(&found) {
                Ok(started) => {
                    assert_eq!(started, program);
                    "started"
                }
                Err(why) => why,
            }
        };
        let mine = said(Scope::User, "/home/me/.codex/config.toml");
        let below = said(Scope::User, "/notes/.codex/config.toml");
        assert_eq!(below, said(Scope::User, "/work/home/config.toml"));
        assert_eq!(below, said(Scope::Project, "/elsewhere/.mcp.json"));
        if mine == below { mine.to_owned() } else { format!("{mine}, but with a folder: {below}") }
    }

    #[test]
    fn only_this_program_as_connect_writes_it_is_started() {
        let args = json!(["mcp", "--vault", "/notes"]);
        let with = |env: Value| json!({ "command": "/bin/sh", "args": args, "env": env });
        let mut said = String::new();
        for entry in [
            json!({ "command": "/bin/sh", "args": args, "type": "stdio", "tool_timeout_sec": 300 }),
            with(json!({ "XDG_STATE_HOME": "/state" })),
            with(json!({ "XDG_STATE_HOME": "/notes-state" })),
            with(json!({ "XDG_STATE_HOME": "/state", "LD_PRELOAD": "./x.so" })),
            with(json!({ "PATH": "." })),
            with(json!(["PATH=."])),
            json!({ "command": "/bin/sh", "args": ["mcp", "--yes", "--vault", "/notes"] }),
            json!({ "command": "/bin/cat", "args": args }),
            json!({ "command": "./bin/tollgate", "args": args }),
            json!({ "command": "sh", "args": args }),
            json!({ "args": args }),
        ] {
            said.push_str(&format!("{}\n", started(&entry)));
        }
        expect![[r#"
            started
            started
            started, but with a folder: it came with this folder, and is not as `connect` writes it
            it sets other variables than XDG_STATE_HOME
            it sets other variables than XDG_STATE_HOME
            it sets other variables than XDG_STATE_HOME
            started, but with a folder: it came with this folder, and is not as `connect` writes it
            it names another program than this
            it names another program than this
            it names another program than this
            it names another program than this
        "#]]
        .assert_eq(&said);
    }
}
