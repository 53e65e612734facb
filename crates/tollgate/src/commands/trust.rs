//! `tollgate trust`: shows what the settings of a vault grant, and lets the user decide about it.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};

use crate::ask::{self, Asker};
use crate::drive::Interrupts;
use crate::exit::Exit;
use crate::place::Place;
use crate::progress::Progress;
use crate::screen::{self, Paint};
use crate::settings::DeclaredHook;
use crate::stop::{Outcome, Stop};
use crate::trust::{self, TrustState, TrustedSettings};
use crate::visible::{one_line, path_words};
use crate::wiring;

/// Shows what the settings of a vault grant beyond the defaults, and lets you trust them
///
/// The settings lie in the vault, which may have come from somebody else. Hooks are programs, and a mode, a rule, a
/// limit or the reach of commands can let calls through that would be asked about. Nothing runs in a vault whose
/// settings grant more than the defaults until you have trusted them. What you trust is kept outside of the vault, in
/// $XDG_STATE_HOME/tollgate/trusted.json: all of the settings, and the content of the programs of hooks. Later changes
/// that only tighten keep the trust; after any other change nothing runs until you have decided again.
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
            let said =
                if was { "The settings are no longer trusted." } else { "The settings were not trusted." };
            self.answer(&place, false, said, &[]);
            return Ok(Exit::Done);
        }
        // Rules that cannot be loaded would be trusted without anybody knowing what they mean.
        let asker = Arc::new(Asker::new(false, Arc::new(Progress::Silent), Interrupts::new(self.json)));
        wiring::check_rules(&place, asker)?;
        let shown = trust::subject(&place);
        let state = trust::trust_state(&place)?;
        if state == TrustState::NotNeeded && shown == TrustedSettings::defaults() {
            let said =
                "The settings of this vault grant nothing beyond the defaults: there is nothing to trust.";
            self.answer(&place, false, said, &[]);
            return Ok(Exit::Done);
        }
        let lines = state.lines();
        if !self.json {
            place.settings.hooks.iter().for_each(|hook| show(hook, &place.vault));
            show_lines(&state, &lines);
        }
        trust::refuse_exposed(&place)?;
        if state == TrustState::Trusted(Vec::new()) {
            self.answer(&place, true, "They are trusted already.", &lines);
            return Ok(Exit::Done);
        }
        if !self.yes {
            ask_for(&lines.join("\n"))?;
        }
        trust::record(&place, &shown)?;
        self.answer(
            &place,
            true,
            "Trusted. Changes that only tighten keep the trust; any other ends it.",
            &lines,
        );
        Ok(Exit::Done)
    }

    fn answer(&self, place: &Place, trusted: bool, said: &str, changes: &[String]) {
        if self.json {
            let hooks: Vec<Value> =
                place.settings.hooks.iter().map(|hook| as_json(hook, &place.vault)).collect();
            let loosened: Vec<String> =
                trust::loosened(place).iter().map(|difference| one_line(&difference.what)).collect();
            screen::json(
                &json!({ "vault": place.vault.to_string_lossy(), "trusted": trusted, "hooks": hooks,
                         "loosened": loosened, "changes": changes }),
            );
        } else {
            screen::say(said);
        }
    }
}

/// What needs a decision, and why.
fn show_lines(state: &TrustState, lines: &[String]) {
    let head = match state {
        TrustState::NotNeeded => {
            "These settings grant nothing beyond the defaults. Trusting them keeps them from being loosened."
        }
        TrustState::Trusted(found) if found.is_empty() => return,
        TrustState::Trusted(_) => "These settings are stricter than those that you trusted:",
        TrustState::Untrusted(_) => "These settings grant more than the defaults:",
        TrustState::Outdated(_) => {
            "You trusted this vault with an earlier version, which did not keep all of its settings. They grant more than the defaults:"
        }
        TrustState::Changed(_) => "These settings are not those that you trusted:",
    };
    screen::say(head);
    lines.iter().for_each(|line| screen::say(format_args!("  {}", Paint::stdout().bold(line))));
}

fn ask_for(lines: &str) -> Result<(), Stop> {
    let question = format!(
        "{lines}\n{}",
        Paint::stderr().bold("Trust these settings? Hooks run with your permissions. [y/N]")
    );
    match ask::at_terminal(&question).as_deref() {
        Some("y" | "yes") => Ok(()),
        Some(_) => Err(Stop::new(Exit::Denied, "declined", "the settings are not trusted")),
        None => Err(Stop::new(
            Exit::Denied,
            "declined",
            "not running in a terminal, so you cannot be asked; the settings are not trusted",
        )
        .hint("look at the settings above, then run it again with --yes")),
    }
}

/// One hook with everything that decides what would run.
fn show(hook: &DeclaredHook, vault: &Path) {
    let paint = Paint::stdout();
    let tools = if hook.tools.is_empty() { "every tool".to_owned() } else { hook.tools.join(", ") };
    screen::say(paint.bold(in_words(hook)));
    match hook.program(vault) {
        Some(program) => screen::say(format_args!("  program: {}", path_words(&program))),
        None => screen::say(format_args!("  program: {}", paint.bad("there is no such program"))),
    }
    for file in &hook.files {
        if let Some(hash) = &file.hash {
            let from = if file.in_vault { "from the vault" } else { "content" };
            screen::say(format_args!("  {from}: {} ({hash})", one_line(&file.shown(vault))));
        }
    }
    screen::say(format_args!("  sees: {}; may take {} ms", one_line(&tools), hook.timeout_ms));
}

fn as_json(hook: &DeclaredHook, vault: &Path) -> Value {
    let known = hook.files.iter().filter_map(|file| Some((file.shown(vault), json!(file.hash?))));
    let files: serde_json::Map<String, Value> = known.collect();
    let program = hook.program(vault).map(|path| path.to_string_lossy().into_owned());
    json!({ "name": hook.name, "when": hook.when, "command": hook.command, "program": program, "files": files,
            "tools": hook.tools, "timeoutMs": hook.timeout_ms })
}

/// `guard (before): [".tollgate/guard.sh"]`, on one line.
fn in_words(hook: &DeclaredHook) -> String {
    let when = serde_json::to_value(hook.when).unwrap_or_default();
    let command = one_line(&json!(hook.command).to_string());
    format!("{} ({}): {command}", one_line(&hook.name), when.as_str().unwrap_or("?"))
}
