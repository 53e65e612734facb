//! A saved preview, and the check that it still holds when it is run.

use std::collections::BTreeMap;

use envelope::Hash;
use serde::Deserialize;
use serde_json::Value;

use super::paths::{PathFate, PathOutlook};
use super::{PREVIEW_FORMAT, PlanPreview};
use crate::display_text::escape_line;
use crate::error::AppError;

/// Differences listed; the rest is counted.
const LISTED_DIFFERENCES: usize = 20;

/// A saved preview, to compare with a new one.
#[derive(Debug, Clone)]
pub struct SavedPreview {
    facts: SavedFacts,
    /// The whole file. A new preview must be the same in everything that it shows. Absent for a preview made in this process.
    whole: Option<Value>,
    pub fingerprint: Hash,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SavedFacts {
    #[serde(default)]
    full: bool,
    plan_hash: Hash,
    policy_hash: Hash,
    registry_version: String,
    fingerprint: Hash,
    paths: Vec<PathOutlook>,
}

impl SavedPreview {
    /// Parses a saved preview. `name` is the file, for errors.
    pub fn parse(name: &str, text: &str) -> Result<SavedPreview, AppError> {
        let bad = |why: String| {
            AppError::bad_input("bad_preview", format!("`{}` is no saved preview: {why}", escape_line(name)))
                .hint("make one with `tollgate preview PLAN --out FILE`")
        };
        let whole: Value = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
        let form = whole.get("preview").and_then(Value::as_u64);
        if form != Some(PREVIEW_FORMAT.into()) {
            let found = form.map_or_else(|| "no form".to_owned(), |form| format!("the form {form}"));
            return Err(bad(format!("it has {found}, and this version reads {PREVIEW_FORMAT}")));
        }
        let facts = SavedFacts::deserialize(&whole).map_err(|error| bad(error.to_string()))?;
        Ok(SavedPreview { fingerprint: facts.fingerprint, facts, whole: Some(whole) })
    }

    /// Returns true if it shows every difference in full.
    pub fn is_full(&self) -> bool {
        self.facts.full
    }

    /// Returns true if a new preview shows exactly the same. Any edit of the file, also of text that nothing depends on,
    /// makes it another one.
    fn shows_the_same(&self, now: &PlanPreview) -> bool {
        let Some(whole) = &self.whole else { return true };
        serde_json::to_value(now).is_ok_and(|now| now == *whole)
    }

    pub fn of(preview: &PlanPreview) -> SavedPreview {
        let facts = SavedFacts {
            full: preview.full,
            plan_hash: preview.plan_hash,
            policy_hash: preview.policy_hash,
            registry_version: preview.registry_version.clone(),
            fingerprint: preview.fingerprint,
            paths: preview.paths.clone(),
        };
        SavedPreview { fingerprint: facts.fingerprint, facts, whole: None }
    }

    /// Returns the differences of a newer preview, one line each. `look` returns the hash of the current content at a path,
    /// for a folder any hash.
    pub(super) fn differences(&self, now: &PlanPreview, look: &dyn Fn(&str) -> Option<Hash>) -> Vec<String> {
        if self.fingerprint == now.fingerprint {
            return match self.shows_the_same(now) {
                true => Vec::new(),
                false => vec!["the file does not show what the preview showed: it was edited".to_owned()],
            };
        }
        let mut lines = Vec::new();
        let mut say = |differs: bool, line: &str| lines.extend(differs.then(|| line.to_owned()));
        say(self.facts.plan_hash != now.plan_hash, "the plan is another one");
        say(self.facts.policy_hash != now.policy_hash, "the settings of the vault were changed");
        say(self.facts.registry_version != now.registry_version, "the tools are of another version");
        let (old, new) = (by_path(&self.facts.paths), by_path(&now.paths));
        for (path, was) in &old {
            lines.extend(match new.get(path) {
                Some(is) if is == was => None,
                Some(is) => Some(describe_change(was, is)),
                None => Some(explain_unchanged(was, look(was.now_at()))),
            });
        }
        for (path, is) in new.iter().filter(|(path, _)| !old.contains_key(*path)) {
            lines.push(format!("{} would be {} too", escape_line(path), is.fate.word()));
        }
        if lines.is_empty() {
            lines.push("steps would end in another way".to_owned());
        }
        if lines.len() > LISTED_DIFFERENCES {
            let left = lines.len() - LISTED_DIFFERENCES;
            lines.truncate(LISTED_DIFFERENCES);
            lines.push(format!("and {left} more differences"));
        }
        lines
    }
}

fn by_path(paths: &[PathOutlook]) -> BTreeMap<&str, &PathOutlook> {
    paths.iter().map(|path| (path.path.as_str(), path)).collect()
}

/// Explains why a path would no longer be changed.
fn explain_unchanged(was: &PathOutlook, now: Option<Hash>) -> String {
    let path = escape_line(was.now_at());
    match (was.before, now) {
        (Some(_), None) => format!("{path} no longer exists"),
        (Some(old), Some(new)) if old != new => format!("{path} was edited since the preview"),
        (None, Some(_)) if was.fate == PathFate::Created => format!("{path} exists now"),
        (Some(_) | None, _) => {
            format!("{} would not be {} any more", escape_line(&was.path), was.fate.word())
        }
    }
}

/// Describes the difference of one path between two previews.
fn describe_change(was: &PathOutlook, is: &PathOutlook) -> String {
    let path = escape_line(is.now_at());
    match (was.before, is.before) {
        (Some(_), None) => format!("{path} no longer exists"),
        (None, Some(_)) => format!("{path} exists now"),
        (Some(old), Some(new)) if old != new => format!("{path} was edited since the preview"),
        (Some(_), Some(_)) | (None, None) => match (was.fate == is.fate, was.from == is.from) {
            (false, _) => {
                let (old, new): (PathFate, PathFate) = (was.fate, is.fate);
                format!("{} would be {}, not {}", escape_line(&is.path), new.word(), old.word())
            }
            (true, false) => format!("{} would come from another place", escape_line(&is.path)),
            (true, true) => format!("{} would get other content", escape_line(&is.path)),
        },
    }
}
