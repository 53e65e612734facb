//! `tollgate trust`: shows the programs that a vault wants to run, and lets a person allow them.

use std::path::Path;

use clap::Args;
use serde_json::{Value, json};

use crate::ask;
use crate::exit::Exit;
use crate::place::Place;
use crate::screen::{self, Paint};
use crate::settings::DeclaredHook;
use crate::stop::{Outcome, Stop};
use crate::trust;
use crate::visible::{one_line, path_words};

/// Shows the hooks of a vault and what it loosens, and lets them hold
///
/// Hooks are programs, and a mode, a rule or a reach of commands can let calls through that would be asked about. The
/// settings that name them lie in the vault, which may have come from somebody else. Nothing is run in a vault whose
/// hooks and loosened settings were not trusted here. The word is kept outside of the vault, in
/// $XDG_STATE_HOME/tollgate/trusted.json, and ends when one of them, or a file of the vault that a hook names, changes.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tollgate trust --vault ~/Notes\n  tollgate trust --revoke")]
pub(crate) struct Trust {
    /// Trust them without being asked
    #[arg(long, conflicts_with = "revoke")]
    yes: bool,
    /// Take the trust back
    #[arg(long)]
    revoke: bool,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Trust {
    pub(crate) fn run(self, vault: Option<&Path>) -> Outcome {
        let place = Place::find(vault)?;
        if self.revoke {
            let was = trust::revoke(&place)?;
            let said = if was { "The hooks are no longer trusted." } else { "The hooks were not trusted." };
            self.answer(&place, false, said);
            return Ok(Exit::Done);
        }
        if !trust::needs_trust(&place) {
            self.answer(
                &place,
                false,
                "The settings of this vault name no hooks and loosen nothing: there is nothing to trust.",
            );
            return Ok(Exit::Done);
        }
        let shown = trust::subject(&place);
        if !self.json {
            place.settings.hooks.iter().for_each(|hook| show(hook, &place.vault));
            let loosened = trust::loosened(&place);
            loosened.iter().for_each(|said| screen::say(Paint::stdout().bold(one_line(said))));
        }
        trust::refuse_exposed(&place)?;
        if trust::is_trusted(&place)? {
            self.answer(&place, true, "They are trusted already.");
            return Ok(Exit::Done);
        }
        if !self.yes {
            let hooks = place.settings.hooks.iter().map(trust::in_words);
            let loosened = trust::loosened(&place);
            let words: Vec<String> = hooks.chain(loosened.iter().map(|said| one_line(said))).collect();
            ask_for(&words.join("\n"))?;
        }
        trust::record(&place, shown)?;
        self.answer(&place, true, "Trusted, until one of them changes.");
        Ok(Exit::Done)
    }

    fn answer(&self, place: &Place, trusted: bool, said: &str) {
        if self.json {
            let hooks: Vec<Value> =
                place.settings.hooks.iter().map(|hook| as_json(hook, &place.vault)).collect();
            screen::json(
                &json!({ "vault": place.vault.to_string_lossy(), "trusted": trusted, "hooks": hooks,
                         "loosened": trust::loosened(place) }),
            );
        } else {
            screen::say(said);
        }
    }
}

fn ask_for(hooks: &str) -> Result<(), Stop> {
    let question = format!("{hooks}\n{}", Paint::stderr().bold("May this be so, with your rights? [y/N]"));
    match ask::at_terminal(&question).as_deref() {
        Some("y" | "yes") => Ok(()),
        Some(_) => Err(Stop::new(Exit::Denied, "declined", "the hooks are not trusted")),
        None => Err(Stop::new(
            Exit::Denied,
            "declined",
            "no terminal is there to ask at, so the hooks are not trusted",
        )
        .hint("look at the hooks above, then run it again with --yes")),
    }
}

/// One hook with everything that decides what would run.
fn show(hook: &DeclaredHook, vault: &Path) {
    let paint = Paint::stdout();
    let tools = if hook.tools.is_empty() { "every tool".to_owned() } else { hook.tools.join(", ") };
    screen::say(paint.bold(trust::in_words(hook)));
    match hook.program(vault) {
        Some(program) => screen::say(format_args!("  program: {}", path_words(&program))),
        None => screen::say(format_args!("  program: {}", paint.bad("there is no such program"))),
    }
    for (name, hash) in trust::vault_files(hook, vault) {
        screen::say(format_args!("  from the vault: {} ({hash})", one_line(name)));
    }
    screen::say(format_args!("  sees: {}; may take {} ms", one_line(&tools), hook.timeout_ms));
}

fn as_json(hook: &DeclaredHook, vault: &Path) -> Value {
    let files: serde_json::Map<String, Value> = trust::vault_files(hook, vault)
        .into_iter()
        .map(|(name, hash)| (name.to_owned(), json!(hash)))
        .collect();
    let program = hook.program(vault).map(|path| path.to_string_lossy().into_owned());
    json!({ "name": hook.name, "when": hook.when, "command": hook.command, "program": program, "files": files,
            "tools": hook.tools, "timeoutMs": hook.timeout_ms })
}
