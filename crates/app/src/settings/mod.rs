//! The settings of a vault: `.tollgate/config.toml`, parsed and validated once.
//!
//! Small on purpose. `keys.rs` lists every key; a golden file shows when the list grows.

mod commands;
mod file;
mod hook;
mod hook_files;
mod keys;
mod text_lines;
mod receipts;
mod servers;
mod state;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use engine::{Policy, Rule};
use envelope::Hash;
use mcp_client::ServerSettings;
use plan::CheckLimits;
use shell::CommandSettings;
use toml::Spanned;

use crate::bounded_file;
use crate::display_text::display_path;
use crate::error::AppError;
use crate::vault_context::enclosing_vault;
use text_lines::line_of;

pub use hook::DeclaredHook;
pub use hook_files::HookFile;
pub use keys::template;

/// Path of the settings file in the vault.
pub const CONFIG_FILE: &str = ".tollgate/config.toml";

/// Largest settings file that is read.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// The settings of one vault.
#[derive(Clone)]
pub struct Settings {
    pub policy: Policy,
    /// Folder of runs, if it was set.
    pub state: Option<PathBuf>,
    /// Folder of runs that the user named for one command. It takes the place of `state` and needs no trust, as it does not
    /// come from the vault.
    pub given_state: Option<PathBuf>,
    /// Declared hooks, not necessarily trusted.
    pub hooks: Vec<DeclaredHook>,
    pub commands: CommandSettings,
    /// Declared servers, not necessarily trusted or approved.
    pub servers: BTreeMap<String, ServerSettings>,
    /// True if there is a settings file.
    pub written: bool,
    /// Hash of the file that they were read from.
    pub source: Option<Hash>,
}

impl Settings {
    /// Returns the defaults, for a vault without settings.
    pub fn cautious() -> Settings {
        Settings {
            policy: Policy::cautious(),
            state: None,
            given_state: None,
            hooks: Vec::new(),
            commands: CommandSettings::default(),
            servers: BTreeMap::new(),
            written: false,
            source: None,
        }
    }

    /// Reads the settings of a vault, or the cautious defaults if it has none.
    pub fn load(vault: &Path) -> Result<Settings, AppError> {
        let path = vault.join(CONFIG_FILE);
        let bad = |why: String, hint: &str| {
            AppError::bad_input("bad_config", format!("{}: {why}", display_path(&path))).hint(hint)
        };
        if vault.join(state::TOLLGATE_FOLDER).is_symlink() {
            return Err(bad(
                format!("{} is a link", state::TOLLGATE_FOLDER),
                "make .tollgate a folder: a link could lead to the settings and the runs of another vault",
            ));
        }
        let Some(bytes) = bounded_file::read_in_vault(&path, MAX_SETTINGS_BYTES).map_err(|why| {
            bad(why, "make it a text file of at most 1 MiB, or move it away and run `tollgate init`")
        })?
        else {
            return Ok(Settings::cautious());
        };
        let source = Hash::of(&bytes);
        let text = String::from_utf8(bytes).map_err(|error| {
            let why = format!("it is not UTF-8 text (byte {})", error.utf8_error().valid_up_to());
            bad(why, "save it as UTF-8, or move it away and run `tollgate init`")
        })?;
        let parsed =
            Settings::parse(&text, vault).map(|settings| Settings { source: Some(source), ..settings });
        parsed.map_err(|why| {
            bad(
                why,
                "fix the line, or move the file away and run `tollgate init` for one with every key explained",
            )
        })
    }

    /// Returns the real path of a state folder that the user named for one command. Fails where tools, or another vault,
    /// could change it.
    pub(crate) fn resolve_given_state(given: &Path, vault: &Path) -> Result<PathBuf, AppError> {
        let bad = |why: String| {
            AppError::bad_input("bad_state", why)
                .hint("name a folder of its own outside of every vault: --state DIR")
        };
        let shown = display_path(given);
        let absolute = std::path::absolute(given)
            .map_err(|error| bad(format!("--state cannot be `{shown}`: {error}")))?;
        let Some(text) = absolute.to_str() else {
            return Err(bad(format!("--state cannot be `{shown}`: it is not UTF-8 text")));
        };
        let state = state::resolve(text, vault, None).map_err(bad)?;
        match enclosing_vault(&state) {
            Some(other) if other != vault => Err(bad(format!(
                "--state cannot be `{shown}`: it is inside the vault `{}`",
                display_path(other)
            ))),
            Some(_) | None => Ok(state),
        }
    }

    /// Returns the limits of a plan under these settings.
    pub fn check_limits(&self) -> CheckLimits {
        let limits = &self.policy.limits;
        CheckLimits {
            max_attempts: limits.max_attempts.get(),
            max_call_timeout_ms: limits.call_timeout_ms.get(),
        }
    }

    /// Parses and validates the text. Fails with a message and a line number.
    fn parse(text: &str, vault: &Path) -> Result<Settings, String> {
        let mut file = file::read(text)?;
        let at = |offset: usize, why: String| format!("line {}: {why}", line_of(text, offset));
        for hook in &mut file.hooks {
            hook.build(hook.command.clone(), Vec::new(), vault)?;
            hook.bind_files(vault)?;
        }
        let mut policy = Policy::cautious();
        file.limits.apply(&mut policy.limits);
        policy.receipts = file.receipts.resolve().map_err(|(offset, why)| at(offset, why))?;
        policy.mode = file.mode.unwrap_or(policy.mode);
        policy.approval = file.approval;
        policy.sibling_failure = file.sibling_failure.unwrap_or(policy.sibling_failure);
        policy.hooks = file.hooks.iter().map(|hook| hook.declaration(vault)).collect();
        policy.rules = file
            .rules
            .into_iter()
            .map(|rule| require_condition(rule).map_err(|(offset, why)| at(offset, why)))
            .collect::<Result<_, _>>()?;
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let resolved = |given: Spanned<String>| {
            state::resolve(given.get_ref(), vault, home.as_deref()).map_err(|why| at(given.span().start, why))
        };
        let state = file.state.map(resolved).transpose()?;
        let commands = commands::resolve(file.commands, home.as_deref())?;
        policy.commands = commands::declaration(&commands);
        let servers = servers::resolve(file.servers, home.as_deref())?;
        policy.servers = servers::declarations(&servers);
        let hooks = file.hooks;
        Ok(Settings {
            policy,
            state,
            given_state: None,
            hooks,
            commands,
            servers,
            written: true,
            source: None,
        })
    }
}

/// Fails for a rule without a condition: it would match every call, which is the purpose of the mode.
fn require_condition(rule: Spanned<Rule>) -> Result<Rule, (usize, String)> {
    let start = rule.span().start;
    let rule = rule.into_inner();
    if rule.tools.is_empty() && rule.paths.is_empty() && rule.risk.is_none() && rule.command.is_none() {
        let why = "this rule names no `tools`, `paths`, `risk` or `command`; say which calls it is about, or set `mode`, which is about all of them";
        return Err((start, why.to_owned()));
    }
    Ok(rule)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use engine::Mode;
    use expect_test::{Expect, expect};

    use super::Settings;

    /// The only place in these tests that reads settings.
    #[track_caller]
    fn refused(text: &str, expect: Expect) {
        let why = Settings::parse(text, Path::new("/vault")).err().unwrap_or_else(|| "accepted".to_owned());
        expect.assert_eq(&why);
    }

    #[test]
    fn an_empty_file_is_the_cautious_policy() {
        let settings = Settings::parse("", Path::new("/vault")).unwrap();
        assert_eq!(settings.policy, engine::Policy::cautious());
        assert!(settings.state.is_none() && settings.hooks.is_empty() && settings.written);
    }

    #[test]
    fn what_is_set_holds_and_the_rest_stays() {
        let text = "mode = \"trusted\"\nstate = \"../state\"\n[limits]\nmax_attempts = 2\n\
                    [[rules]]\neffect = \"deny\"\npaths = [\"Private/**\"]\n\
                    [[hooks]]\nname = \"guard\"\ncommand = [\"./guard.sh\"]\n";
        let settings = Settings::parse(text, Path::new("/vault")).unwrap();
        assert_eq!(settings.policy.mode, Mode::Trusted);
        assert_eq!(settings.policy.limits.max_attempts.get(), 2);
        assert_eq!(settings.policy.limits.max_concurrency, engine::Policy::cautious().limits.max_concurrency);
        assert_eq!(settings.policy.rules.len(), 1);
        assert_eq!(settings.hooks.len(), 1);
        assert_eq!(settings.state.as_deref(), Some(Path::new("/state")));
    }

    #[test]
    fn budgets_of_receipts_are_set_one_by_one() {
        let text = "[receipts]\nmax_tokens = 9000\ncommand = 4000\n";
        let receipts = Settings::parse(text, Path::new("/vault")).unwrap().policy.receipts;
        assert_eq!(receipts.max_tokens, 9000);
        assert_eq!(receipts.budgets, [(envelope::ReceiptFamily::Command, 4000)].into());
        refused(
            "[receipts]\ncomand = 4000\n",
            expect!["line 2: `receipts.comand` is not a key; did you mean `receipts.command`?"],
        );
        refused(
            "[receipts]\nmax_tokens = 0\n",
            expect!["line 2: `receipts.max_tokens` cannot be 0: a receipt needs at least 50 tokens"],
        );
        refused(
            "\n[receipts]\nread = 49\n",
            expect!["line 3: `receipts.read` cannot be 49: a receipt needs at least 50 tokens"],
        );
        refused(
            "[receipts]\nread = \"much\"\n",
            expect![[
                r#"line 2: `receipts.read` cannot be "much"; write it like `read = 7000`. The content of a file."#
            ]],
        );
        refused(
            "[receipts]\nmax_tokens = 1000\nread = 100\ncommand = 4000\n",
            expect![
                "line 4: `receipts.command` cannot be 4000: no receipt may have more than `receipts.max_tokens`, which is 1000; raise that first"
            ],
        );
    }

    #[test]
    fn a_wrong_key_is_named_with_its_line_and_the_nearest_right_one() {
        refused("mode = \"ask\"\nmodee = 1\n", expect!["line 2: `modee` is not a key; did you mean `mode`?"]);
        refused(
            "[limits]\nmax_concurency = 3\n",
            expect!["line 2: `limits.max_concurency` is not a key; did you mean `limits.max_concurrency`?"],
        );
        refused(
            "[[rules]]\neffect = \"deny\"\n\n[[rules]]\neffect = \"ask\"\npath = [\"x\"]\n",
            expect!["line 6: `rules.path` is not a key; did you mean `rules.paths`?"],
        );
        refused(
            "[[rules]]\neffect = \"deny\"\ncomand = [\"ls\"]\n",
            expect!["line 3: `rules.comand` is not a key; did you mean `rules.command`?"],
        );
        refused(
            "[[rules]]\neffect = \"deny\"\ncommand = [\"ls\"]\nnotMatch = [\"id\"]\n",
            expect!["line 4: `rules.notMatch` is not a key; did you mean `rules.not_match`?"],
        );
        refused(
            "[colours]\nx = 1\n",
            expect![
                "line 1: `colours` is not a key; the keys are `mode`, `state`, `sibling_failure`, `limits`, `receipts`, `commands`, `approval`, `rules`, `hooks` and `servers`"
            ],
        );
    }

    #[test]
    fn a_wrong_value_is_named_with_its_line() {
        refused(
            "\nmode = \"yolo\"\n",
            expect![[
                r#"line 2: `mode` cannot be "yolo"; write it like `mode = "ask"`. Effect on a call that no rule matches: "ask" (reads run, a plan with writes or commands needs one approval), "read-only" (only reads run) or "trusted" (every call that no rule denies runs)."#
            ]],
        );
        refused(
            "[limits]\nmax_attempts = 0\n",
            expect![
                "line 2: `limits.max_attempts` cannot be 0; write it like `max_attempts = 5`. Attempts at one call, the first included, whatever a plan asks for."
            ],
        );
        refused(
            "[[rules]]\neffect = \"deny\"\ncommand = \"git push\"\n",
            expect![[
                r#"line 3: `rules.command` cannot be "git push"; write it like `command = ["git", ["push", "fetch"]]`. The program of a command and the words that follow it, each a word or a list of alternatives. A command is allowed only by a rule with `command`, and a line only when every command in it is. An allow rule covers exactly its words, and further ones that are known to be harmless (such as `git log --oneline`); "*" matches one more word, "..." at the end for any number, at your risk. What runs any command it is given (a shell, env, sudo) cannot be allowed. A rule that asks or denies needs one command of the line, with any words behind it."#
            ]],
        );
        refused("mode = \n", expect!["line 1: string values must be quoted, expected literal string"]);
        refused(
            "[limits]\nmax_attempts = \"three\"\n",
            expect![[
                r#"line 2: `limits.max_attempts` cannot be "three"; write it like `max_attempts = 5`. Attempts at one call, the first included, whatever a plan asks for."#
            ]],
        );
        refused(
            "rules = [1]\n",
            expect![[
                r#"line 1: `rules` is a list of tables: write `[[rules]]` for each, and its keys below, like `effect = "deny"`"#
            ]],
        );
        refused(
            "limits = 1\n",
            expect![
                "line 1: `limits` is a table: write `[limits]`, and its keys below, like `max_concurrency = 8`"
            ],
        );
        refused(
            "hooks = \"guard.sh\"\n",
            expect![[
                r#"line 1: `hooks` is a list of tables: write `[[hooks]]` for each, and its keys below, like `name = "guard"`"#
            ]],
        );
        refused(
            "\n[[rules]]\neffect = \"deny\"\n",
            expect![
                "line 2: this rule names no `tools`, `paths`, `risk` or `command`; say which calls it is about, or set `mode`, which is about all of them"
            ],
        );
        refused(
            "mode = \"ask\"\nstate = \"Notes\"\n",
            expect![
                "line 2: `state` cannot be `Notes`: that folder is inside the vault, where tools could change what runs recorded; leave it out to keep runs in .tollgate, or name a folder of its own outside of the vault"
            ],
        );
        refused("[[hooks]]\nname = \"x\"\n", expect!["line 1: missing field `command`"]);
        refused("[[hooks]]\nname = \"x\"\ncommand = []\n", expect!["hook `x` has an empty command"]);
    }
}
