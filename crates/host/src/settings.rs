//! Settings of the headless host, taken from those of the application.
//!
//! The settings folder of the application is closed to tools, so the caller that opens the vault reads the files. A
//! value that cannot be read counts as absent, as it does in the application.

use std::sync::Arc;

use serde::Deserialize;

use crate::date_format::DEFAULT_DATE;

/// Returns the local time. Nothing in this crate reads a clock.
pub type LocalClock = Arc<dyn Fn() -> jiff::civil::DateTime + Send + Sync>;

/// Folder of new notes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum NewNotePlace {
    /// The vault itself.
    #[default]
    Root,
    /// The folder of the active file.
    Current,
    /// This folder.
    Folder(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSettings {
    pub new_note: NewNotePlace,
    /// Folder of daily notes; empty for the vault itself.
    pub daily_folder: String,
    /// Name of a daily note as a Moment format; a `/` in it makes folders.
    pub daily_format: String,
    /// Template of a daily note, with or without `.md`.
    pub daily_template: Option<String>,
}

impl Default for HostSettings {
    fn default() -> HostSettings {
        HostSettings {
            new_note: NewNotePlace::Root,
            daily_folder: String::new(),
            daily_format: DEFAULT_DATE.to_owned(),
            daily_template: None,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AppJson {
    new_file_location: Option<String>,
    new_file_folder_path: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DailyNotesJson {
    folder: Option<String>,
    format: Option<String>,
    template: Option<String>,
}

impl HostSettings {
    /// Parses the application's `app.json` and `daily-notes.json`. Either can be absent.
    pub fn from_obsidian(app: Option<&str>, daily_notes: Option<&str>) -> HostSettings {
        let app: AppJson = app.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let daily: DailyNotesJson =
            daily_notes.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let folder = |path: Option<String>| path.map(|path| path.trim().trim_matches('/').to_owned());
        let given = |text: &String| !text.trim().is_empty();
        let new_note = match (app.new_file_location.as_deref(), folder(app.new_file_folder_path)) {
            (Some("current"), _) => NewNotePlace::Current,
            (Some("folder"), Some(path)) if given(&path) => NewNotePlace::Folder(path),
            (Some(_) | None, _) => NewNotePlace::Root,
        };
        HostSettings {
            new_note,
            daily_folder: folder(daily.folder).unwrap_or_default(),
            daily_format: daily.format.filter(given).unwrap_or_else(|| DEFAULT_DATE.to_owned()),
            daily_template: folder(daily.template).filter(given),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{HostSettings, NewNotePlace};

    #[test]
    fn the_files_of_the_application_are_understood() {
        let app =
            r#"{"newFileLocation": "folder", "newFileFolderPath": "/Inbox/", "alwaysUpdateLinks": true}"#;
        let daily = r#"{"folder": "Journal", "format": "YYYY/MM/YYYY-MM-DD", "template": "Templates/Day"}"#;
        let expected = HostSettings {
            new_note: NewNotePlace::Folder("Inbox".to_owned()),
            daily_folder: "Journal".to_owned(),
            daily_format: "YYYY/MM/YYYY-MM-DD".to_owned(),
            daily_template: Some("Templates/Day".to_owned()),
        };
        assert_eq!(HostSettings::from_obsidian(Some(app), Some(daily)), expected);
    }

    #[test]
    fn what_is_missing_empty_or_broken_is_the_default() {
        for (app, daily) in [
            (None, None),
            (Some("{}"), Some(r#"{"format": "", "folder": "", "template": ""}"#)),
            (Some("not json"), Some("[]")),
            (Some(r#"{"newFileLocation": "folder"}"#), Some("{")),
        ] {
            assert_eq!(HostSettings::from_obsidian(app, daily), HostSettings::default());
        }
    }
}
