//! `tollgate trust`: shows what the settings of a vault grant, and records the user's decision.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};

use crate::cli_error::{CliError, CommandResult};
use crate::exit::Exit;
use crate::progress::Progress;
use crate::prompt::{self, TerminalApprover};
use crate::runtime::InterruptSignal;
use crate::screen::{self};
use app::display_text::{display_path, escape_line};
use app::settings::DeclaredHook;
use app::toolset;
use app::trust::{self, TrustState, TrustedSettings};
use app::vault_context::VaultContext;

/// Shows what the settings of a vault grant beyond the defaults, and lets you trust them
///
/// The settings lie in the vault, which may have come from someone else. Hooks are programs, and a mode, a rule, a
/// limit or a wider sandbox can let calls through that would be asked about. Nothing runs in a vault whose settings
/// grant more than the defaults until you have trusted them. The trusted settings and the contents of hook programs are
/// kept outside of the vault, in $XDG_STATE_HOME/tollgate/trusted.json. Later changes that only tighten keep the trust;
/// after any other change nothing runs until you decide again.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tollgate trust --vault ~/Notes\n  tollgate trust --revoke")]
pub(crate) struct TrustCommand {
    /// Trust the settings without being asked
    #[arg(long, conflicts_with = "revoke")]
    yes: bool,
    /// Withdraw the trust
    #[arg(long)]
    revoke: bool,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl TrustCommand {
    pub(crate) fn run(self, vault: Option<&Path>) -> CommandResult {
        let context = VaultContext::find(vault)?;
        if self.revoke {
            let was = trust::revoke_trust(&context)?;
            let message =
                if was { "The settings are no longer trusted." } else { "The settings were not trusted." };
            self.answer(&context, false, message, &[]);
            return Ok(Exit::Done);
        }
        // Rules that cannot be loaded would be trusted without knowing what they mean.
        let approver = Arc::new(TerminalApprover::new(
            false,
            Arc::new(Progress::Silent),
            InterruptSignal::new(self.json),
        ));
        toolset::check_rules(&context, approver)?;
        let shown = trust::trusted_settings_of(&context);
        let state = trust::trust_state(&context)?;
        if state == TrustState::NotNeeded && shown == TrustedSettings::defaults() {
            let message =
                "The settings of this vault grant nothing beyond the defaults: there is nothing to trust.";
            self.answer(&context, false, message, &[]);
            return Ok(Exit::Done);
        }
        let lines = state.lines();
        if !self.json {
            context.settings.hooks.iter().for_each(|hook| show(hook, &context.vault));
            show_lines(&state, &lines);
        }
        trust::refuse_exposed(&context)?;
        if state == TrustState::Trusted(Vec::new()) {
            self.answer(&context, true, "They are trusted already.", &lines);
            return Ok(Exit::Done);
        }
        if !self.yes {
            confirm_trust(&lines.join("\n"))?;
        }
        trust::record_trust(&context, &shown)?;
        self.answer(
            &context,
            true,
            "Trusted. Changes that only tighten keep the trust; any other ends it.",
            &lines,
        );
        Ok(Exit::Done)
    }

    fn answer(&self, context: &VaultContext, trusted: bool, message: &str, changes: &[String]) {
        if self.json {
            let hooks: Vec<Value> =
                context.settings.hooks.iter().map(|hook| as_json(hook, &context.vault)).collect();
            let loosened: Vec<String> = trust::loosened_settings(context)
                .iter()
                .map(|difference| escape_line(&difference.what))
                .collect();
            screen::json(
                &json!({ "vault": context.vault.to_string_lossy(), "trusted": trusted, "hooks": hooks,
                         "loosened": loosened, "changes": changes }),
            );
        } else {
            screen::print(message);
        }
    }
}

/// Prints what needs a decision, and why.
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
    screen::print(head);
    lines.iter().for_each(|line| screen::print(format_args!("  {}", screen::stdout_paint().bold(line))));
}

fn confirm_trust(lines: &str) -> Result<(), CliError> {
    let question = format!(
        "{lines}\n{}",
        screen::stderr_paint().bold("Trust these settings? Hooks run with your permissions. [y/N]")
    );
    match prompt::ask_at_terminal(&question).as_deref() {
        Some("y" | "yes") => Ok(()),
        Some(_) => Err(CliError::new(Exit::Denied, "declined", "the settings are not trusted")),
        None => Err(CliError::new(
            Exit::Denied,
            "declined",
            "not running in a terminal, so you cannot be asked; the settings are not trusted",
        )
        .hint("look at the settings above, then run it again with --yes")),
    }
}

/// Prints a hook with everything that decides what it runs.
fn show(hook: &DeclaredHook, vault: &Path) {
    let paint = screen::stdout_paint();
    let tools = if hook.tools.is_empty() { "every tool".to_owned() } else { hook.tools.join(", ") };
    screen::print(paint.bold(describe_hook(hook)));
    match hook.program(vault) {
        Some(program) => screen::print(format_args!("  program: {}", display_path(&program))),
        None => screen::print(format_args!("  program: {}", paint.bad("there is no such program"))),
    }
    for file in &hook.files {
        if let Some(hash) = &file.hash {
            let from = if file.in_vault { "from the vault" } else { "content" };
            screen::print(format_args!("  {from}: {} ({hash})", escape_line(&file.shown(vault))));
        }
    }
    screen::print(format_args!("  sees: {}; may take {} ms", escape_line(&tools), hook.timeout_ms));
}

fn as_json(hook: &DeclaredHook, vault: &Path) -> Value {
    let known = hook.files.iter().filter_map(|file| Some((file.shown(vault), json!(file.hash?))));
    let files: serde_json::Map<String, Value> = known.collect();
    let program = hook.program(vault).map(|path| path.to_string_lossy().into_owned());
    json!({ "name": hook.name, "when": hook.when, "command": hook.command, "program": program, "files": files,
            "tools": hook.tools, "timeoutMs": hook.timeout_ms })
}

/// `guard (before): [".tollgate/guard.sh"]`, on one line.
fn describe_hook(hook: &DeclaredHook) -> String {
    let when = serde_json::to_value(hook.when).unwrap_or_default();
    let command = escape_line(&json!(hook.command).to_string());
    format!("{} ({}): {command}", escape_line(&hook.name), when.as_str().unwrap_or("?"))
}
