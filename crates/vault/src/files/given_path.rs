//! A path as a caller sent it.
//!
//! Read without judging, so that a bad path fails in the phase that looks at values, with words about the
//! path, and not while the shape of the arguments is read.

use std::borrow::Cow;

use envelope::{BadPath, Failure, Fault, VaultPath};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use toolkit::Reach;

use super::maybe_vault::MaybeVault;
use crate::sandbox::protected;

/// The path of a file or folder.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "String")]
pub(crate) struct GivenPath(Result<VaultPath, BadPath>);

/// The path of a folder, or the vault itself when empty. One `/` at the end is fine: that is how many
/// people write a folder.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "String")]
pub(crate) struct GivenFolder(Option<GivenPath>);

impl GivenPath {
    pub(super) fn get(&self) -> Result<&VaultPath, Fault> {
        let path = self.0.as_ref().map_err(|bad| {
            Fault::new(Failure::InvalidArguments, bad.to_string()).detail("rule", &*bad.rule)
        })?;
        if let Some(by) = path.protected_by() {
            return Err(protected(path.as_str(), by));
        }
        match path.segments().find(|name| name.starts_with('.')) {
            None => Ok(path),
            Some(name) => Err(Fault::new(
                Failure::SandboxViolation,
                format!("`{path}` is hidden: `{name}` begins with a dot, so it is no part of the notes"),
            )
            .detail("hidden", name)
            .hint("use names that do not begin with a dot")),
        }
    }

    /// For the rules and the order of calls: the path as given and, where a link leads elsewhere, the
    /// path as it is. A bad path reaches nothing.
    pub(super) fn reach(&self, vault: &MaybeVault) -> Vec<Reach> {
        let Ok(given) = &self.0 else {
            return Vec::new();
        };
        let real = vault.get().ok().and_then(|vault| vault.real_path(given)).filter(|real| real != given);
        std::iter::once(given.clone()).chain(real).map(Reach::Path).collect()
    }

    /// [`GivenPath::reach`] for a path that can only be a file.
    pub(super) fn reach_file(&self, vault: &MaybeVault) -> Vec<Reach> {
        let as_file = |reach| match reach {
            Reach::Path(path) => Reach::File(path),
            Reach::Vault | Reach::File(_) | Reach::Folder(_) => reach,
        };
        self.reach(vault).into_iter().map(as_file).collect()
    }

    pub(super) fn shown(&self) -> String {
        match &self.0 {
            Ok(path) => path.to_string(),
            Err(bad) => bad.raw.escape_debug().to_string(),
        }
    }
}

impl GivenFolder {
    /// `None` is the vault itself.
    pub(super) fn get(&self) -> Result<Option<&VaultPath>, Fault> {
        self.0.as_ref().map(GivenPath::get).transpose()
    }

    pub(super) fn reach(&self, vault: &MaybeVault) -> Vec<Reach> {
        self.0.as_ref().map_or_else(|| vec![Reach::Vault], |path| path.reach(vault))
    }

    pub(super) fn shown(&self) -> String {
        self.0.as_ref().map_or_else(|| "the vault".to_owned(), GivenPath::shown)
    }
}

impl From<String> for GivenPath {
    fn from(raw: String) -> GivenPath {
        GivenPath(VaultPath::parse(&raw))
    }
}

impl From<String> for GivenFolder {
    fn from(raw: String) -> GivenFolder {
        let folder = raw.strip_suffix('/').unwrap_or(&raw);
        GivenFolder((!folder.is_empty()).then(|| GivenPath::from(folder.to_owned())))
    }
}

impl JsonSchema for GivenPath {
    fn schema_name() -> Cow<'static, str> {
        "Path".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        VaultPath::json_schema(generator)
    }
}

impl JsonSchema for GivenFolder {
    fn schema_name() -> Cow<'static, str> {
        "FolderPath".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "string", "maxLength": VaultPath::MAX_BYTES })
    }
}
