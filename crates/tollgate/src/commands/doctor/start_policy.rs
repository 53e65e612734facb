//! Decides which client entries the doctor may start: only this program, with the arguments that `connect` writes.
//!
//! A file below the vault or the current folder may have come with it from anywhere. A program that it names is shown,
//! never started.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::connect::{ClientEntry, ConfigScope, STATE_VARIABLE};

/// Program, folders and state of this process, to which entries are compared.
pub(super) struct DoctorContext<'a> {
    /// This program; `None` if its file was moved or replaced.
    pub(super) program: Option<PathBuf>,
    pub(super) vault: &'a Path,
    /// The current folder.
    pub(super) folder: &'a Path,
    /// `XDG_STATE_HOME` of this process.
    pub(super) state: Option<&'a OsStr>,
}

impl DoctorContext<'_> {
    /// Returns the program to start for this entry, which is always this one. Returns the reason if nothing may be
    /// started.
    pub(super) fn program_for(&self, found: &ClientEntry) -> Result<&Path, &'static str> {
        let Some(program) = self.program.as_deref().filter(|program| names_program(found, program)) else {
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
        // Another state folder has other answers to what a vault may run.
        let own = given.is_none_or(|given| given.as_str().map(OsStr::new) == self.state);
        let as_written = found.entry["args"] == json!(["mcp", "--vault", found.vault()]);
        if own && as_written {
            Ok(program)
        } else {
            Err("it came with this folder, and is not as `connect` writes it")
        }
    }

    /// Returns whether someone other than the user may have written the entry.
    fn is_foreign(&self, found: &ClientEntry) -> bool {
        let real = found.file.canonicalize();
        let below = |folder: &Path| {
            let near = |file: &Path| file.starts_with(folder);
            near(&found.file) || real.as_deref().is_ok_and(near)
        };
        found.scope == ConfigScope::Project || below(self.vault) || below(self.folder)
    }
}

fn names_program(found: &ClientEntry, program: &Path) -> bool {
    let named = found.entry["command"].as_str().map(Path::new);
    named.and_then(|named| named.canonicalize().ok()).is_some_and(|named| named == program)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::path::Path;

    use expect_test::expect;
    use serde_json::{Value, json};

    use super::DoctorContext;
    use crate::connect::{ClientEntry, ClientKind, ConfigScope};

    /// Result for an entry in a file of the user, in one below the vault, and in one of a project.
    fn started(entry: &Value) -> String {
        let program = Path::new("/bin/sh").canonicalize().unwrap();
        let here = DoctorContext {
            program: Some(program.clone()),
            vault: Path::new("/notes"),
            folder: Path::new("/work"),
            state: Some(OsStr::new("/state")),
        };
        let result = |scope: ConfigScope, file: &str| {
            let (name, entry) = ("tollgate".to_owned(), entry.clone());
            let found = ClientEntry { client: ClientKind::Codex, scope, file: file.into(), name, entry };
            match here.program_for(&found) {
                Ok(started) => {
                    assert_eq!(started, program);
                    "started"
                }
                Err(why) => why,
            }
        };
        let mine = result(ConfigScope::User, "/home/me/.codex/config.toml");
        let below = result(ConfigScope::User, "/notes/.codex/config.toml");
        assert_eq!(below, result(ConfigScope::User, "/work/home/config.toml"));
        assert_eq!(below, result(ConfigScope::Project, "/elsewhere/.mcp.json"));
        if mine == below { mine.to_owned() } else { format!("{mine}, but with a folder: {below}") }
    }

    #[test]
    fn only_this_program_as_connect_writes_it_is_started() {
        let args = json!(["mcp", "--vault", "/notes"]);
        let with = |env: Value| json!({ "command": "/bin/sh", "args": args, "env": env });
        let mut results = String::new();
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
            results.push_str(&format!("{}\n", started(&entry)));
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
        .assert_eq(&results);
    }
}
