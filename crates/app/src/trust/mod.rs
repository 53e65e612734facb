//! Trust in the settings of a vault.
//!
//! A vault can come from anywhere, settings included, so the user's decision is stored outside of it: for each vault
//! the settings themselves, with the hashes of the files that hooks consist of. Settings that grant no more than the
//! trusted ones keep the trust. Under any others nothing runs until the user has decided again.

mod command_differences;
mod comparison;
mod exposed;
mod file;
mod hook_copies;
mod rule_text;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use engine::{Hook, PinnedFile};
use serde_json::json;

use self::comparison::differences;
use self::file::{TrustRecord, put_trust_record, trust_record};
use crate::display_text::escape_line;
use crate::error::AppError;
use crate::error::ErrorKind;
use crate::settings::DeclaredHook;
use crate::vault_context::VaultContext;

pub use self::comparison::{SettingsDifference, TrustedSettings};
pub use self::exposed::{refuse_exposed, server_obstacle};
use self::file::NO_STATE_HOME;
pub use self::file::{lock_file, state_folder, trust_file, write_private_file};

/// Trust state of the settings of a vault.
#[derive(Debug, Clone, PartialEq)]
pub enum TrustState {
    /// They grant no more than the defaults, and none were trusted.
    NotNeeded,
    /// They grant no more than the trusted settings. With what they tighten.
    Trusted(Vec<SettingsDifference>),
    /// They were never trusted. With what they grant beyond the defaults.
    Untrusted(Vec<SettingsDifference>),
    /// Trusted by an earlier build, which did not bind all of them. With what they grant beyond the defaults.
    Outdated(Vec<SettingsDifference>),
    /// They grant more than the trusted settings. With every difference.
    Changed(Vec<SettingsDifference>),
}

impl TrustState {
    pub fn is_usable(&self) -> bool {
        match self {
            TrustState::NotNeeded | TrustState::Trusted(_) => true,
            TrustState::Untrusted(_) | TrustState::Outdated(_) | TrustState::Changed(_) => false,
        }
    }

    /// Returns one line for each difference that needs a decision.
    pub fn lines(&self) -> Vec<String> {
        match self {
            TrustState::NotNeeded => Vec::new(),
            TrustState::Untrusted(found) | TrustState::Outdated(found) => {
                found.iter().map(|difference| escape_line(&difference.what)).collect()
            }
            TrustState::Trusted(found) | TrustState::Changed(found) => {
                found.iter().map(|difference| escape_line(&difference.line())).collect()
            }
        }
    }
}

/// Returns the settings that trust covers.
pub fn trusted_settings_of(context: &VaultContext) -> TrustedSettings {
    TrustedSettings {
        policy: context.settings.policy.clone(),
        commands: context.settings.commands.clone(),
        servers: context.settings.servers.clone(),
        state: context.state_outside(),
    }
}

/// Returns the permissions that the settings grant beyond the defaults.
pub fn loosened_settings(context: &VaultContext) -> Vec<SettingsDifference> {
    let mut found = differences(&TrustedSettings::defaults(), &trusted_settings_of(context));
    found.retain(|difference| difference.loosens);
    found
}

/// Returns the trust state of a vault's current settings.
pub fn trust_state(context: &VaultContext) -> Result<TrustState, AppError> {
    let beyond = loosened_settings(context);
    let record = match trust_record(&context.vault) {
        // A vault without settings runs under the defaults, also without a state folder outside of it.
        Err(error) if error.code == NO_STATE_HOME && !context.settings.written => TrustRecord::None,
        record => record?,
    };
    Ok(match (record, beyond.is_empty()) {
        (TrustRecord::None | TrustRecord::Outdated, true) => TrustState::NotNeeded,
        (TrustRecord::None, false) => TrustState::Untrusted(beyond),
        (TrustRecord::Outdated, false) => TrustState::Outdated(beyond),
        (TrustRecord::Settings(trusted), _) => {
            let found = differences(&trusted, &trusted_settings_of(context));
            match found.iter().any(|difference| difference.loosens) {
                true => TrustState::Changed(found),
                false => TrustState::Trusted(found),
            }
        }
    })
}

/// Fails unless the settings can be used.
pub fn require(context: &VaultContext) -> Result<(), AppError> {
    let state = trust_state(context)?;
    let (code, what) = match context.settings.hooks.is_empty() {
        true => ("untrusted_settings", "settings"),
        false => ("untrusted_hooks", "hooks"),
    };
    let why = match &state {
        TrustState::NotNeeded | TrustState::Trusted(_) => return Ok(()),
        TrustState::Untrusted(_) => format!("this vault has {what} that you have not trusted"),
        TrustState::Outdated(_) => format!(
            "this vault has {what} that you trusted with an earlier version, which did not keep all of them; decide again"
        ),
        TrustState::Changed(_) => "the settings of this vault are not those that you trusted".to_owned(),
    };
    let lines = state.lines();
    let listed: String = lines.iter().map(|line| format!("\n  {line}")).collect();
    Err(AppError::new(ErrorKind::Denied, code, format!("nothing was run: {why}{listed}"))
        .hint(format!("look at them and decide with `tollgate trust {}`", context.vault_arguments()))
        .details(json!({ "hooks": context.settings.hooks, "loosened": lines })))
}

/// Fails unless the folder of runs is in the vault or was trusted.
pub fn require_state(context: &VaultContext) -> Result<(), AppError> {
    let Some(state) = context.state_outside() else { return Ok(()) };
    let is_trusted = match trust_record(&context.vault)? {
        TrustRecord::Settings(trusted) => trusted.state.as_ref() == Some(&state),
        TrustRecord::None | TrustRecord::Outdated => false,
    };
    if is_trusted {
        return Ok(());
    }
    let message = format!(
        "the settings of this vault keep its runs in `{}`, outside of the vault, which you have not trusted",
        escape_line(&state.to_string_lossy())
    );
    Err(AppError::new(ErrorKind::Denied, "untrusted_state", message)
        .hint(format!("look at the settings and decide with `tollgate trust {}`", context.vault_arguments())))
}

/// Returns the hooks of a vault, ready to run. Fails if the user has not trusted them.
pub fn hooks(context: &VaultContext) -> Result<Vec<Arc<dyn Hook>>, AppError> {
    require(context)?;
    refuse_exposed(context)?;
    context.settings.hooks.iter().map(|hook| build_hook(context, hook)).collect()
}

/// Builds a hook that runs from the hashed bytes: files of the vault are replaced by copies outside of it, and every
/// file is checked again before each start.
fn build_hook(context: &VaultContext, hook: &DeclaredHook) -> Result<Arc<dyn Hook>, AppError> {
    let (mut command, mut pinned) = (hook.command.clone(), Vec::new());
    for file in &hook.files {
        let path = match &file.hash {
            Some(hash) if file.in_vault => {
                hook_copies::copy_of(&state_folder(Some(&context.vault))?, file, hash)?
            }
            Some(_) | None => file.path.clone(),
        };
        if let Some(word) = command.get_mut(file.word)
            && (file.word == 0 || file.hash.is_some())
        {
            *word = format!("{}{}", file.prefix, path.to_string_lossy());
        }
        pinned.push(PinnedFile::new(path, file.hash));
    }
    let built = hook.build(command, pinned, &context.vault);
    built.map(|hook| Arc::new(hook) as Arc<dyn Hook>).map_err(|why| AppError::bad_input("bad_config", why))
}

/// Records trust in the settings as they were `shown`. Fails if they have changed meanwhile.
pub fn record_trust(context: &VaultContext, shown: &TrustedSettings) -> Result<(), AppError> {
    let now = VaultContext::find(Some(&context.vault))?;
    if trusted_settings_of(&now) != *shown {
        return Err(AppError::new(
            ErrorKind::Denied,
            "hooks_changed",
            "the settings changed while you were asked",
        )
        .hint("look at them again with `tollgate trust`"));
    }
    put_trust_record(&context.vault, Some(shown.clone())).map(|_before| ())
}

/// Revokes the trust. Returns true if there was any.
pub fn revoke_trust(context: &VaultContext) -> Result<bool, AppError> {
    put_trust_record(&context.vault, None)
}
