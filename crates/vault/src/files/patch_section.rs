//! `vault.patchSection`: replaces or extends the section under a heading, or the block with an id.

use envelope::{Failure, Fault};
use receipts::families::mutation::{FileMutation, MutationFacts as Told, MutationOutcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::edit_tool::{EditTarget, EditedFile, TextEdit, short_line};
use super::expected_etag::ExpectedEtag;
use super::path_arg::PathArg;
use notes::lines::line_number;
use notes::section::{self, PatchedSection, SectionPatch, SectionTarget, patch_section};

pub(crate) struct PatchSection;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// Note, such as `Notes/Idea.md`.
    path: PathArg,
    /// Headings from the top down to the section, such as `["Plan", "Next steps"]`. Give this or `block`.
    #[serde(default)]
    #[schemars(length(min = 1, max = 6))]
    heading: Option<Vec<String>>,
    /// Id of a block.
    #[serde(default)]
    block: Option<String>,
    /// Place of the content.
    mode: SectionEditMode,
    /// Markdown without the section's own heading.
    content: String,
    /// Count subsections as part of it.
    #[serde(default)]
    include_subsections: bool,
    /// Fail unless the etag is this.
    #[serde(default)]
    expected_etag: Option<ExpectedEtag>,
    /// Only report.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SectionEditMode {
    Replace,
    Append,
    Prepend,
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
    /// False when the note already said what the patch makes of it.
    applied: bool,
    /// The line where the new text begins, counted from 1. This and the fields below are absent when the call
    /// was found to have happened after a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    line: Option<u64>,
    /// First byte of the new text in the note as it is now, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    start: Option<u64>,
    /// The byte after the last one of the new text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    end: Option<u64>,
    /// How many bytes of the old text are gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    bytes_removed: Option<u64>,
    /// True when nothing was done because `dryRun` was set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

/// Position of the new text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SectionEditFacts {
    line: u64,
    start: u64,
    end: u64,
    bytes_removed: u64,
}

impl TextEdit for PatchSection {
    const NAME: &'static str = "vault.patchSection";
    const SUMMARY: &'static str = "Replace or extend a section of a note, or a block with an id.";
    const NOTES_ONLY: bool = true;

    type Args = Args;
    type Output = Output;
    type Facts = SectionEditFacts;

    fn target(args: &Args) -> EditTarget<'_> {
        EditTarget { path: &args.path, expected_etag: args.expected_etag.as_ref(), dry_run: args.dry_run }
    }

    fn check(args: &Args) -> Result<(), Fault> {
        args.target().map(drop)
    }

    fn preview(args: &Args) -> String {
        let verb = match args.mode {
            SectionEditMode::Replace => "Replace",
            SectionEditMode::Append => "Append to",
            SectionEditMode::Prepend => "Prepend to",
        };
        let place = match args.target() {
            Ok(SectionTarget::Heading(path)) => {
                let texts: Vec<String> = path.iter().map(|text| short_line(text)).collect();
                format!("the section \"{}\"", texts.join(" > "))
            }
            Ok(SectionTarget::Block(id)) => format!("the block ^{}", short_line(id.trim_start_matches('^'))),
            Err(_) => "a section".to_owned(),
        };
        format!("{verb} {place} of {}", args.path.display())
    }

    fn edit(args: &Args, text: &str) -> Result<(String, SectionEditFacts), Fault> {
        let patch = SectionPatch {
            target: args.target()?,
            mode: match args.mode {
                SectionEditMode::Replace => section::SectionMode::Replace,
                SectionEditMode::Append => section::SectionMode::Append,
                SectionEditMode::Prepend => section::SectionMode::Prepend,
            },
            content: args.content.clone(),
            include_subsections: args.include_subsections,
        };
        let patched = patch_section(text, &patch)?;
        let facts = SectionEditFacts::of(&patched);
        Ok((patched.text, facts))
    }

    fn output(_args: &Args, file: EditedFile, facts: Option<&SectionEditFacts>) -> Output {
        Output {
            path: file.path,
            etag: file.etag,
            mtime_ms: file.mtime_ms,
            applied: file.changed,
            line: facts.map(|facts| facts.line),
            start: facts.map(|facts| facts.start),
            end: facts.map(|facts| facts.end),
            bytes_removed: facts.map(|facts| if file.changed { facts.bytes_removed } else { 0 }),
            dry_run: file.dry_run,
        }
    }

    fn summary(output: &Output) -> String {
        let Output { path, applied, line, dry_run, .. } = output;
        let done = match (applied, dry_run) {
            (false, _) => return format!("Left {path} as it is: it already has that content"),
            (true, false) => "Patched",
            (true, true) => "Would patch",
        };
        match line {
            Some(line) => format!("{done} {path} at line {line}"),
            None => format!("{done} {path}"),
        }
    }

    fn mutation(output: &Output) -> FileMutation<'_> {
        FileMutation {
            outcome: if output.applied { MutationOutcome::Changed } else { MutationOutcome::Unchanged },
            path: output.path.as_str().into(),
            etag: Some(output.etag.as_str().into()),
            facts: Told {
                bytes_removed: output.bytes_removed,
                line: output.line,
                start: output.start,
                end: output.end,
                ..Told::default()
            },
            dry_run: output.dry_run,
        }
    }
}

impl Args {
    fn target(&self) -> Result<SectionTarget, Fault> {
        let refused = |message, hint| Err(Fault::new(Failure::InvalidArguments, message).hint(hint));
        match (&self.heading, &self.block) {
            (Some(_), Some(_)) => refused("`heading` and `block` are both given", "give one of the two"),
            (None, None) => refused(
                "neither `heading` nor `block` is given",
                "give `heading` for a section, or `block` for a block with an id",
            ),
            (None, Some(_)) if self.include_subsections => {
                refused("a block has no subsections", "leave out `includeSubsections`")
            }
            (None, Some(id)) => Ok(SectionTarget::Block(id.clone())),
            (Some(path), None) => Ok(SectionTarget::Heading(path.clone())),
        }
    }
}

impl SectionEditFacts {
    fn of(patched: &PatchedSection) -> SectionEditFacts {
        let new = &patched.text[patched.range.clone()];
        // The new text may begin with the line ending that the line before it lacked.
        let blank = new.len() - new.trim_start().len();
        let first = patched.range.start + if blank < new.len() { blank } else { 0 };
        SectionEditFacts {
            line: line_number(&patched.text, first) as u64,
            start: patched.range.start as u64,
            end: patched.range.end as u64,
            bytes_removed: patched.bytes_removed as u64,
        }
    }
}
