//! `tollgate init`: writes the settings file of a vault.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::cli_error::{CliError, CommandResult};
use crate::exit::Exit;
use crate::screen;
use app::display_text::display_path;
use app::settings::{CONFIG_FILE, template};
use app::shell_quoting::quote_for_shell;

/// Writes `.tollgate/config.toml` with every key explained
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tollgate init ~/Notes")]
pub(crate) struct InitCommand {
    /// The folder of notes: an Obsidian vault or any other folder [default: the current folder]
    dir: Option<PathBuf>,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl InitCommand {
    /// `vault` is the global option; it means the same as DIR.
    pub(crate) fn run(self, vault: Option<&Path>) -> CommandResult {
        let dir = match (self.dir.as_deref(), vault) {
            (Some(_), Some(_)) => {
                return Err(CliError::bad_input(
                    "usage",
                    "the folder is named twice: as DIR and with --vault",
                )
                .hint("name the one that is meant: tollgate init DIR"));
            }
            (dir, vault) => dir.or(vault).unwrap_or(Path::new(".")),
        };
        if !dir.is_dir() {
            return Err(CliError::bad_input("no_folder", format!("`{}` is not a folder", display_path(dir)))
                .hint("give a folder that exists, such as your Obsidian vault"));
        }
        let ours = dir.join(".tollgate");
        if ours.is_symlink() {
            return Err(CliError::bad_input("bad_config", format!("`{}` is a link", display_path(&ours)))
                .hint("make .tollgate a folder: a link could lead to the settings of another vault"));
        }
        let path = dir.join(CONFIG_FILE);
        write_new(&path).map_err(|error| {
            if error.kind() != std::io::ErrorKind::AlreadyExists {
                return CliError::io(format_args!("write {}", display_path(&path)), error);
            }
            CliError::bad_input(
                "config_exists",
                format!("`{}` exists already and stays as it is", display_path(&path)),
            )
            .hint("edit it, or move it away and run `tollgate init` again")
        })?;
        if self.json {
            screen::json(&json!({ "config": path, "mode": "ask" }));
        } else {
            screen::print(format_args!("Wrote {}", display_path(&path)));
            screen::print("Mode: ask (reads run; a plan with writes or commands needs one approval)");
            screen::print(format_args!("Next: tollgate doctor --vault {}", quote_for_shell(dir)));
        }
        Ok(Exit::Done)
    }
}

fn write_new(path: &Path) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        // Runs are kept beside the settings and contain text of notes: for the owner only.
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(template().as_bytes())?;
    file.sync_all()
}
