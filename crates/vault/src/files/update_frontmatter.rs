//! `vault.updateFrontmatter`: sets, removes and extends properties of a note, and changes nothing else.

use std::collections::HashSet;

use envelope::{Failure, Fault};
use receipts::families::mutation::{FileMutation, MutationFacts as Told, MutationOutcome, PropertyChanges};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::edit_tool::{EditTarget, EditedFile, TextEdit, short_line};
use super::expected_etag::ExpectedEtag;
use super::path_arg::PathArg;
use notes::frontmatter::{FrontmatterUpdate, UpdatedNote, update_frontmatter};

/// Most properties that one line names.
const MAX_NAMED: usize = 10;

pub(crate) struct UpdateFrontmatter;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// Note, such as `Notes/Idea.md`.
    path: PathArg,
    /// New values, such as `{"status": "done"}`.
    #[serde(default)]
    set: Map<String, Value>,
    /// Names of properties.
    #[serde(default)]
    remove: Vec<String>,
    /// Values to add to lists, such as `{"tags": ["idea"]}`.
    #[serde(default)]
    append: Map<String, Value>,
    /// Fail unless the etag is this.
    #[serde(default)]
    expected_etag: Option<ExpectedEtag>,
    /// Only report.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Output {
    /// The note as it is spelled on disk.
    path: String,
    /// Hash of the whole content as it is now: 32 hex digits.
    etag: String,
    /// When the note was last written, in milliseconds since 1970 UTC. Absent on a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    mtime_ms: Option<i64>,
    /// Properties that are new, spelled as in the note. This and the other lists are absent when the call was
    /// found to have happened after a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    added: Option<Vec<String>>,
    /// Properties with another value than before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    changed: Option<Vec<String>>,
    /// Properties that are gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    removed: Option<Vec<String>>,
    /// Properties that already were as asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    unchanged: Option<Vec<String>>,
    /// True when the properties were JSON, so that all of them were written as YAML, as Obsidian does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    rewritten_as_yaml: bool,
    /// True when nothing was done because `dryRun` was set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

/// Changed properties by kind of change.
pub(crate) struct PropertyFacts {
    added: Vec<String>,
    changed: Vec<String>,
    removed: Vec<String>,
    unchanged: Vec<String>,
    rewritten_as_yaml: bool,
}

impl TextEdit for UpdateFrontmatter {
    const NAME: &'static str = "vault.updateFrontmatter";
    const SUMMARY: &'static str = "Set, remove or extend properties of a note and keep all else as it is.";
    const NOTES_ONLY: bool = true;

    type Args = Args;
    type Output = Output;
    type Facts = PropertyFacts;

    fn target(args: &Args) -> EditTarget<'_> {
        EditTarget { path: &args.path, expected_etag: args.expected_etag.as_ref(), dry_run: args.dry_run }
    }

    fn check(args: &Args) -> Result<(), Fault> {
        let mut named = HashSet::new();
        let names = args.set.keys().chain(&args.remove).chain(args.append.keys());
        for name in names {
            if !named.insert(name) {
                return Err(Fault::new(
                    Failure::InvalidArguments,
                    format!("the property `{}` is named twice", short_line(name)),
                )
                .hint("name each property once in `set`, `remove` or `append`"));
            }
        }
        if named.is_empty() {
            return Err(Fault::new(Failure::InvalidArguments, "no property is named")
                .hint("give `set`, `remove` or `append`"));
        }
        Ok(())
    }

    fn preview(args: &Args) -> String {
        let set = listed("set", args.set.keys());
        let remove = listed("remove", args.remove.iter());
        let append = listed("append to", args.append.keys());
        let parts: Vec<String> = [set, remove, append].into_iter().flatten().collect();
        format!("Update properties of {}: {}", args.path.display(), parts.join("; "))
    }

    fn edit(args: &Args, text: &str) -> Result<(String, PropertyFacts), Fault> {
        let wanted = FrontmatterUpdate {
            set: args.set.clone(),
            remove: args.remove.clone(),
            append: args.append.clone(),
        };
        let UpdatedNote { text, added, changed, removed, unchanged, was_json } =
            update_frontmatter(text, &wanted)?;
        Ok((text, PropertyFacts { added, changed, removed, unchanged, rewritten_as_yaml: was_json }))
    }

    fn output(_args: &Args, file: EditedFile, facts: Option<&PropertyFacts>) -> Output {
        Output {
            path: file.path,
            etag: file.etag,
            mtime_ms: file.mtime_ms,
            added: facts.map(|facts| facts.added.clone()),
            changed: facts.map(|facts| facts.changed.clone()),
            removed: facts.map(|facts| facts.removed.clone()),
            unchanged: facts.map(|facts| facts.unchanged.clone()),
            rewritten_as_yaml: facts.is_some_and(|facts| facts.rewritten_as_yaml),
            dry_run: file.dry_run,
        }
    }

    fn summary(output: &Output) -> String {
        let Output { path, added, changed, removed, unchanged, dry_run, .. } = output;
        let part =
            |verb, names: &Option<Vec<String>>| listed(verb, names.as_deref().unwrap_or_default().iter());
        let parts: Vec<String> = [part("added", added), part("changed", changed), part("removed", removed)]
            .into_iter()
            .flatten()
            .collect();
        let done = if *dry_run { "Would update" } else { "Updated" };
        match (parts.is_empty(), unchanged) {
            (true, Some(_)) => format!("Left {path} as it is: the properties already are as asked"),
            (true, None) => format!("{done} properties of {path}"),
            (false, _) => {
                let yaml = if output.rewritten_as_yaml { "; wrote its JSON as YAML" } else { "" };
                format!("{done} properties of {path}: {}{yaml}", parts.join("; "))
            }
        }
    }

    fn mutation(output: &Output) -> FileMutation<'_> {
        let names = |names: &Option<Vec<String>>| names.clone().unwrap_or_default();
        let properties = PropertyChanges {
            added: names(&output.added),
            changed: names(&output.changed),
            removed: names(&output.removed),
            unchanged: names(&output.unchanged),
            left_out: 0,
            truncated: false,
        };
        let none =
            properties.added.is_empty() && properties.changed.is_empty() && properties.removed.is_empty();
        let as_asked = none && output.unchanged.is_some();
        FileMutation {
            outcome: if as_asked { MutationOutcome::Unchanged } else { MutationOutcome::Changed },
            path: output.path.as_str().into(),
            etag: Some(output.etag.as_str().into()),
            facts: Told { properties: Some(properties), ..Told::default() },
            dry_run: output.dry_run,
        }
    }
}

/// Returns `verb a, b`, or `None` without names. A large number of names is counted.
fn listed<'a>(verb: &str, names: impl ExactSizeIterator<Item = &'a String>) -> Option<String> {
    let all = names.len();
    let mut words: Vec<String> = names.take(MAX_NAMED).map(|name| short_line(name)).collect();
    if all > MAX_NAMED {
        words.push(format!("and {} more", all - MAX_NAMED));
    }
    (!words.is_empty()).then(|| format!("{verb} {}", words.join(", ")))
}
