//! Check for programs that tools can write: a client could choose what runs before the next call.

use std::path::Path;

use crate::display_text::escape_line;
use crate::error::AppError;
use crate::error::ErrorKind;
use crate::settings::DeclaredHook;
use crate::vault_context::VaultContext;

/// Fails if a hook or a server names a file of the vault that tools can write.
pub fn refuse_exposed(context: &VaultContext) -> Result<(), AppError> {
    let vault = &context.vault;
    let kept = vault.join(".tollgate");
    refuse_exposed_server(context)?;
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

/// Fails if the program of a server lies in the vault: tools could change it, and it can receive secrets.
fn refuse_exposed_server(context: &VaultContext) -> Result<(), AppError> {
    for (name, server) in &context.settings.servers {
        let command = server.command.as_deref().unwrap_or_default();
        let named = command.iter().enumerate().filter(|(context, word)| *context > 0 || word.contains('/'));
        let in_vault = |path: &Path| {
            let real = path.canonicalize();
            path.is_file()
                && (path.starts_with(&context.vault)
                    || real.is_ok_and(|real| real.starts_with(&context.vault)))
        };
        if let Some((_, file)) = named.into_iter().find(|(_, word)| in_vault(&context.vault.join(word))) {
            let message =
                format!("server `{}` names `{}`, a file of the vault", escape_line(name), escape_line(file));
            return Err(AppError::new(ErrorKind::Denied, "exposed_server", message).hint(
                "keep its program outside of the vault, and name the folder in `readable` of that server",
            ));
        }
    }
    Ok(())
}

/// Returns a folder of the vault that a command names. Its content cannot be bound to a hash.
fn vault_folder<'h>(hook: &'h DeclaredHook, vault: &Path) -> Option<&'h str> {
    let within = |path: &Path| path.canonicalize().is_ok_and(|real| real.starts_with(vault));
    hook.command.iter().map(String::as_str).find(|word| {
        let path = vault.join(word);
        path.is_dir() && within(&path)
    })
}
