//! Command settings with absolute paths.

use std::path::{Path, PathBuf};

use shell::CommandSettings;

/// Upper bound of every limit.
const MAX_LIMIT: u64 = 1 << 30;

/// Resolves every folder to an absolute path. Fails if one cannot be used.
pub(super) fn resolve(given: CommandSettings, home: Option<&Path>) -> Result<CommandSettings, String> {
    let readable = given
        .readable
        .iter()
        .map(|folder| whole("commands.readable", folder, home))
        .collect::<Result<_, _>>()?;
    if let Some(name) = given.env.iter().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
        return Err(format!("`commands.env` cannot have `{name}`: it is not a variable name"));
    }
    let limits = [
        ("memory_mb", given.memory_mb),
        ("processes", given.processes),
        ("open_files", given.open_files),
        ("output_mb", given.output_mb),
        ("file_mb", given.file_mb),
    ];
    if let Some((name, value)) = limits.into_iter().find(|(_, value)| !(1..=MAX_LIMIT).contains(value)) {
        return Err(format!("`commands.{name}` cannot be {value}: write a number from 1 to {MAX_LIMIT}"));
    }
    Ok(CommandSettings { readable, ..given })
}

/// Returns the declaration that an approval is bound to: empty for the default settings.
pub(super) fn declaration(commands: &CommandSettings) -> Vec<String> {
    if *commands == CommandSettings::default() {
        return Vec::new();
    }
    vec![serde_json::to_string(commands).unwrap_or_default()]
}

pub(super) fn whole(key: &str, folder: &Path, home: Option<&Path>) -> Result<PathBuf, String> {
    let path = match (folder.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        (Ok(_), None) => {
            return Err(format!("`{key}` has a `~/`, but HOME is not set; write the whole path"));
        }
        (Err(_), _) => folder.to_owned(),
    };
    match path.is_absolute() {
        true => Ok(path),
        false => Err(format!(
            "`{key}` cannot have `{}`: write the whole path, or one that starts with `~/`",
            folder.display()
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use shell::CommandSettings;

    use super::resolve;

    fn readable(folder: &str, home: Option<&Path>) -> Result<Vec<PathBuf>, String> {
        let given = CommandSettings { readable: vec![folder.into()], ..CommandSettings::default() };
        resolve(given, home).map(|settings| settings.readable)
    }

    #[test]
    fn folders_are_whole_paths_or_start_at_home() {
        let home = Some(Path::new("/home/me"));
        assert_eq!(readable("/opt/tools", home).unwrap(), [Path::new("/opt/tools")]);
        assert_eq!(readable("~/.cargo", home).unwrap(), [Path::new("/home/me/.cargo")]);
        assert!(readable("tools", home).unwrap_err().contains("write the whole path"));
        assert!(readable("~/.cargo", None).unwrap_err().contains("HOME is not set"));
    }
}
