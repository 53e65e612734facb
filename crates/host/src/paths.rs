//! Paths below a folder that is moved or removed.

use envelope::VaultPath;

/// Returns true if a path is `folder` or lies below it.
pub(crate) fn is_at_or_below(path: &VaultPath, folder: &VaultPath) -> bool {
    rest_below(path, folder).is_some()
}

/// Returns the new path of something at or below `from` after `from` was moved to `to`, or `None` for any
/// other path.
pub(crate) fn renamed_path(path: &VaultPath, from: &VaultPath, to: &VaultPath) -> Option<VaultPath> {
    let rest = rest_below(path, from)?;
    VaultPath::parse_escaped(&format!("{to}{rest}")).ok()
}

fn rest_below<'a>(path: &'a VaultPath, folder: &VaultPath) -> Option<&'a str> {
    let rest = path.as_str().strip_prefix(folder.as_str())?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}
