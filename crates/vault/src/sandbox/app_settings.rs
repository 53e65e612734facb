//! The application's own settings, for the program that opens the vault. No tool can reach them.

use std::io::Read as _;

use super::folder::{self, Kind};
use super::vault::Vault;

/// The folder in which the application keeps its settings unless the person has renamed it.
const FOLDER: &str = ".obsidian";
/// Settings are small; what is larger is something else.
const LARGEST: u64 = 1 << 20;

impl Vault {
    /// The text of a file of settings such as `app.json`; none when it is not there, no plain file of the vault
    /// itself, too large or no text. Links are not followed and pipes not waited for: a vault may come from
    /// anywhere.
    pub fn app_settings(&self, name: &str) -> Option<String> {
        let folder = folder::open_folder(&self.root, FOLDER).ok()?;
        let file = folder::open_file(&folder, name).ok()?;
        if folder::kind(&rustix::fs::fstat(&file).ok()?) != Kind::File {
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
