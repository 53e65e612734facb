//! A path argument of a tool.
//!
//! An invalid path is accepted here and reported by the phase that checks values, so that the error is about
//! the path and not about the shape of the arguments.

use std::borrow::Cow;

use envelope::{BadPath, Failure, Fault, VaultPath};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use toolkit::PathScope;

use super::maybe_vault::MaybeVault;
use crate::file_layer::protected;

/// Path of a file or folder.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "String")]
pub(crate) struct PathArg(Result<VaultPath, BadPath>);

/// Path of a folder; empty for the vault itself. A `/` at the end is accepted.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "String")]
pub(crate) struct FolderArg(Option<PathArg>);

impl PathArg {
    /// Returns the path of something that may be created, so its names must be portable.
    pub(super) fn get(&self) -> Result<&VaultPath, Fault> {
        let path = self.existing()?;
        if path.is_portable() {
            return Ok(path);
        }
        let rule =
            VaultPath::parse(&path.readable()).map_or_else(|bad| bad.rule, |_| "it is not UTF-8".to_owned());
        Err(Fault::new(
            Failure::InvalidArguments,
            format!("`{path}` is a name that not every system can store: {rule}"),
        )
        .detail("rule", rule)
        .hint("give another name; a file that has this one can be renamed with vault.rename"))
    }

    /// Returns the path of something that exists, whose names may have escapes such as `\x3A`.
    pub(super) fn existing(&self) -> Result<&VaultPath, Fault> {
        let path = self.0.as_ref().map_err(bad_path)?;
        if let Some(by) = path.protected_by() {
            return Err(protected(path.as_str(), by));
        }
        match path.segments().find(|name| name.starts_with('.')) {
            None => Ok(path),
            Some(name) => Err(Fault::new(
                Failure::SandboxViolation,
                format!("`{path}` is hidden: `{name}` begins with a dot, so it is not one of the notes"),
            )
            .detail("hidden", name)
            .hint("use names that do not begin with a dot")),
        }
    }

    /// Returns the scopes for rules and for the order of calls: the path as given and, if a link is on the way,
    /// the path without links. Returns nothing for an invalid path.
    pub(super) fn path_scopes(&self, vault: &MaybeVault) -> Vec<PathScope> {
        let Ok(given) = &self.0 else {
            return Vec::new();
        };
        let real = vault.get().ok().and_then(|vault| vault.real_path(given)).filter(|real| real != given);
        std::iter::once(given.clone()).chain(real).map(PathScope::Path).collect()
    }

    /// [`PathArg::path_scopes`] for a path that can only be a file.
    pub(super) fn file_scopes(&self, vault: &MaybeVault) -> Vec<PathScope> {
        let as_file = |reach| match reach {
            PathScope::Path(path) => PathScope::File(path),
            PathScope::Vault | PathScope::File(_) | PathScope::Folder(_) => reach,
        };
        self.path_scopes(vault).into_iter().map(as_file).collect()
    }

    pub(super) fn display(&self) -> String {
        match &self.0 {
            Ok(path) => path.to_string(),
            Err(bad) => bad.raw.escape_debug().to_string(),
        }
    }
}

/// Returns the error for a text that is not a path, with the escaped form of a name that only the disk can have.
fn bad_path(bad: &BadPath) -> Fault {
    let fault = Fault::new(Failure::InvalidArguments, bad.to_string()).detail("rule", &*bad.rule);
    match VaultPath::from_readable(&bad.raw) {
        Ok(escaped) if !bad.raw.contains('\\') => fault.hint(format!(
            "use portable names; a file that has this name already is called `{escaped}` here"
        )),
        Ok(_) | Err(_) => fault,
    }
}

impl FolderArg {
    /// Returns the path of a folder that may be created; `None` for the vault itself.
    pub(super) fn get(&self) -> Result<Option<&VaultPath>, Fault> {
        self.0.as_ref().map(PathArg::get).transpose()
    }

    /// Returns the path of a folder that exists; `None` for the vault itself.
    pub(super) fn existing(&self) -> Result<Option<&VaultPath>, Fault> {
        self.0.as_ref().map(PathArg::existing).transpose()
    }

    pub(super) fn path_scopes(&self, vault: &MaybeVault) -> Vec<PathScope> {
        self.0.as_ref().map_or_else(|| vec![PathScope::Vault], |path| path.path_scopes(vault))
    }

    pub(super) fn display(&self) -> String {
        self.0.as_ref().map_or_else(|| "the vault".to_owned(), PathArg::display)
    }
}

impl From<String> for PathArg {
    fn from(raw: String) -> PathArg {
        PathArg(VaultPath::parse_escaped(&raw))
    }
}

impl From<String> for FolderArg {
    fn from(raw: String) -> FolderArg {
        let folder = raw.strip_suffix('/').unwrap_or(&raw);
        FolderArg((!folder.is_empty()).then(|| PathArg::from(folder.to_owned())))
    }
}

impl JsonSchema for PathArg {
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

impl JsonSchema for FolderArg {
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
