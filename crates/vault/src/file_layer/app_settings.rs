//! Reads the application's own settings, for the program that opens the vault. No tool can read them.

use std::io::Read as _;

use super::folder::{self, NodeKind};
use super::vault::Vault;
use crate::platform::FileStat;

/// Folder of the application's settings, unless the user renamed it.
const FOLDER: &str = ".obsidian";
/// A larger file is not a settings file.
const LARGEST: u64 = 1 << 20;

impl Vault {
    /// Returns the text of a settings file such as `app.json`. Returns `None` if it is missing, not a plain
    /// file of the vault, too large or not text. Links are not followed and pipes not waited for, as the vault
    /// may be hostile.
    pub fn app_settings(&self, name: &str) -> Option<String> {
        let folder = folder::open_folder(&self.root, FOLDER).ok()?;
        let file = folder::open_file(&folder, name).ok()?;
        if folder::kind(&FileStat::of(&file).ok()?) != NodeKind::File {
            return None;
        }
        let mut text = String::new();
        file.take(LARGEST + 1).read_to_string(&mut text).ok()?;
        (text.len() as u64 <= LARGEST).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::vault::Vault;

    #[test]
    fn only_plain_files_of_the_vault_itself_are_settings() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join(".obsidian");
        std::fs::create_dir(&folder).unwrap();
        let put = |name: &str, text: &str| {
            std::io::Write::write_all(
                &mut std::fs::File::create(folder.join(name)).unwrap(),
                text.as_bytes(),
            )
            .unwrap();
        };
        put("app.json", "{}");
        put("large.json", &" ".repeat(2 << 20));
        std::os::unix::fs::symlink("/dev/zero", folder.join("endless.json")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            folder.join("pipe.json"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        let vault = Vault::open(temp.path()).unwrap();
        assert_eq!(vault.app_settings("app.json").as_deref(), Some("{}"));
        for name in ["large.json", "endless.json", "pipe.json", "missing.json", "../secret", "."] {
            assert_eq!(vault.app_settings(name), None, "{name}");
        }
    }
}
