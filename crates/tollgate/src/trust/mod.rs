//! Which vaults may do what their settings say.
//!
//! A vault can come from anywhere, settings included, so what the user decided is kept outside of it: for each vault
//! the settings themselves, with the hashes of the files that hooks are made of. Settings that grant no more than the
//! trusted ones keep the trust. Under any others nothing runs until the user has decided again.

mod command_differences;
mod comparison;
mod exposed;
mod file;
mod hook_copies;
mod wording;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use engine::{Hook, PinnedFile};
use serde_json::json;

use self::comparison::differences;
use self::file::{TrustRecord, put_trust_record, trust_record};
use crate::exit::Exit;
use crate::place::Place;
use crate::settings::DeclaredHook;
use crate::stop::Stop;
use crate::visible::one_line;

pub(crate) use self::comparison::{Difference, TrustedSettings};
pub(crate) use self::exposed::refuse_exposed;
use self::file::NO_STATE_HOME;
pub(crate) use self::file::{state_folder, take_turn, trust_file, write};

/// Whether the settings of a vault may be used.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TrustState {
    /// They grant no more than the defaults, and nobody has trusted others.
    NotNeeded,
    /// They grant no more than the settings that were trusted. With what they tighten.
    Trusted(Vec<Difference>),
    /// Nobody has trusted them. With what they grant beyond the defaults.
    Untrusted(Vec<Difference>),
    /// The same, but an earlier build did, which did not bind all of them.
    Outdated(Vec<Difference>),
    /// They are not the settings that were trusted. With every difference.
    Changed(Vec<Difference>),
}

impl TrustState {
    pub(crate) fn is_usable(&self) -> bool {
        match self {
            TrustState::NotNeeded | TrustState::Trusted(_) => true,
            TrustState::Untrusted(_) | TrustState::Outdated(_) | TrustState::Changed(_) => false,
        }
    }

    /// One line for each thing that needs a decision.
    pub(crate) fn lines(&self) -> Vec<String> {
        match self {
            TrustState::NotNeeded => Vec::new(),
            TrustState::Untrusted(found) | TrustState::Outdated(found) => {
                found.iter().map(|difference| one_line(&difference.what)).collect()
            }
            TrustState::Trusted(found) | TrustState::Changed(found) => {
                found.iter().map(|difference| one_line(&difference.line())).collect()
            }
        }
    }
}

/// The part of the settings that trust is about.
pub(crate) fn subject(place: &Place) -> TrustedSettings {
    TrustedSettings {
        policy: place.settings.policy.clone(),
        commands: place.settings.commands.clone(),
        servers: place.settings.servers.clone(),
        state: place.state_outside(),
    }
}

/// What the settings grant beyond the defaults.
pub(crate) fn loosened(place: &Place) -> Vec<Difference> {
    let mut found = differences(&TrustedSettings::defaults(), &subject(place));
    found.retain(|difference| difference.loosens);
    found
}

/// Whether the settings of a vault may be used as they are.
pub(crate) fn trust_state(place: &Place) -> Result<TrustState, Stop> {
    let beyond = loosened(place);
    let record = match trust_record(&place.vault) {
        // A vault without settings runs under the defaults, also where nothing can be kept outside of it.
        Err(stop) if stop.code == NO_STATE_HOME && !place.settings.written => TrustRecord::None,
        record => record?,
    };
    Ok(match (record, beyond.is_empty()) {
        (TrustRecord::None | TrustRecord::Outdated, true) => TrustState::NotNeeded,
        (TrustRecord::None, false) => TrustState::Untrusted(beyond),
        (TrustRecord::Outdated, false) => TrustState::Outdated(beyond),
        (TrustRecord::Settings(trusted), _) => {
            let found = differences(&trusted, &subject(place));
            match found.iter().any(|difference| difference.loosens) {
                true => TrustState::Changed(found),
                false => TrustState::Trusted(found),
            }
        }
    })
}

/// Fails unless the settings may be used.
pub(crate) fn require(place: &Place) -> Result<(), Stop> {
    let state = trust_state(place)?;
    let (code, what) = match place.settings.hooks.is_empty() {
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
    Err(Stop::new(Exit::Denied, code, format!("nothing was run: {why}{listed}"))
        .hint(format!("look at them and decide with `tollgate trust {}`", place.vault_words()))
        .details(json!({ "hooks": place.settings.hooks, "loosened": lines })))
}

/// Fails unless the folder that keeps the runs is in the vault, or was trusted.
pub(crate) fn require_state(place: &Place) -> Result<(), Stop> {
    let Some(state) = place.state_outside() else { return Ok(()) };
    let is_trusted = match trust_record(&place.vault)? {
        TrustRecord::Settings(trusted) => trusted.state.as_ref() == Some(&state),
        TrustRecord::None | TrustRecord::Outdated => false,
    };
    if is_trusted {
        return Ok(());
    }
    let message = format!(
        "the settings of this vault keep its runs in `{}`, outside of the vault, which you have not trusted",
        one_line(&state.to_string_lossy())
    );
    Err(Stop::new(Exit::Denied, "untrusted_state", message)
        .hint(format!("look at the settings and decide with `tollgate trust {}`", place.vault_words())))
}

/// The hooks of a vault, ready to run. The only way to them is past the decision of the user.
pub(crate) fn hooks(place: &Place) -> Result<Vec<Arc<dyn Hook>>, Stop> {
    require(place)?;
    refuse_exposed(place)?;
    place.settings.hooks.iter().map(|hook| built(place, hook)).collect()
}

/// A hook that runs from the bytes that were hashed: files of the vault are replaced by copies outside of it, and
/// every file is checked again before each start.
fn built(place: &Place, hook: &DeclaredHook) -> Result<Arc<dyn Hook>, Stop> {
    let (mut command, mut pinned) = (hook.command.clone(), Vec::new());
    for file in &hook.files {
        let path = match &file.hash {
            Some(hash) if file.in_vault => {
                hook_copies::copy_of(&state_folder(Some(&place.vault))?, file, hash)?
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
    let built = hook.build(command, pinned, &place.vault);
    built.map(|hook| Arc::new(hook) as Arc<dyn Hook>).map_err(|why| Stop::bad_input("bad_config", why))
}

/// Writes down that the settings may be used as they were `shown`. What changed while the user was looking is not
/// what they said yes to.
pub(crate) fn record(place: &Place, shown: &TrustedSettings) -> Result<(), Stop> {
    let now = Place::find(Some(&place.vault))?;
    if subject(&now) != *shown {
        return Err(Stop::new(Exit::Denied, "hooks_changed", "the settings changed while you were asked")
            .hint("look at them again with `tollgate trust`"));
    }
    put_trust_record(&place.vault, Some(shown.clone())).map(|_before| ())
}

/// Takes the trust back. Returns whether there was any.
pub(crate) fn revoke(place: &Place) -> Result<bool, Stop> {
    put_trust_record(&place.vault, None)
}
