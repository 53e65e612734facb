//! Which vaults may run the programs that their settings name.
//!
//! A vault can come from anywhere, settings included, so the word of a person is kept outside of it: for each
//! vault one hash over its place, its `[[hooks]]`, the files of the vault that their commands name, and what
//! its settings loosen: the mode, rules that allow, how far commands reach, which servers are called. When any of them changes, the word no longer holds. What a program loads by itself is not covered.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{Hook, Mode, RuleEffect};
use envelope::{Hash, canonical_hash};
use serde::Serialize;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::place::Place;
use crate::settings::DeclaredHook;
use crate::stop::Stop;
use crate::visible::{one_line, path_words};

/// The hooks of a vault, ready to run. The only way to them is past the word of a person.
pub(crate) fn hooks(place: &Place) -> Result<Vec<Arc<dyn Hook>>, Stop> {
    let declared = &place.settings.hooks;
    let loosened = loosened(place);
    if needs_trust(place) && !is_trusted(place)? {
        let hooks = declared.iter().map(in_words);
        let listed: String = hooks
            .chain(loosened.iter().map(|said| one_line(said)))
            .map(|said| format!("\n  {said}"))
            .collect();
        let (code, what) = match declared.is_empty() {
            true => ("untrusted_settings", "settings"),
            false => ("untrusted_hooks", "hooks"),
        };
        let message = format!("nothing was run: this vault has {what} that you have not trusted{listed}");
        return Err(Stop::new(Exit::Denied, code, message)
            .hint(format!("look at them and decide with `tollgate trust {}`", place.vault_words()))
            .details(json!({ "hooks": declared, "loosened": loosened })));
    }
    refuse_exposed(place)?;
    let built = declared.iter().map(|hook| hook.build(&place.vault)).collect::<Result<_, _>>();
    built.map_err(|why| Stop::bad_input("bad_config", why))
}

/// Whether the settings of a vault ask for more than they may have by themselves.
pub(crate) fn needs_trust(place: &Place) -> bool {
    !place.settings.hooks.is_empty() || !loosened(place).is_empty()
}

/// What the settings let through that would be asked about or refused without them, one line each.
pub(crate) fn loosened(place: &Place) -> Vec<String> {
    let policy = &place.settings.policy;
    let mode = (policy.mode == Mode::Trusted).then(|| "nobody is asked: the mode is trusted".to_owned());
    let allowing = policy.rules.iter().zip(1..).filter(|(rule, _)| rule.effect == RuleEffect::Allow);
    let rules = allowing.map(|(rule, number)| {
        format!(
            "rule {number} lets calls through unasked: {}",
            serde_json::to_string(rule).unwrap_or_default()
        )
    });
    let servers = place.settings.servers.iter().map(|(name, server)| server.in_words(name));
    mode.into_iter().chain(rules).chain(place.settings.commands.loosened()).chain(servers).collect()
}

/// A file that tools can write would let whoever sends calls choose what runs before the next one.
pub(crate) fn refuse_exposed(place: &Place) -> Result<(), Stop> {
    let vault = &place.vault;
    let kept = vault.join(".tollgate");
    refuse_exposed_server(place)?;
    for hook in &place.settings.hooks {
        if let Some(folder) = vault_folder(hook, vault) {
            let (name, folder) = (one_line(&hook.name), one_line(folder));
            let message = format!("hook `{name}` names `{folder}`, a folder of the vault");
            return Err(Stop::new(Exit::Denied, "exposed_hook", message)
                .hint("name the program itself, in .tollgate or outside of the vault"));
        }
        for (name, _) in vault_files(hook, vault) {
            let path = vault.join(name);
            let real = path.canonicalize().unwrap_or_else(|_gone| path.clone());
            let exposed = |path: &Path| path.starts_with(vault) && !path.starts_with(&kept);
            if exposed(&path) || exposed(&real) {
                let name = one_line(name);
                return Err(Stop::new(
                    Exit::Denied,
                    "exposed_hook",
                    format!("hook `{}` names `{name}`, a file that tools can change", one_line(&hook.name)),
                )
                .hint(
                    "keep what a hook needs in .tollgate, which no tool reaches, or outside of the vault",
                ));
            }
        }
    }
    Ok(())
}

/// A program of a server in the vault: tools could change it, and it may get what no tool gets.
fn refuse_exposed_server(place: &Place) -> Result<(), Stop> {
    for (name, server) in &place.settings.servers {
        let command = server.command.as_deref().unwrap_or_default();
        if let Some((file, _)) = files_in_vault(command, &place.vault).first() {
            let message =
                format!("server `{}` names `{}`, a file of the vault", one_line(name), one_line(file));
            return Err(Stop::new(Exit::Denied, "exposed_server", message).hint(
                "keep its program outside of the vault, and name the folder in `readable` of that server",
            ));
        }
    }
    Ok(())
}

/// `guard (before): .tollgate/guard.sh`, on one line.
pub(crate) fn in_words(hook: &DeclaredHook) -> String {
    let when = serde_json::to_value(hook.when).unwrap_or_default();
    let command = one_line(&json!(hook.command).to_string());
    format!("{} ({}): {command}", one_line(&hook.name), when.as_str().unwrap_or("?"))
}

pub(crate) fn is_trusted(place: &Place) -> Result<bool, Stop> {
    let trusted = read(&trust_file(&place.vault)?)?;
    Ok(trusted.get(&key(place)) == Some(&subject(place)))
}

/// Writes down that the hooks may run as they were `shown`. What changed while the person was looking is
/// not what they said yes to.
pub(crate) fn record(place: &Place, shown: Hash) -> Result<(), Stop> {
    if subject(place) != shown {
        return Err(Stop::new(Exit::Denied, "hooks_changed", "the hooks changed while you were asked")
            .hint("look at them again with `tollgate trust`"));
    }
    let file = trust_file(&place.vault)?;
    let _turn = take_turn(&file)?;
    let mut trusted = read(&file)?;
    trusted.insert(key(place), shown);
    write(&file, &trusted)
}

/// Takes the word back. Returns whether there was one.
pub(crate) fn revoke(place: &Place) -> Result<bool, Stop> {
    let file = trust_file(&place.vault)?;
    let _turn = take_turn(&file)?;
    let mut trusted = read(&file)?;
    let was = trusted.remove(&key(place)).is_some();
    if was {
        write(&file, &trusted)?;
    }
    Ok(was)
}

/// Vaults by their real path, each with what was trusted in it.
type Trusted = BTreeMap<String, Hash>;

fn key(place: &Place) -> String {
    place.vault.to_string_lossy().into_owned()
}

/// Everything that a person says yes to.
pub(crate) fn subject(place: &Place) -> Hash {
    let vault = Hash::of(place.vault.as_os_str().as_encoded_bytes());
    let files: serde_json::Map<String, Value> = place
        .settings
        .hooks
        .iter()
        .flat_map(|hook| vault_files(hook, &place.vault))
        .map(|(name, hash)| (name.to_owned(), json!(hash)))
        .collect();
    let mut said = json!({ "vault": vault, "hooks": place.settings.hooks, "files": files });
    let loosened = loosened(place);
    if !loosened.is_empty() {
        said["loosened"] = json!(loosened);
    }
    canonical_hash(&said)
}

/// The files of the vault that the command of a hook names: whoever fills the vault can change them.
pub(crate) fn vault_files<'h>(hook: &'h DeclaredHook, vault: &Path) -> Vec<(&'h str, Hash)> {
    files_in_vault(&hook.command, vault)
}

fn files_in_vault<'h>(command: &'h [String], vault: &Path) -> Vec<(&'h str, Hash)> {
    let in_vault = |path: &Path| {
        path.starts_with(vault) || path.canonicalize().is_ok_and(|real| real.starts_with(vault))
    };
    let named = command.iter().enumerate().filter(|(place, word)| *place > 0 || word.contains('/'));
    let files = named.filter_map(|(_, word)| {
        let path = vault.join(word);
        let bytes = (path.is_file() && in_vault(&path)).then(|| std::fs::read(&path).ok()).flatten()?;
        Some((word.as_str(), Hash::of(&bytes)))
    });
    files.collect()
}

/// A folder of the vault that a command names: what a program finds in it cannot be held to a hash.
fn vault_folder<'h>(hook: &'h DeclaredHook, vault: &Path) -> Option<&'h str> {
    let within = |path: &Path| path.canonicalize().is_ok_and(|real| real.starts_with(vault));
    hook.command.iter().map(String::as_str).find(|word| {
        let path = vault.join(word);
        path.is_dir() && within(&path)
    })
}

/// Held while the file is read and written, so that two who trust at once do not undo each other.
pub(crate) fn take_turn(file: &Path) -> Result<std::fs::File, Stop> {
    let lock = file.with_extension("lock");
    let take = || {
        if let Some(folder) = file.parent() {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let held = std::fs::File::options().create(true).truncate(false).write(true).open(&lock)?;
        held.lock()?;
        Ok(held)
    };
    take().map_err(|error: std::io::Error| Stop::io(format_args!("lock {}", path_words(&lock)), error))
}

/// `$XDG_STATE_HOME/tollgate/trusted.json`, which must not be in reach of the vault it speaks about.
pub(crate) fn trust_file(vault: &Path) -> Result<PathBuf, Stop> {
    Ok(state_folder(Some(vault))?.join("trusted.json"))
}

/// `$XDG_STATE_HOME/tollgate`, which must not be inside the vault.
pub(crate) fn state_folder(vault: Option<&Path>) -> Result<PathBuf, Stop> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let states =
        absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    let Some(states) = states else {
        return Err(Stop::bad_input("no_state_home", "neither XDG_STATE_HOME nor HOME names a folder")
            .hint("set one of them: what must stay outside of the vault is kept there"));
    };
    let folder = states.join("tollgate");
    let nearest = folder.ancestors().find_map(|folder| folder.canonicalize().ok());
    let inside = |vault: &Path| {
        folder.starts_with(vault) || nearest.as_ref().is_some_and(|real| real.starts_with(vault))
    };
    if vault.is_some_and(inside) {
        let message =
            format!("`{}` is inside the vault, so it cannot say what the vault may run", path_words(&folder));
        return Err(Stop::bad_input("no_state_home", message)
            .hint("set XDG_STATE_HOME to a folder outside of the vault"));
    }
    Ok(folder)
}

fn read(file: &Path) -> Result<Trusted, Stop> {
    let bad = |why: String| {
        Stop::bad_input("bad_trust_file", format!("{}: {why}", path_words(file)))
            .hint("move it away; `tollgate trust` makes a new one")
    };
    match std::fs::read(file) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Trusted::new()),
        Err(error) => Err(bad(error.to_string())),
    }
}

/// Whole or not at all, for the owner only: the temporary file is made with mode 600.
pub(crate) fn write(file: &Path, trusted: &impl Serialize) -> Result<(), Stop> {
    let folder = file.parent().unwrap_or(file);
    let written = || {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut new = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer_pretty(&mut new, trusted)?;
        new.write_all(b"\n")?;
        new.as_file().sync_all()?;
        new.persist(file)?;
        Ok(())
    };
    written().map_err(|error: std::io::Error| Stop::io(format_args!("write {}", path_words(file)), error))
}
