//! What the tools that edit the text of one file have in common.
//!
//! Such a tool is a pure function from text to text. Reading the file, comparing it with what the caller has
//! seen, putting the new text in the place of exactly the text that was read, and saying nothing was done when
//! nothing changed are the same for all. So an edit can be tested without a file, and none of them can lose
//! what another program wrote in between.

use envelope::{CallId, Failure, Fault, SideEffect, VaultPath};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toolkit::PathKeys;
use toolkit::families::mutation::{self, Mutation};
use toolkit::families::{Projected, Projection};

use super::evidence::Evidence;
use super::expected_etag::ExpectedEtag;
use super::given_path::GivenPath;
use super::maybe_vault::MaybeVault;
use super::writing::Writer;
use crate::sandbox::{Content, Prepared, Step, Vault, Witness, Written, etag_of};

/// Characters of a text that a preview shows.
const SHOWN_CHARS: usize = 60;

/// A tool that edits the text of one file.
pub(crate) trait Edit: Send + Sync + 'static {
    const NAME: &'static str;
    const SUMMARY: &'static str;
    /// True when the edit has a meaning in Markdown only: in other files it would do damage.
    const NOTES_ONLY: bool = false;

    type Args: DeserializeOwned + JsonSchema + Send + Sync + 'static;
    type Output: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    /// What the edit found out.
    type Facts: Send + Sync + 'static;

    fn target(args: &Self::Args) -> Target<'_>;

    /// Checks values without a look at the file.
    fn check(args: &Self::Args) -> Result<(), Fault>;

    /// One line for the person: a verb, then the path.
    fn preview(args: &Self::Args) -> String;

    /// The new text. A fault leaves out the path, which is added to it.
    fn edit(args: &Self::Args, text: &str) -> Result<(String, Self::Facts), Fault>;

    /// What to answer. `facts` are unknown when the call was found to have happened.
    fn output(args: &Self::Args, file: Edited, facts: Option<&Self::Facts>) -> Self::Output;

    fn summary(output: &Self::Output) -> String;

    /// What became of the file.
    fn mutation(output: &Self::Output) -> Mutation<'_>;
}

/// The file that an edit is for.
pub(crate) struct Target<'a> {
    pub(super) path: &'a GivenPath,
    pub(super) expected_etag: Option<&'a ExpectedEtag>,
    pub(super) dry_run: bool,
}

/// The file after the edit.
pub(crate) struct Edited {
    /// As it is spelled on disk.
    pub(super) path: String,
    pub(super) etag: String,
    /// Unknown on a dry run.
    pub(super) mtime_ms: Option<i64>,
    /// False when the text already was what the edit made of it.
    pub(super) changed: bool,
    pub(super) dry_run: bool,
}

/// An edit as a writer.
pub(crate) struct Editing<E: Edit>(std::marker::PhantomData<fn() -> E>);

/// What an edit is about to write.
pub(crate) struct Draft<F> {
    path: VaultPath,
    etag: String,
    changed: bool,
    /// Of the file as it was read, if it is on disk.
    mtime_ms: Option<i64>,
    facts: F,
}

impl<E: Edit> Writer for Editing<E> {
    const NAME: &'static str = E::NAME;
    const SUMMARY: &'static str = E::SUMMARY;
    const SIDE_EFFECTS: &'static [SideEffect] = &[SideEffect::ModifyFile];

    type Args = E::Args;
    type Output = E::Output;
    type Draft = Draft<E::Facts>;

    fn dry_run(args: &E::Args) -> bool {
        E::target(args).dry_run
    }

    fn check(args: &E::Args) -> Result<(), Fault> {
        E::target(args).path.get()?;
        E::check(args)
    }

    fn reach(vault: &MaybeVault, args: &E::Args) -> PathKeys {
        PathKeys { reads: Vec::new(), writes: E::target(args).path.reach_file(vault) }
    }

    fn preview(args: &E::Args, _draft: Option<&Draft<E::Facts>>) -> String {
        E::preview(args)
    }

    fn prepare(
        vault: &Vault,
        _call: &CallId,
        args: &E::Args,
        witness: &dyn Witness,
    ) -> Result<(Prepared, Draft<E::Facts>), Fault> {
        let target = E::target(args);
        let file = vault.load(target.path.get()?, witness)?;
        if E::NOTES_ONLY && !is_note(&file.path) {
            return Err(no_note(&file.path));
        }
        // Before the edit: what an edit says about another text than the caller has seen would mislead.
        if let Some(expected) = target.expected_etag {
            expected.check(&file.path, &file.state)?;
        }
        let (text, facts) = E::edit(args, file.text()?).map_err(|fault| in_file(&file.path, fault))?;
        let changed = text.as_bytes() != file.bytes;
        let draft = Draft {
            path: file.path.clone(),
            etag: etag_of(text.as_bytes()),
            changed,
            mtime_ms: (file.mtime_ms != 0).then_some(file.mtime_ms),
            facts,
        };
        let steps = match changed {
            true => vec![Step::ReplaceFile {
                path: file.path,
                before: file.state,
                content: Content::of(text.into_bytes()),
                mode: None,
            }],
            false => Vec::new(),
        };
        Ok((Prepared { steps }, draft))
    }

    fn output(args: &E::Args, draft: &Draft<E::Facts>, written: Option<&Written>) -> E::Output {
        let dry_run = E::target(args).dry_run;
        let mtime_ms = match written {
            Some(written) => written.mtime_ms,
            None => draft.mtime_ms.filter(|_| !dry_run),
        };
        let (path, etag) = (draft.path.to_string(), draft.etag.clone());
        let file = Edited { path, etag, mtime_ms, changed: draft.changed, dry_run };
        E::output(args, file, Some(&draft.facts))
    }

    fn found(args: &E::Args, evidence: &Evidence) -> E::Output {
        let (path, etag, _) = evidence.last_written(&E::target(args).path.shown());
        // An edit that changes nothing has no step, so there is nothing of it to be found.
        let file = Edited { path, etag, mtime_ms: evidence.mtime_ms, changed: true, dry_run: false };
        E::output(args, file, None)
    }

    fn summary(output: &E::Output) -> String {
        E::summary(output)
    }

    fn project(output: &E::Output, with: &mut Projection<'_>) -> Result<Projected, Fault> {
        mutation::project(E::mutation(output), with)
    }
}

/// A text of the caller in one short line.
pub(super) fn shown(text: &str) -> String {
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

/// Says which file it is about.
fn in_file(path: &VaultPath, fault: Fault) -> Fault {
    Fault { message: format!("in `{path}`: {}", fault.message), ..fault }
}

#[cfg(test)]
mod tests {
    use super::{SHOWN_CHARS, shown};

    #[test]
    fn a_preview_shows_one_short_line_of_any_text() {
        assert_eq!(shown("a\nb\t\u{1b}[0m"), "a\\nb\\t\\u{1b}[0m");
        assert_eq!(shown(&"é".repeat(SHOWN_CHARS)), "é".repeat(SHOWN_CHARS));
        assert_eq!(shown(&"é".repeat(SHOWN_CHARS + 1)), format!("{}…", "é".repeat(SHOWN_CHARS)));
    }
}
