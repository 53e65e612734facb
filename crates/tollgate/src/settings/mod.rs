//! What the owner of a vault has set: `.tollgate/config.toml`, read once and turned into meaning.
//!
//! Small on purpose. [`keys`] lists every key; a golden file shows when the list grows.

mod file;
mod keys;
mod place_in_text;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use engine::{CommandHook, Hook, Policy};

use crate::stop::Stop;

pub(crate) use keys::template;

/// Where the settings stand, seen from the vault.
pub(crate) const CONFIG_FILE: &str = ".tollgate/config.toml";

/// The settings of one vault.
pub(crate) struct Settings {
    pub(crate) policy: Policy,
    /// Where runs are kept, when not in the vault.
    pub(crate) state: Option<PathBuf>,
    pub(crate) hooks: Vec<Arc<dyn Hook>>,
    /// Whether there is a settings file at all.
    pub(crate) written: bool,
}

impl Settings {
    /// What holds where nobody has set anything.
    pub(crate) fn cautious() -> Settings {
        Settings { policy: Policy::cautious(), state: None, hooks: Vec::new(), written: false }
    }

    /// Reads the settings of a vault; a vault without any has the cautious ones.
    pub(crate) fn load(vault: &Path) -> Result<Settings, Stop> {
        let path = vault.join(CONFIG_FILE);
        match std::fs::read_to_string(&path) {
            Ok(text) => Settings::parse(&text, vault).map_err(|why| {
                Stop::bad_input("bad_config", format!("{}: {why}", path.display())).hint(
                    "mend the line, or move the file away and run `tollgate init` for one with every key explained",
                )
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Settings::cautious()),
            Err(error) => Err(Stop::io(format_args!("read {}", path.display()), error)),
        }
    }

    /// Turns the text into settings, or says what is wrong with it and in which line.
    fn parse(text: &str, vault: &Path) -> Result<Settings, String> {
        let file = file::read(text)?;
        let hooks = file.hooks.into_iter().map(|hook| command_hook(hook, vault)).collect::<Result<_, _>>()?;
        let mut policy = Policy::cautious();
        file.limits.apply(&mut policy.limits);
        policy.mode = file.mode.unwrap_or(policy.mode);
        policy.sibling_failure = file.sibling_failure.unwrap_or(policy.sibling_failure);
        policy.rules = file.rules;
        let state = file.state.map(|state| vault.join(state));
        Ok(Settings { policy, state, hooks, written: true })
    }
}

fn command_hook(hook: file::HookEntry, vault: &Path) -> Result<Arc<dyn Hook>, String> {
    let mut command = hook.command;
    // A program named by a path belongs to the vault, wherever we were started from.
    if let Some(program) = command.first_mut()
        && program.contains('/')
    {
        *program = vault.join(&*program).to_string_lossy().into_owned();
    }
    let limit = Duration::from_millis(hook.timeout_ms.get());
    CommandHook::new(hook.name, command, hook.when, limit, &hook.tools)
        .map(|hook| Arc::new(hook) as Arc<dyn Hook>)
        .map_err(|error| error.to_string())
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
        assert_eq!(settings.state.as_deref(), Some(Path::new("/vault/../state")));
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
            "[colours]\nx = 1\n",
            expect![
                "line 1: `colours` is not a key; the keys are `mode`, `state`, `sibling_failure`, `limits`, `rules` and `hooks`"
            ],
        );
    }

    #[test]
    fn a_wrong_value_is_named_with_its_line() {
        refused(
            "\nmode = \"yolo\"\n",
            expect![[
                r#"line 2: `mode` cannot be "yolo"; write it like `mode = "ask"`. What happens to a call that no rule speaks about: "ask" (reads run, a plan with writes or commands needs one yes), "read-only" (nothing else than reads runs) or "trusted" (everything that no rule denies runs)."#
            ]],
        );
        refused(
            "[limits]\nmax_attempts = 0\n",
            expect![
                "line 2: `limits.max_attempts` cannot be 0; write it like `max_attempts = 5`. Attempts at one call, the first included, whatever a plan asks for."
            ],
        );
        refused("mode = \n", expect!["line 1: string values must be quoted, expected literal string"]);
        refused(
            "[limits]\nmax_attempts = \"three\"\n",
            expect![[
                r#"line 2: `limits.max_attempts` cannot be "three"; write it like `max_attempts = 5`. Attempts at one call, the first included, whatever a plan asks for."#
            ]],
        );
        refused("[[hooks]]\nname = \"x\"\n", expect!["line 1: missing field `command`"]);
        refused("[[hooks]]\nname = \"x\"\ncommand = []\n", expect!["hook `x` has an empty command"]);
    }
}
