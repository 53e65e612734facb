//! The argument of `--wait`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use app::approval_queue::{ANSWER_TIMEOUT, QUESTION_DEADLINE};

/// How long a call waits for an approval. Given in seconds on the command line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ApprovalTimeout(Duration);

impl Default for ApprovalTimeout {
    fn default() -> ApprovalTimeout {
        ApprovalTimeout(ANSWER_TIMEOUT)
    }
}

impl From<ApprovalTimeout> for Duration {
    fn from(wait: ApprovalTimeout) -> Duration {
        wait.0
    }
}

impl fmt::Display for ApprovalTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.as_secs())
    }
}

impl FromStr for ApprovalTimeout {
    type Err = String;

    fn from_str(given: &str) -> Result<ApprovalTimeout, String> {
        match given.parse() {
            Ok(seconds) if seconds <= QUESTION_DEADLINE.as_secs() => {
                Ok(ApprovalTimeout(Duration::from_secs(seconds)))
            }
            Ok(_) => Err(format!("a question lives for {} seconds at most", QUESTION_DEADLINE.as_secs())),
            Err(_) => Err("give a number of seconds, such as 45".to_owned()),
        }
    }
}
