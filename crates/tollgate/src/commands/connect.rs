//! `tollgate connect`: the settings that let a client use Tollgate over MCP.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use crate::cli_error::{CliError, CommandResult};
use crate::connect::{
    ClientKind, ClientTransport, ConfigFile, ConfigFolders, ConfigFormat, ConfigScope, EditOutcome,
    STATE_VARIABLE, ServerEntry, TOKEN_VARIABLE, edit_entry, entry_snippet, foreign_variables,
    redact_secrets,
};
use crate::exit::Exit;
use crate::prompt;
use crate::screen::{self};
use app::diff::{DiffLimits, DiffSet, FileDiff};
use app::display_text::{display_path, escape_line, escape_text};
use app::shell_quoting::quote_for_shell;
use app::trust;
use app::vault_context::find_vault;

/// Claude Code cuts a question after three lines, and each line at the edge of the screen; no key shows the rest.
const SHORT_DIALOG: &str = "\
Claude Code shows three lines of a question and no more. To read the whole of it before you say yes, queue
it for `tollgate approve`, in .tollgate/config.toml of the vault:

  [approval]
  writes = \"person\"
  commands = \"person\"";

/// What Codex asks by itself.
const CODEX_APPROVAL: &str = "\
Codex asks by itself before it calls a tool that is not read-only, besides the question of Tollgate. With
`default_tools_approval_mode = \"approve\"` in this entry only Tollgate asks.";

/// Prints or writes the settings that let a client use Tollgate
///
/// Clients: claude-code, claude-desktop, codex, cursor, vscode, copilot, gemini, zed, obsidian. The client starts
/// `tollgate mcp` itself, or, with --http, calls a running `tollgate serve`. With --write the difference is shown and the entry is written
/// into the client's file; comments, order and everything else in that file stay as they are.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[command(
    after_help = "Example:\n  tollgate connect claude-code --vault ~/Notes\n  tollgate connect codex --vault ~/Notes --write\n  tollgate connect cursor --project --write\n  tollgate connect vscode --http"
)]
pub(crate) struct ConnectCommand {
    /// The client
    client: ClientKind,
    /// Write the entry into the client's file
    #[arg(long)]
    write: bool,
    /// Write without being asked
    #[arg(long, requires = "write")]
    yes: bool,
    /// For all your projects [default]
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// For the project in the current folder only
    #[arg(long)]
    project: bool,
    /// Through a running server at this address
    #[arg(long, value_name = "URL", num_args = 0..=1, require_equals = true, default_missing_value = "http://127.0.0.1:8787/mcp")]
    http: Option<String>,
    /// Name of the entry
    #[arg(long, value_name = "NAME", default_value = "tollgate")]
    name: String,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl ConnectCommand {
    pub(crate) fn run(self, vault: Option<&Path>) -> CommandResult {
        check_name(&self.name)?;
        let server = ServerEntry { name: self.name.clone(), transport: self.transport(vault)? };
        if self.client == ClientKind::Obsidian {
            return self.obsidian(vault, &server);
        }
        let plan = ConnectPlan::new(self.client, self.scope(), server)?;
        if self.write {
            return plan.write(&self, vault);
        }
        plan.print(self.json, vault)?;
        if !self.json {
            screen::print("Add --write to have it written there; what changes is shown first.");
        }
        Ok(Exit::Done)
    }

    fn scope(&self) -> ConfigScope {
        if self.project { ConfigScope::Project } else { ConfigScope::User }
    }

    fn transport(&self, vault: Option<&Path>) -> Result<ClientTransport, CliError> {
        if let Some(url) = &self.http {
            let plain =
                |c: char| c.is_ascii_graphic() && !matches!(c, '\'' | '"' | '\\' | '`' | '$' | '<' | '>');
            let is_url = ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme));
            if !is_url || !url.chars().all(plain) {
                return Err(CliError::bad_input(
                    "bad_url",
                    format!("`{url}` is not the address of a server"),
                )
                .hint("give it as --http=http://127.0.0.1:8787/mcp"));
            }
            return Ok(ClientTransport::Http { url: url.clone() });
        }
        let program =
            std::env::current_exe().map_err(|error| CliError::io("find the program itself", error))?;
        let state = std::env::var_os(STATE_VARIABLE).map(PathBuf::from).filter(|path| path.is_absolute());
        Ok(ClientTransport::Stdio {
            program: path_to_utf8(program)?,
            vault: path_to_utf8(find_vault(vault)?)?,
            state: state.map(path_to_utf8).transpose()?,
        })
    }

    /// Agent Client has no servers of its own: they are those of the agent that it starts.
    fn obsidian(&self, vault: Option<&Path>, server: &ServerEntry) -> CommandResult {
        let agents = [ClientKind::ClaudeCode, ClientKind::Codex];
        if self.write {
            return Err(CliError::bad_input("no_file", "Agent Client has no settings for MCP servers of its own")
                .hint("write it for the agent that it starts: `tollgate connect claude-code --write` or `tollgate connect codex --write`"));
        }
        let plans = agents.map(|agent| ConnectPlan::new(agent, self.scope(), server.clone()));
        let plans: Vec<ConnectPlan> = plans.into_iter().collect::<Result<_, _>>()?;
        if self.json {
            let agents: Vec<Value> = plans.iter().map(ConnectPlan::as_json).collect();
            screen::json(&json!({ "client": ClientKind::Obsidian.name(), "agents": agents }));
            return Ok(Exit::Done);
        }
        screen::print("Agent Client has no MCP servers of its own: the agent that it starts brings them.\n");
        for plan in &plans {
            plan.print(false, vault)?;
        }
        screen::print(
            "Other agents take the same command and arguments in their own settings; `tollgate connect gemini` prints those of Gemini CLI.",
        );
        Ok(Exit::Done)
    }
}

/// The entry for one client and file.
struct ConnectPlan {
    client: ClientKind,
    scope: ConfigScope,
    file: PathBuf,
    server: ServerEntry,
    entry: Value,
}

impl ConnectPlan {
    fn new(client: ClientKind, scope: ConfigScope, server: ServerEntry) -> Result<ConnectPlan, CliError> {
        let homes = ConfigFolders::from_environment().ok_or_else(|| {
            CliError::bad_input("no_home", "HOME names no folder, so the settings of clients cannot be found")
        })?;
        let here = std::env::current_dir().map_err(|error| CliError::io("find the current folder", error))?;
        let file = homes.file(client, scope, &here).ok_or_else(|| {
            CliError::bad_input(
                "no_project_file",
                format!("{} has no settings for one project", client.title()),
            )
            .hint("leave --project out")
        })?;
        let entry = server.entry(client).ok_or_else(|| {
            let why = format!(
                "no way is known to give {} the token without writing it into its settings, which are synced or committed",
                client.title()
            );
            CliError::bad_input("token_in_file", why)
                .hint("leave --http out: it then starts `tollgate mcp` itself, which needs no token")
        })?;
        Ok(ConnectPlan { client, scope, file, server, entry })
    }

    fn snippet(&self) -> String {
        entry_snippet(self.client, &self.server.name, &self.entry)
    }

    fn as_json(&self) -> Value {
        json!({
            "client": self.client.name(),
            "file": self.file.to_string_lossy(),
            "format": match self.client.format() { ConfigFormat::Json => "json", ConfigFormat::Toml => "toml" },
            "snippet": self.snippet(),
            "command": self.server.command(self.client, self.scope),
        })
    }

    fn print(&self, as_json: bool, vault: Option<&Path>) -> Result<(), CliError> {
        if as_json {
            screen::json(&self.as_json());
            return Ok(());
        }
        screen::print(format_args!(
            "{} reads this from {}:\n",
            self.client.title(),
            display_path(&self.file)
        ));
        screen::print_unwrapped(escape_text(&self.snippet()));
        if let Some(command) = self.server.command(self.client, self.scope) {
            screen::print_unwrapped(format_args!(
                "The same by its own command:\n\n  {}\n",
                escape_text(&command)
            ));
        }
        self.notes(vault)?.iter().for_each(|note| screen::print(format_args!("{note}\n")));
        Ok(())
    }

    /// Returns what the user has to know besides the entry.
    fn notes(&self, vault: Option<&Path>) -> Result<Vec<String>, CliError> {
        let mut notes = Vec::new();
        if matches!(self.server.transport, ClientTransport::Http { .. }) {
            let near = vault.and_then(|vault| vault.canonicalize().ok());
            let token = trust::state_folder(near.as_deref())?.join("token");
            notes.push(format!(
                "The token is not written there, since such files are synced and committed. Start the client where\n\
                 it can read it:\n\n  export {TOKEN_VARIABLE}=\"$(cat {})\"",
                quote_for_shell(&token)
            ));
        }
        if self.scope == ConfigScope::User && self.client == ClientKind::ClaudeCode {
            notes.push(
                "Claude Code writes that file itself while it runs: close it first, or use its own command."
                    .to_owned(),
            );
        }
        if self.scope == ConfigScope::Project && self.client == ClientKind::ClaudeCode {
            notes.push(
                "Claude Code asks at a terminal before it uses this file; `claude -p` does not ask."
                    .to_owned(),
            );
        }
        if self.client == ClientKind::ClaudeCode {
            notes.push(SHORT_DIALOG.to_owned());
        }
        if self.client == ClientKind::Codex {
            notes.push(CODEX_APPROVAL.to_owned());
        }
        if self.scope == ConfigScope::Project
            && matches!(self.server.transport, ClientTransport::Stdio { .. })
        {
            notes.push(
                "The paths are those of this machine: others who get this project need their own.".to_owned(),
            );
        }
        if self.scope == ConfigScope::Project && self.client == ClientKind::Codex {
            notes.push("Codex reads this file only in projects that you told it to trust.".to_owned());
        }
        Ok(notes)
    }

    fn write(&self, options: &ConnectCommand, vault: Option<&Path>) -> CommandResult {
        let words = display_path(&self.file);
        let file = ConfigFile::read(&self.file).map_err(|error| self.unreadable(&error.to_string()))?;
        let before = file.text.as_deref();
        self.warn_of_foreign_variables(before.unwrap_or_default())?;
        let edited = edit_entry(self.client, before.unwrap_or_default(), &self.server.name, &self.entry);
        let (text, replaces) = match edited.map_err(|why| self.unreadable(&why))? {
            EditOutcome::Unchanged => {
                return Ok(self.report_outcome(
                    options,
                    "already",
                    &format!("{words} has this entry already. Nothing was changed."),
                ));
            }
            EditOutcome::Changed { text, replaces } => (text, replaces),
        };
        if file.is_link {
            let target = display_path(&file.target);
            screen::notice(format_args!("{words} is a link; what it points at is changed: {target}"));
        }
        if replaces {
            let name = &self.server.name;
            screen::notice(format_args!("An entry `{name}` is there already, with other values:"));
        }
        let mut changes = DiffSet::new(DiffLimits::screen());
        let path = file.target.to_string_lossy();
        let shown = |text: &str| redact_secrets(self.client, text);
        let (old, new) = (before.map(shown), shown(&text));
        let (old, new) = (old.as_ref().map(String::as_bytes), Some(new.as_bytes()));
        changes.add(&FileDiff { path: &path, moved_from: None, before: old, after: new });
        changes.render(screen::stderr_paint()).iter().for_each(screen::notice);
        if !options.yes {
            confirm_write()?;
        }
        file.replace(&text, self.scope).map_err(|error| {
            CliError::io(format_args!("write {}", display_path(&file.target)), error)
                .hint("nothing was changed; run it again")
        })?;
        if !options.json {
            self.notes(vault)?.iter().for_each(|note| screen::notice(format_args!("\n{note}")));
        }
        let title = self.client.title();
        Ok(self.report_outcome(
            options,
            "written",
            &format!("Written. Restart {title}; `tollgate doctor --connections` tries it."),
        ))
    }

    /// Warns of variables in the entry that `connect` did not write: they stay, and decide in part what the program
    /// does.
    fn warn_of_foreign_variables(&self, text: &str) -> Result<(), CliError> {
        let (name, is_started) =
            (&self.server.name, matches!(self.server.transport, ClientTransport::Stdio { .. }));
        let theirs = foreign_variables(self.client, text, name).map_err(|why| self.unreadable(&why))?;
        if theirs.is_empty() || !is_started {
            return Ok(());
        }
        let shown: Vec<String> = theirs.iter().map(|variable| escape_line(variable)).collect();
        screen::notice(format_args!(
            "{} the entry `{name}` in {} sets variables that `connect` did not write: {}\n\
             They stay, and reach the program that the client starts. Remove those that are not yours.",
            screen::stderr_paint().odd("Warning:"),
            display_path(&self.file),
            shown.join(", ")
        ));
        Ok(())
    }

    fn report_outcome(&self, options: &ConnectCommand, how: &str, message: &str) -> Exit {
        if options.json {
            let mut answer = self.as_json();
            answer["outcome"] = json!(how);
            screen::json(&answer);
        } else {
            screen::print(message);
        }
        Exit::Done
    }

    /// The error for a file that cannot be parsed. The file stays as it is, and the hint shows the entry to add by
    /// hand.
    fn unreadable(&self, why: &str) -> CliError {
        let message = format!("{} was not changed: {why}", display_path(&self.file));
        CliError::bad_input("unreadable_settings", message)
            .hint(format!("fix it, or add this by hand:\n{}", self.snippet()))
            .details(self.as_json())
    }
}

fn confirm_write() -> Result<(), CliError> {
    let question = screen::stderr_paint().bold("Write this? [y/N]");
    match prompt::ask_at_terminal(&question).as_deref() {
        Some("y" | "yes") => Ok(()),
        Some(_) => Err(CliError::new(Exit::Denied, "declined", "nothing was written")),
        None => Err(CliError::new(
            Exit::Denied,
            "declined",
            "not running in a terminal, so you cannot be asked; nothing was written",
        )
        .hint("look at the difference above, then run it again with --yes")),
    }
}

/// Checks the name of the entry: clients make the names of tools from it.
fn check_name(name: &str) -> Result<(), CliError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if (1..=32).contains(&name.len()) && name.chars().all(plain) {
        return Ok(());
    }
    Err(CliError::bad_input("bad_name", format!("`{name}` cannot be the name of an entry"))
        .hint("use 1 to 32 letters, digits, `_` and `-`"))
}

/// Client settings are UTF-8 text, so every path in them must be.
fn path_to_utf8(path: PathBuf) -> Result<String, CliError> {
    path.into_os_string().into_string().map_err(|path| {
        let words = display_path(Path::new(&path));
        CliError::bad_input("not_text", format!("`{words}` is not valid UTF-8, so no settings can name it"))
            .hint("rename it, or make a link to it with a plain name")
    })
}
