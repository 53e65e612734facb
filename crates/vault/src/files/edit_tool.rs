//! The part that all tools that edit the text of one file share.
//!
//! Such a tool is a pure function from text to text. This module reads the file, compares it with the state
//! that the caller has seen, replaces exactly the text that was read, and reports an edit that changes nothing.
//! So an edit can be tested without a file, and no edit can lose text that another program wrote in between.

use envelope::{CallId, Failure, Fault, SideEffect, VaultPath};
use receipts::families::mutation::{self, FileMutation};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toolkit::{PathKeys, ProjectedResult, Projection};

use super::expected_etag::ExpectedEtag;
use super::maybe_vault::MaybeVault;
use super::path_arg::PathArg;
use super::reconcile::ReconcileEvidence;
use super::write_tool::{WriteTool, WriteToolDecl};
use crate::file_layer::{ChangeStep, FileContent, IoContext, PreparedSteps, Vault, WrittenFile, etag_of};

/// Most characters of a text that a preview contains.
const SHOWN_CHARS: usize = 60;

/// A tool that edits the text of one file.
pub(crate) trait TextEdit: Send + Sync + 'static {
    const NAME: &'static str;
    const SUMMARY: &'static str;
    /// True if the edit is defined for Markdown only; it would damage other files.
    const NOTES_ONLY: bool = false;

    type Args: DeserializeOwned + JsonSchema + Send + Sync + 'static;
    type Output: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    /// Results of the edit for the output.
    type Facts: Send + Sync + 'static;

    fn target(args: &Self::Args) -> EditTarget<'_>;

    /// Checks the values without reading the file.
    fn check(args: &Self::Args) -> Result<(), Fault>;

    /// Returns one line for the user: a verb, then the path.
    fn preview(args: &Self::Args) -> String;

    /// Returns the new text. The caller adds the path to an error.
    fn edit(args: &Self::Args, text: &str) -> Result<(String, Self::Facts), Fault>;

    /// Returns the output. `facts` is `None` if reconciliation found that the call had happened.
    fn output(args: &Self::Args, file: EditedFile, facts: Option<&Self::Facts>) -> Self::Output;

    fn summary(output: &Self::Output) -> String;

    /// Returns the outcome for the receipt.
    fn mutation(output: &Self::Output) -> FileMutation<'_>;
}

/// The file that an edit changes.
pub(crate) struct EditTarget<'a> {
    pub(super) path: &'a PathArg,
    pub(super) expected_etag: Option<&'a ExpectedEtag>,
    pub(super) dry_run: bool,
}

/// The file after the edit.
pub(crate) struct EditedFile {
    /// As spelled on disk.
    pub(super) path: String,
    pub(super) etag: String,
    /// `None` on a dry run.
    pub(super) mtime_ms: Option<i64>,
    /// False if the new text equals the old text.
    pub(super) changed: bool,
    pub(super) dry_run: bool,
}

/// Adapter from a [`TextEdit`] to a [`WriteTool`].
pub(crate) struct EditTool<E: TextEdit>(std::marker::PhantomData<fn() -> E>);

/// Content that an edit will write.
pub(crate) struct EditPlan<F> {
    path: VaultPath,
    etag: String,
    changed: bool,
    /// Modification time of the file as it was read; `None` if it is not on disk.
    mtime_ms: Option<i64>,
    facts: F,
}

impl<E: TextEdit> WriteTool for EditTool<E> {
    const DECL: WriteToolDecl = WriteToolDecl::new(E::NAME, E::SUMMARY, &[SideEffect::ModifyFile]);

    type Args = E::Args;
    type Output = E::Output;
    type Plan = EditPlan<E::Facts>;

    fn dry_run(args: &E::Args) -> bool {
        E::target(args).dry_run
    }

    fn check(args: &E::Args) -> Result<(), Fault> {
        E::target(args).path.existing()?;
        E::check(args)
    }

    fn path_keys(vault: &MaybeVault, args: &E::Args) -> PathKeys {
        PathKeys { reads: Vec::new(), writes: E::target(args).path.file_scopes(vault) }
    }

    fn preview(args: &E::Args, _draft: Option<&EditPlan<E::Facts>>) -> String {
        E::preview(args)
    }

    fn prepare(
        vault: &Vault,
        _call: &CallId,
        args: &E::Args,
        io: &dyn IoContext,
    ) -> Result<(PreparedSteps, EditPlan<E::Facts>), Fault> {
        let target = E::target(args);
        let file = vault.load(target.path.existing()?, io)?;
        if E::NOTES_ONLY && !is_note(&file.path) {
            return Err(no_note(&file.path));
        }
        // Checked before the edit: errors of an edit about other text than the caller has seen would mislead.
        if let Some(expected) = target.expected_etag {
            expected.check(&file.path, &file.state)?;
        }
        let (text, facts) = E::edit(args, file.text()?).map_err(|fault| with_path(&file.path, fault))?;
        let changed = text.as_bytes() != file.bytes;
        let plan = EditPlan {
            path: file.path.clone(),
            etag: etag_of(text.as_bytes()),
            changed,
            mtime_ms: (file.mtime_ms != 0).then_some(file.mtime_ms),
            facts,
        };
        let steps = match changed {
            true => vec![ChangeStep::ReplaceFile {
                path: file.path,
                before: file.state,
                content: FileContent::of(text.into_bytes()),
                mode: None,
            }],
            false => Vec::new(),
        };
        Ok((PreparedSteps { steps }, plan))
    }

    fn output(args: &E::Args, plan: &EditPlan<E::Facts>, written: Option<&WrittenFile>) -> E::Output {
        let dry_run = E::target(args).dry_run;
        let mtime_ms = match written {
            Some(written) => written.mtime_ms,
            None => plan.mtime_ms.filter(|_| !dry_run),
        };
        let (path, etag) = (plan.path.to_string(), plan.etag.clone());
        let file = EditedFile { path, etag, mtime_ms, changed: plan.changed, dry_run };
        E::output(args, file, Some(&plan.facts))
    }

    fn output_from_evidence(args: &E::Args, evidence: &ReconcileEvidence) -> E::Output {
        let (path, etag, _) = evidence.last_written(&E::target(args).path.display());
        // An edit without changes has no step, so reconciliation never finds one.
        let file = EditedFile { path, etag, mtime_ms: evidence.mtime_ms, changed: true, dry_run: false };
        E::output(args, file, None)
    }

    fn summary(output: &E::Output) -> String {
        E::summary(output)
    }

    fn project(output: &E::Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        mutation::project(E::mutation(output), with)
    }
}

/// Returns a text of the caller as one short line.
pub(super) fn short_line(text: &str) -> String {
    let cut = text.char_indices().nth(SHOWN_CHARS).map_or(text.len(), |(at, _)| at);
    let more = if cut < text.len() { "…" } else { "" };
    format!("{}{more}", text[..cut].escape_debug())
}

fn is_note(path: &VaultPath) -> bool {
    path.name().rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("md"))
}

fn no_note(path: &VaultPath) -> Fault {
    Fault::new(Failure::PreconditionFailed, format!("`{path}` is not a Markdown note"))
        .hint("name a file that ends in `.md`; other text can be changed with `vault.replaceText`")
}

/// Adds the path to an error.
fn with_path(path: &VaultPath, fault: Fault) -> Fault {
    Fault { message: format!("in `{path}`: {}", fault.message), ..fault }
}

#[cfg(test)]
mod tests {
    use super::{SHOWN_CHARS, short_line};

    #[test]
    fn a_preview_shows_one_short_line_of_any_text() {
        assert_eq!(short_line("a\nb\t\u{1b}[0m"), "a\\nb\\t\\u{1b}[0m");
        assert_eq!(short_line(&"é".repeat(SHOWN_CHARS)), "é".repeat(SHOWN_CHARS));
        assert_eq!(short_line(&"é".repeat(SHOWN_CHARS + 1)), format!("{}…", "é".repeat(SHOWN_CHARS)));
    }
}
