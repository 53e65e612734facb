//! The approval queue as files: what a question and an answer are, where they lie and how they are shown.
//!
//! [`approvals`](crate::approvals) asks, `tollgate approve` answers.

mod folder;
mod question;
mod words;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

pub(crate) use self::folder::{Folder, new_id, new_nonce};
pub(crate) use self::question::{About, Question, Reply, Subject, Word};
pub(crate) use self::words::{as_json, asked, choices_of, time, word};
use crate::stop::Stop;
use crate::trust;

/// How long a call waits for its answer, unless told otherwise. Clients give up after a minute.
pub(crate) const WAIT: Duration = Duration::from_secs(45);

/// How long a call waits for its answer, in seconds on the command line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait(Duration);

impl Default for Wait {
    fn default() -> Wait {
        Wait(WAIT)
    }
}

impl From<Wait> for Duration {
    fn from(wait: Wait) -> Duration {
        wait.0
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.as_secs())
    }
}

impl FromStr for Wait {
    type Err = String;

    fn from_str(given: &str) -> Result<Wait, String> {
        match given.parse() {
            Ok(seconds) if seconds <= LIFE.as_secs() => Ok(Wait(Duration::from_secs(seconds))),
            Ok(_) => Err(format!("a question lives for {} seconds at most", LIFE.as_secs())),
            Err(_) => Err("give a number of seconds, such as 45".to_owned()),
        }
    }
}

/// How long a question can be answered.
pub(crate) const LIFE: Duration = Duration::from_mins(10);

/// Where questions lie: `$XDG_STATE_HOME/tollgate/approvals`, which must not be inside the vault.
pub(crate) fn folder(vault: Option<&Path>) -> Result<PathBuf, Stop> {
    Ok(trust::state_folder(vault)?.join("approvals"))
}
