//! `vault.replaceText`: replaces text that is found by its content.

use envelope::{Failure, Fault};
use receipts::families::mutation::{FileMutation, MutationFacts as Told, MutationOutcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::edit_tool::{EditTarget, EditedFile, TextEdit, short_line};
use super::expected_etag::ExpectedEtag;
use super::path_arg::PathArg;
use notes::replace_text::{ExpectedMatches, replace_text};

pub(crate) struct ReplaceText;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// Text file.
    path: PathArg,
    /// Exact text, case-sensitive, of one or more lines.
    #[schemars(length(min = 1))]
    find: String,
    /// New text; empty to delete.
    replace: String,
    /// Number of matches, or nothing changes. Default: 1.
    #[serde(default)]
    #[schemars(range(min = 1))]
    expected_matches: Option<u32>,
    /// Replace every match, at least one.
    #[serde(default)]
    all: bool,
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
    /// The file as it is spelled on disk.
    path: String,
    /// Hash of the whole content as it is now: 32 hex digits.
    etag: String,
    /// When the file was last written, in milliseconds since 1970 UTC. Absent on a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    mtime_ms: Option<i64>,
    /// How many places were replaced; 0 when `replace` says the same as `find`. Absent when a call with `all`
    /// was found to have happened after a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    replaced: Option<u64>,
    /// True when nothing was done because `dryRun` was set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

/// Number of replacements.
pub(crate) struct ReplacementFacts {
    count: u64,
}

impl TextEdit for ReplaceText {
    const NAME: &'static str = "vault.replaceText";
    const SUMMARY: &'static str = "Replace a text in a file by another, found by what it says.";

    type Args = Args;
    type Output = Output;
    type Facts = ReplacementFacts;

    fn target(args: &Args) -> EditTarget<'_> {
        EditTarget { path: &args.path, expected_etag: args.expected_etag.as_ref(), dry_run: args.dry_run }
    }

    fn check(args: &Args) -> Result<(), Fault> {
        args.matches().map(drop)
    }

    fn preview(args: &Args) -> String {
        let (path, find) = (args.path.display(), short_line(&args.find));
        let every = if args.all { " everywhere" } else { "" };
        match args.replace.is_empty() {
            true => format!("Remove \"{find}\"{every} from {path}"),
            false => format!("Replace \"{find}\" by \"{}\"{every} in {path}", short_line(&args.replace)),
        }
    }

    fn edit(args: &Args, text: &str) -> Result<(String, ReplacementFacts), Fault> {
        let replaced = replace_text(text, &args.find, &args.replace, args.matches()?)?;
        Ok((replaced.text, ReplacementFacts { count: replaced.count as u64 }))
    }

    fn output(args: &Args, file: EditedFile, facts: Option<&ReplacementFacts>) -> Output {
        let replaced = match (file.changed, facts) {
            (false, _) => Some(0),
            (true, Some(facts)) => Some(facts.count),
            // The call happened, so the number of matches was the expected one.
            (true, None) if args.all => None,
            (true, None) => Some(u64::from(args.expected_matches.unwrap_or(1))),
        };
        Output { path: file.path, etag: file.etag, mtime_ms: file.mtime_ms, replaced, dry_run: file.dry_run }
    }

    fn summary(output: &Output) -> String {
        let Output { path, replaced, dry_run, .. } = output;
        let done = if *dry_run { "Would replace" } else { "Replaced" };
        match replaced {
            Some(0) => format!("Left {path} as it is: the new text is the old one"),
            Some(1) => format!("{done} text at one place in {path}"),
            Some(places) => format!("{done} text at {places} places in {path}"),
            None => format!("{done} text in {path}"),
        }
    }

    fn mutation(output: &Output) -> FileMutation<'_> {
        FileMutation {
            outcome: if output.replaced == Some(0) {
                MutationOutcome::Unchanged
            } else {
                MutationOutcome::Changed
            },
            path: output.path.as_str().into(),
            etag: Some(output.etag.as_str().into()),
            facts: Told { places: output.replaced, ..Told::default() },
            dry_run: output.dry_run,
        }
    }
}

impl Args {
    fn matches(&self) -> Result<ExpectedMatches, Fault> {
        match (self.all, self.expected_matches) {
            (true, Some(_)) => {
                Err(Fault::new(Failure::InvalidArguments, "`all` and `expectedMatches` exclude each other")
                    .hint("leave out `all` to replace exactly that many, or leave out `expectedMatches`"))
            }
            (true, None) => Ok(ExpectedMatches::All),
            (false, expected) => {
                Ok(ExpectedMatches::Exactly(usize::try_from(expected.unwrap_or(1)).unwrap_or(usize::MAX)))
            }
        }
    }
}
