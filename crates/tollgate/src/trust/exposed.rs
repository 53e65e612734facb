//! Programs that tools could change: whoever sends calls would choose what runs before the next one.

use std::path::Path;

use crate::exit::Exit;
use crate::place::Place;
use crate::settings::DeclaredHook;
use crate::stop::Stop;
use crate::visible::one_line;

/// Fails if a hook or a server names a file of the vault that tools can write.
pub(crate) fn refuse_exposed(place: &Place) -> Result<(), Stop> {
    let vault = &place.vault;
    let kept = vault.join(".tollgate");
    refuse_exposed_server(place)?;
    for hook in &place.settings.hooks {
        let name = one_line(&hook.name);
        if let Some(folder) = vault_folder(hook, vault) {
            let message = format!("hook `{name}` names `{}`, a folder of the vault", one_line(folder));
            return Err(Stop::new(Exit::Denied, "exposed_hook", message)
                .hint("name the program itself, in .tollgate or outside of the vault"));
        }
        let mut known = hook.files.iter().filter(|file| file.in_vault && file.hash.is_some());
        if let Some(file) = known.find(|file| !file.path.starts_with(&kept)) {
            let shown = one_line(&file.shown(vault));
            let message = format!("hook `{name}` names `{shown}`, a file that tools can change");
            return Err(Stop::new(Exit::Denied, "exposed_hook", message).hint(
                "keep what a hook needs in .tollgate, which no tool reaches, or outside of the vault",
            ));
        }
    }
    Ok(())
}

/// A program of a server in the vault: tools could change it, and it may get what no tool gets.
fn refuse_exposed_server(place: &Place) -> Result<(), Stop> {
    for (name, server) in &place.settings.servers {
        let command = server.command.as_deref().unwrap_or_default();
        let named = command.iter().enumerate().filter(|(place, word)| *place > 0 || word.contains('/'));
        let in_vault = |path: &Path| {
            let real = path.canonicalize();
            path.is_file()
                && (path.starts_with(&place.vault) || real.is_ok_and(|real| real.starts_with(&place.vault)))
        };
        if let Some((_, file)) = named.into_iter().find(|(_, word)| in_vault(&place.vault.join(word))) {
            let message =
                format!("server `{}` names `{}`, a file of the vault", one_line(name), one_line(file));
            return Err(Stop::new(Exit::Denied, "exposed_server", message).hint(
                "keep its program outside of the vault, and name the folder in `readable` of that server",
            ));
        }
    }
    Ok(())
}

/// A folder of the vault that a command names: what a program finds in it cannot be held to a hash.
fn vault_folder<'h>(hook: &'h DeclaredHook, vault: &Path) -> Option<&'h str> {
    let within = |path: &Path| path.canonicalize().is_ok_and(|real| real.starts_with(vault));
    hook.command.iter().map(String::as_str).find(|word| {
        let path = vault.join(word);
        path.is_dir() && within(&path)
    })
}
