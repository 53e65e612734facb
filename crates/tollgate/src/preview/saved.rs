//! A preview that was kept, so that what was previewed can be run: and whether it still holds.

use std::collections::BTreeMap;
use std::path::Path;

use envelope::Hash;
use serde::Deserialize;
use serde_json::Value;

use super::paths::{PathFate, PathOutlook};
use super::{FORMAT, Preview};
use crate::plan_text;
use crate::stop::Stop;
use crate::visible::one_line;

/// Differences that are told; the rest is counted.
const TOLD: usize = 20;

/// What is needed of a preview to know it again.
#[derive(Debug, Clone)]
pub(crate) struct SavedPreview {
    facts: Facts,
    /// The whole file. A preview that is made anew must be the same in everything that it shows; absent for a preview
    /// that was made in this process.
    whole: Option<Value>,
    pub(crate) fingerprint: Hash,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Facts {
    #[serde(default)]
    full: bool,
    plan_hash: Hash,
    policy_hash: Hash,
    registry_version: String,
    fingerprint: Hash,
    paths: Vec<PathOutlook>,
}

impl SavedPreview {
    /// Reads what `preview --out` wrote.
    pub(crate) fn read(file: &Path) -> Result<SavedPreview, Stop> {
        let name = file.to_string_lossy();
        let text = plan_text::read(&name, "saved preview")?;
        let bad = |why: String| {
            Stop::bad_input("bad_preview", format!("`{}` is no saved preview: {why}", one_line(&name)))
                .hint("make one with `tollgate preview PLAN --out FILE`")
        };
        let whole: Value = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
        let form = whole.get("preview").and_then(Value::as_u64);
        if form != Some(FORMAT.into()) {
            let found = form.map_or_else(|| "no form".to_owned(), |form| format!("the form {form}"));
            return Err(bad(format!("it has {found}, and this version reads {FORMAT}")));
        }
        let facts = Facts::deserialize(&whole).map_err(|error| bad(error.to_string()))?;
        Ok(SavedPreview { fingerprint: facts.fingerprint, facts, whole: Some(whole) })
    }

    /// Whether it shows every difference in full.
    pub(crate) fn is_full(&self) -> bool {
        self.facts.full
    }

    /// Whether a preview that was made anew shows exactly what this one shows. Anything that was edited in the file, also
    /// text that nothing depends on, makes it another.
    fn shows_the_same(&self, now: &Preview) -> bool {
        let Some(whole) = &self.whole else { return true };
        serde_json::to_value(now).is_ok_and(|now| now == *whole)
    }

    pub(crate) fn of(preview: &Preview) -> SavedPreview {
        let facts = Facts {
            full: preview.full,
            plan_hash: preview.plan_hash,
            policy_hash: preview.policy_hash,
            registry_version: preview.registry_version.clone(),
            fingerprint: preview.fingerprint,
            paths: preview.paths.clone(),
        };
        SavedPreview { fingerprint: facts.fingerprint, facts, whole: None }
    }

    /// In what a newer preview differs, one line each; nothing if it is the same.
    /// `look` tells what is at a path now: the hash of its content, for a folder any.
    pub(super) fn differences(&self, now: &Preview, look: &dyn Fn(&str) -> Option<Hash>) -> Vec<String> {
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
                Some(is) => Some(changed(was, is)),
                None => Some(left_alone(was, look(was.now_at()))),
            });
        }
        for (path, is) in new.iter().filter(|(path, _)| !old.contains_key(*path)) {
            lines.push(format!("{} would be {} too", one_line(path), is.fate.word()));
        }
        if lines.is_empty() {
            lines.push("steps would end in another way".to_owned());
        }
        if lines.len() > TOLD {
            let left = lines.len() - TOLD;
            lines.truncate(TOLD);
            lines.push(format!("and {left} more differences"));
        }
        lines
    }
}

fn by_path(paths: &[PathOutlook]) -> BTreeMap<&str, &PathOutlook> {
    paths.iter().map(|path| (path.path.as_str(), path)).collect()
}

/// Why nothing would happen to a path any more, as far as it shows.
fn left_alone(was: &PathOutlook, now: Option<Hash>) -> String {
    let path = one_line(was.now_at());
    match (was.before, now) {
        (Some(_), None) => format!("{path} no longer exists"),
        (Some(old), Some(new)) if old != new => format!("{path} was edited since the preview"),
        (None, Some(_)) if was.fate == PathFate::Created => format!("{path} exists now"),
        (Some(_) | None, _) => format!("{} would not be {} any more", one_line(&was.path), was.fate.word()),
    }
}

/// What has happened to a path between two previews.
fn changed(was: &PathOutlook, is: &PathOutlook) -> String {
    let path = one_line(is.now_at());
    match (was.before, is.before) {
        (Some(_), None) => format!("{path} no longer exists"),
        (None, Some(_)) => format!("{path} exists now"),
        (Some(old), Some(new)) if old != new => format!("{path} was edited since the preview"),
        (Some(_), Some(_)) | (None, None) => match (was.fate == is.fate, was.from == is.from) {
            (false, _) => {
                let (old, new): (PathFate, PathFate) = (was.fate, is.fate);
                format!("{} would be {}, not {}", one_line(&is.path), new.word(), old.word())
            }
            (true, false) => format!("{} would come from another place", one_line(&is.path)),
            (true, true) => format!("{} would get other content", one_line(&is.path)),
        },
    }
}
