//! `tollgate init`: makes a folder a vault that Tollgate knows.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::exit::Exit;
use crate::screen;
use crate::settings::{CONFIG_FILE, template};
use crate::stop::{Outcome, Stop};

/// Writes `.tollgate/config.toml` with every key explained
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tollgate init ~/Notes")]
pub(crate) struct Init {
    /// The folder of notes: an Obsidian vault or any other folder
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Init {
    /// `vault` is the global option; it and DIR say the same thing.
    pub(crate) fn run(self, vault: Option<&Path>) -> Outcome {
        let dir = vault.unwrap_or(&self.dir);
        if !dir.is_dir() {
            return Err(Stop::bad_input("no_folder", format!("`{}` is not a folder", dir.display()))
                .hint("give a folder that exists, such as your Obsidian vault"));
        }
        let path = dir.join(CONFIG_FILE);
        write_new(&path).map_err(|error| {
            if error.kind() != std::io::ErrorKind::AlreadyExists {
                return Stop::io(format_args!("write {}", path.display()), error);
            }
            Stop::bad_input(
                "config_exists",
                format!("`{}` exists already and stays as it is", path.display()),
            )
            .hint("edit it, or move it away and run `tollgate init` again")
        })?;
        if self.json {
            screen::json(&json!({ "config": path, "mode": "ask" }));
        } else {
            screen::say(format_args!("Wrote {}", path.display()));
            screen::say("Mode: ask (reads run; a plan with writes or commands needs one yes)");
            screen::say(format_args!("Next: tollgate doctor --vault {}", dir.display()));
        }
        Ok(Exit::Done)
    }
}

fn write_new(path: &Path) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        // Runs are kept beside the settings and hold what notes hold: for the owner only.
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(template().as_bytes())?;
    file.sync_all()
}
