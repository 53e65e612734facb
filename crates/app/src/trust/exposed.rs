//! Check for programs that tools can write: a client could choose what runs before the next call.

use std::path::{Path, PathBuf};

use mcp_client::ServerSettings;

use crate::display_text::escape_line;
use crate::error::AppError;
use crate::error::ErrorKind;
use crate::settings::DeclaredHook;
use crate::trust::state_folder;
use crate::vault_context::VaultContext;

/// Fails if a hook names a file of the vault that tools can write.
pub fn refuse_exposed(context: &VaultContext) -> Result<(), AppError> {
    let vault = &context.vault;
    let kept = vault.join(".tollgate");
    for hook in &context.settings.hooks {
        let name = escape_line(&hook.name);
        if let Some(folder) = vault_folder(hook, vault) {
            let message = format!("hook `{name}` names `{}`, a folder of the vault", escape_line(folder));
            return Err(AppError::new(ErrorKind::Denied, "exposed_hook", message)
                .hint("name the program itself, in .tollgate or outside of the vault"));
        }
        let mut known = hook.files.iter().filter(|file| file.in_vault && file.hash.is_some());
        if let Some(file) = known.find(|file| !file.path.starts_with(&kept)) {
            let shown = escape_line(&file.shown(vault));
            let message = format!("hook `{name}` names `{shown}`, a file that tools can change");
            return Err(AppError::new(ErrorKind::Denied, "exposed_hook", message).hint(
                "keep what a hook needs in .tollgate, which no tool reaches, or outside of the vault",
            ));
        }
    }
    Ok(())
}

/// Returns why a server of the settings is not started, if there is a reason: a file of the vault is its program, because
/// tools could change it and it can receive secrets, or it could change a folder that must be out of its reach.
pub fn server_obstacle(context: &VaultContext, name: &str, server: &ServerSettings) -> Option<AppError> {
    let command = server.command.as_deref().unwrap_or_default();
    let named = command.iter().enumerate().filter(|(index, word)| *index > 0 || word.contains('/'));
    let in_vault = |path: &Path| {
        let real = path.canonicalize();
        path.is_file()
            && (path.starts_with(&context.vault) || real.is_ok_and(|real| real.starts_with(&context.vault)))
    };
    let server_name = escape_line(name);
    let denied = |message: String| AppError::new(ErrorKind::Denied, "exposed_server", message);
    for (_, word) in named {
        // Also the value of an option: `--config=FILE`.
        let value = word.split_once('=').map(|(_, value)| value);
        if std::iter::once(word.as_str()).chain(value).any(|file| in_vault(&context.vault.join(file))) {
            let message =
                format!("server `{server_name}` names `{}`, a file of the vault", escape_line(word));
            return Some(denied(message).hint(
                "keep its program and its data outside of the vault, and name the folders in `readable` or `writable` of that server",
            ));
        }
    }
    let in_vault_value = |entry: &&String| {
        let value = entry.split_once('=').map_or("", |(_, value)| value);
        value
            .split([':', '=', ' ', ','])
            .any(|part| Path::new(part).is_absolute() && in_vault(Path::new(part)))
    };
    if let Some(entry) = server.env.iter().find(in_vault_value) {
        let name = escape_line(entry.split_once('=').map_or(entry, |(name, _)| name));
        let message = format!("server `{server_name}` gets a file of the vault in the variable `{name}`");
        return Some(denied(message).hint("keep what it reads at its start outside of the vault"));
    }
    if let Some(folder) = server.writable.iter().find(|folder| !is_plain_folder(folder)) {
        let shown = escape_line(&folder.to_string_lossy());
        let message =
            format!("server `{server_name}` could change `{shown}`, which is no folder, or is behind a link");
        return Some(
            denied(message).hint("name a folder that exists by its real path in `writable` of that server"),
        );
    }
    let kept_from_it = [context.vault.clone(), context.state()]
        .into_iter()
        .chain(context.settings.state.clone())
        .chain(state_folder(Some(&context.vault)).ok())
        .map(|folder| folder.canonicalize().unwrap_or(folder));
    for kept in kept_from_it {
        let overlaps = |folder: &&PathBuf| folder.starts_with(&kept) || kept.starts_with(folder);
        if let Some(folder) = server.writable.iter().find(overlaps) {
            let shown = escape_line(&folder.to_string_lossy());
            let kept = escape_line(&kept.to_string_lossy());
            let message =
                format!("server `{server_name}` could change `{shown}`, which is, holds or lies in `{kept}`");
            return Some(denied(message).hint("name another folder in `writable` of that server"));
        }
    }
    None
}

/// Whether a path is the real path of a folder. A link on the way could be replaced later.
fn is_plain_folder(path: &Path) -> bool {
    path.is_dir() && path.canonicalize().is_ok_and(|real| real == path)
}

/// Returns a folder of the vault that a command names. Its content cannot be bound to a hash.
fn vault_folder<'h>(hook: &'h DeclaredHook, vault: &Path) -> Option<&'h str> {
    let within = |path: &Path| path.canonicalize().is_ok_and(|real| real.starts_with(vault));
    hook.command.iter().map(String::as_str).find(|word| {
        let path = vault.join(word);
        path.is_dir() && within(&path)
    })
}
