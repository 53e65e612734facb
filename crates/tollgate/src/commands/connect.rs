//! `tollgate connect`: the settings that make a client use Tollgate over MCP.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use crate::ask;
use crate::connect::{
    Client, Door, Edited, Format, Homes, STATE_VARIABLE, Scope, Server, TOKEN_VARIABLE, Written, edit,
    foreign_variables, snippet, without_secrets,
};
use crate::diff::{Changes, FileDiff, Limits};
use crate::exit::Exit;
use crate::place::find_vault;
use crate::quoting::quoted;
use crate::screen::{self, Paint};
use crate::stop::{Outcome, Stop};
use crate::trust;
use crate::visible::{one_line, path_words, visible};

/// Its dialog cuts a question after three lines, and each of them at the edge of the screen; no key shows the rest.
const SHORT_DIALOG: &str = "\
Claude Code shows three lines of a question and no more. To read the whole of it before you say yes, have
it laid down for `tollgate approve`, in .tollgate/config.toml of the vault:

  [approval]
  writes = \"person\"
  commands = \"person\"";

/// Prints or writes the settings that make a client use Tollgate
///
/// Clients: claude-code, claude-desktop, codex, cursor, vscode, zed, obsidian. The client starts `tollgate mcp` itself, or
/// with --http calls a running `tollgate serve`. With --write the entry is put into the file of the client, after the
/// difference was shown; comments, order and everything else in that file stay as they are.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[command(
    after_help = "Example:\n  tollgate connect claude-code --vault ~/Notes\n  tollgate connect codex --vault ~/Notes --write\n  tollgate connect cursor --project --write\n  tollgate connect vscode --http"
)]
pub(crate) struct Connect {
    /// The client
    client: Client,
    /// Write it into the file of the client
    #[arg(long)]
    write: bool,
    /// Write without being asked
    #[arg(long, requires = "write")]
    yes: bool,
    /// For every project of yours [default]
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// For the project in the current folder only
    #[arg(long)]
    project: bool,
    /// Through a server that runs, at this address
    #[arg(long, value_name = "URL", num_args = 0..=1, require_equals = true, default_missing_value = "http://127.0.0.1:8787/mcp")]
    http: Option<String>,
    /// What the entry is called
    #[arg(long, value_name = "NAME", default_value = "tollgate")]
    name: String,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Connect {
    pub(crate) fn run(self, vault: Option<&Path>) -> Outcome {
        check_name(&self.name)?;
        let server = Server { name: self.name.clone(), door: self.door(vault)? };
        if self.client == Client::Obsidian {
            return self.obsidian(vault, &server);
        }
        let plan = Plan::new(self.client, self.scope(), server)?;
        if self.write {
            return plan.write(&self, vault);
        }
        plan.print(self.json, vault)?;
        if !self.json {
            screen::say("Add --write to have it written there; what changes is shown first.");
        }
        Ok(Exit::Done)
    }

    fn scope(&self) -> Scope {
        if self.project { Scope::Project } else { Scope::User }
    }

    fn door(&self, vault: Option<&Path>) -> Result<Door, Stop> {
        if let Some(url) = &self.http {
            let plain =
                |c: char| c.is_ascii_graphic() && !matches!(c, '\'' | '"' | '\\' | '`' | '$' | '<' | '>');
            let is_url = ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme));
            if !is_url || !url.chars().all(plain) {
                return Err(Stop::bad_input("bad_url", format!("`{url}` is not the address of a server"))
                    .hint("give it as --http=http://127.0.0.1:8787/mcp"));
            }
            return Ok(Door::Http { url: url.clone() });
        }
        let program = std::env::current_exe().map_err(|error| Stop::io("find the program itself", error))?;
        let state = std::env::var_os(STATE_VARIABLE).map(PathBuf::from).filter(|path| path.is_absolute());
        Ok(Door::Stdio {
            program: in_settings(program)?,
            vault: in_settings(find_vault(vault)?)?,
            state: state.map(in_settings).transpose()?,
        })
    }

    /// The plugin has no place for servers: they are those of the agent that it starts.
    fn obsidian(&self, vault: Option<&Path>, server: &Server) -> Outcome {
        let agents = [Client::ClaudeCode, Client::Codex];
        if self.write {
            return Err(Stop::bad_input("no_file", "Agent Client has no settings for MCP servers of its own")
                .hint("write it for the agent that it starts: `tollgate connect claude-code --write` or `tollgate connect codex --write`"));
        }
        let plans = agents.map(|agent| Plan::new(agent, self.scope(), server.clone()));
        let plans: Vec<Plan> = plans.into_iter().collect::<Result<_, _>>()?;
        if self.json {
            let agents: Vec<Value> = plans.iter().map(Plan::as_json).collect();
            screen::json(&json!({ "client": Client::Obsidian.name(), "agents": agents }));
            return Ok(Exit::Done);
        }
        screen::say("Agent Client has no MCP servers of its own: the agent that it starts brings them.\n");
        for plan in &plans {
            plan.print(false, vault)?;
        }
        screen::say(
            "Other agents, such as Gemini CLI, take the same command and arguments in their own settings.",
        );
        Ok(Exit::Done)
    }
}

/// One entry for one file.
struct Plan {
    client: Client,
    scope: Scope,
    file: PathBuf,
    server: Server,
    entry: Value,
}

impl Plan {
    fn new(client: Client, scope: Scope, server: Server) -> Result<Plan, Stop> {
        let homes = Homes::of_person().ok_or_else(|| {
            Stop::bad_input("no_home", "HOME names no folder, so the settings of clients cannot be found")
        })?;
        let here = std::env::current_dir().map_err(|error| Stop::io("find the current folder", error))?;
        let file = homes.file(client, scope, &here).ok_or_else(|| {
            Stop::bad_input("no_project_file", format!("{} has no settings for one project", client.title()))
                .hint("leave --project out")
        })?;
        let entry = server.entry(client).ok_or_else(|| {
            let why = format!(
                "{} takes a token only in its settings, where it would lie open and be synced or committed",
                client.title()
            );
            Stop::bad_input("token_in_file", why)
                .hint("leave --http out: it then starts `tollgate mcp` itself, which needs no token")
        })?;
        Ok(Plan { client, scope, file, server, entry })
    }

    fn snippet(&self) -> String {
        snippet(self.client, &self.server.name, &self.entry)
    }

    fn as_json(&self) -> Value {
        json!({
            "client": self.client.name(),
            "file": self.file.to_string_lossy(),
            "format": match self.client.format() { Format::Json => "json", Format::Toml => "toml" },
            "snippet": self.snippet(),
            "command": self.server.command(self.client, self.scope),
        })
    }

    fn print(&self, as_json: bool, vault: Option<&Path>) -> Result<(), Stop> {
        if as_json {
            screen::json(&self.as_json());
            return Ok(());
        }
        screen::say(format_args!("{} reads this from {}:\n", self.client.title(), path_words(&self.file)));
        screen::say(visible(&self.snippet()));
        if let Some(command) = self.server.command(self.client, self.scope) {
            screen::say(format_args!("The same by its own command:\n\n  {}\n", visible(&command)));
        }
        self.notes(vault)?.iter().for_each(|note| screen::say(format_args!("{note}\n")));
        Ok(())
    }

    /// What has to be known besides.
    fn notes(&self, vault: Option<&Path>) -> Result<Vec<String>, Stop> {
        let mut notes = Vec::new();
        if matches!(self.server.door, Door::Http { .. }) {
            let near = vault.and_then(|vault| vault.canonicalize().ok());
            let token = trust::state_folder(near.as_deref())?.join("token");
            notes.push(format!(
                "The token is not written there, since such files are synced and committed. Start the client where\n\
                 it can read it:\n\n  export {TOKEN_VARIABLE}=\"$(cat {})\"",
                quoted(&token)
            ));
        }
        if self.scope == Scope::User && self.client == Client::ClaudeCode {
            notes.push(
                "Claude Code writes that file itself while it runs: close it first, or use its own command."
                    .to_owned(),
            );
        }
        if self.scope == Scope::Project && self.client == Client::ClaudeCode {
            notes.push(
                "Claude Code asks at a terminal before it uses this file; `claude -p` does not ask."
                    .to_owned(),
            );
        }
        if self.client == Client::ClaudeCode {
            notes.push(SHORT_DIALOG.to_owned());
        }
        if self.scope == Scope::Project && matches!(self.server.door, Door::Stdio { .. }) {
            notes.push(
                "The paths are those of this machine: others who get this project need their own.".to_owned(),
            );
        }
        if self.scope == Scope::Project && self.client == Client::Codex {
            notes.push("Codex reads this file only in projects that it was told to trust.".to_owned());
        }
        Ok(notes)
    }

    fn write(&self, wishes: &Connect, vault: Option<&Path>) -> Outcome {
        let words = path_words(&self.file);
        let file = Written::read(&self.file).map_err(|error| self.unreadable(&error.to_string()))?;
        let before = file.text.as_deref();
        self.warn_of_variables(before.unwrap_or_default())?;
        let edited = edit(self.client, before.unwrap_or_default(), &self.server.name, &self.entry);
        let (text, replaces) = match edited.map_err(|why| self.unreadable(&why))? {
            Edited::Already => {
                return Ok(self.done(
                    wishes,
                    "already",
                    &format!("{words} says so already. Nothing was changed."),
                ));
            }
            Edited::New { text, replaces } => (text, replaces),
        };
        if file.is_link {
            let target = path_words(&file.target);
            screen::note(format_args!("{words} is a link; what it points at is changed: {target}"));
        }
        if replaces {
            let name = &self.server.name;
            screen::note(format_args!("An entry `{name}` is there already, and says something else:"));
        }
        let mut changes = Changes::new(Limits::screen());
        let path = file.target.to_string_lossy();
        let shown = |text: &str| without_secrets(self.client, text);
        let (old, new) = (before.map(shown), shown(&text));
        let (old, new) = (old.as_ref().map(String::as_bytes), Some(new.as_bytes()));
        changes.add(&FileDiff { path: &path, moved_from: None, before: old, after: new });
        changes.render(Paint::stderr()).iter().for_each(screen::note);
        if !wishes.yes {
            agree()?;
        }
        file.replace(&text, self.scope).map_err(|error| {
            Stop::io(format_args!("write {}", path_words(&file.target)), error)
                .hint("nothing was changed; run it again")
        })?;
        if !wishes.json {
            self.notes(vault)?.iter().for_each(|note| screen::note(format_args!("\n{note}")));
        }
        let title = self.client.title();
        Ok(self.done(
            wishes,
            "written",
            &format!("Written. Restart {title}; `tollgate doctor --connections` tries it."),
        ))
    }

    /// What somebody else put into the entry stays in it, and decides with us what the program does.
    fn warn_of_variables(&self, text: &str) -> Result<(), Stop> {
        let (name, is_started) = (&self.server.name, matches!(self.server.door, Door::Stdio { .. }));
        let theirs = foreign_variables(self.client, text, name).map_err(|why| self.unreadable(&why))?;
        if theirs.is_empty() || !is_started {
            return Ok(());
        }
        let shown: Vec<String> = theirs.iter().map(|variable| one_line(variable)).collect();
        screen::note(format_args!(
            "{} the entry `{name}` in {} sets variables that `connect` did not write: {}\n\
             They stay, and reach the program that the client starts. Remove those that are not yours.",
            Paint::stderr().odd("Warning:"),
            path_words(&self.file),
            shown.join(", ")
        ));
        Ok(())
    }

    fn done(&self, wishes: &Connect, how: &str, said: &str) -> Exit {
        if wishes.json {
            let mut answer = self.as_json();
            answer["outcome"] = json!(how);
            screen::json(&answer);
        } else {
            screen::say(said);
        }
        Exit::Done
    }

    /// Leaves a file alone that is not understood, and says what to put there by hand.
    fn unreadable(&self, why: &str) -> Stop {
        let message = format!("{} was not changed: {why}", path_words(&self.file));
        Stop::bad_input("unreadable_settings", message)
            .hint(format!("mend it, or add this by hand:\n{}", self.snippet()))
            .details(self.as_json())
    }
}

fn agree() -> Result<(), Stop> {
    let question = Paint::stderr().bold("Write this? [y/N]");
    match ask::at_terminal(&question).as_deref() {
        Some("y" | "yes") => Ok(()),
        Some(_) => Err(Stop::new(Exit::Denied, "declined", "nothing was written")),
        None => {
            Err(Stop::new(Exit::Denied, "declined", "no terminal is there to ask at, so nothing was written")
                .hint("look at the difference above, then run it again with --yes"))
        }
    }
}

/// Clients make the names of tools from it.
fn check_name(name: &str) -> Result<(), Stop> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if (1..=32).contains(&name.len()) && name.chars().all(plain) {
        return Ok(());
    }
    Err(Stop::bad_input("bad_name", format!("`{name}` cannot be the name of an entry"))
        .hint("use 1 to 32 letters, digits, `_` and `-`"))
}

/// Settings are text.
fn in_settings(path: PathBuf) -> Result<String, Stop> {
    path.into_os_string().into_string().map_err(|path| {
        let words = path_words(Path::new(&path));
        Stop::bad_input("not_text", format!("`{words}` is not valid UTF-8, so no settings can name it"))
            .hint("rename it, or make a link to it with a plain name")
    })
}
