//! What the tools have in common that edit the active note. They differ in where the text goes and in what
//! they answer.

use envelope::{Change, DataRef, Failure, Family, Fault, FileState, Risk, SideEffect, VaultPath};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toolkit::families::editor::{self, Editor};
use toolkit::families::{Projected, Projection};
use toolkit::{BoxFuture, PathKeys, Reach, ToolCx};
use vault::{Vault, Witness};

use super::acting::Act;
use crate::carry::replaced;
use crate::document::Document;
use crate::host::{Edit, Edited, FileWork, ForeseenEdit, Host};

/// A tool that edits the active note.
pub(crate) trait EditTool: Send + Sync + 'static {
    const NAME: &'static str;
    const SUMMARY: &'static str;

    type Args: DeserializeOwned + JsonSchema + Send + Sync + 'static;
    type Output: Serialize + DeserializeOwned + JsonSchema + Send + 'static;

    fn dry_run(args: &Self::Args) -> bool;
    fn edit(args: &Self::Args) -> Edit;
    /// A verb with where the text goes, such as `Insert 5 characters at the cursor`.
    fn preview(args: &Self::Args) -> String;
    fn output(args: &Self::Args, edited: Edited) -> Self::Output;
    fn summary(output: &Self::Output) -> String;
    /// What was put where.
    fn edited(output: &Self::Output) -> editor::Edit<'_>;
}

/// An edit as an act.
pub(crate) struct Editing<E>(std::marker::PhantomData<fn() -> E>);

impl<E: EditTool> Act for Editing<E> {
    const NAME: &'static str = E::NAME;
    const SUMMARY: &'static str = E::SUMMARY;
    const CATEGORY: &'static str = "editor";
    const FAMILY: Family = Family::Editor;
    const RISK: Risk = Risk::Writes;
    const SIDE_EFFECTS: &'static [SideEffect] = &[SideEffect::ModifyFile, SideEffect::EditBuffer];

    type Args = E::Args;
    type Output = E::Output;
    type Foreseen = ForeseenEdit;

    fn dry_run(args: &E::Args) -> bool {
        E::dry_run(args)
    }

    fn foresee<'a>(
        host: &'a dyn Host,
        cx: &'a ToolCx,
        args: &'a E::Args,
    ) -> BoxFuture<'a, Result<ForeseenEdit, Fault>> {
        Box::pin(async move { host.foresee_edit(cx, &E::edit(args)).await })
    }

    fn files(foreseen: &ForeseenEdit) -> &FileWork {
        &foreseen.files
    }

    fn touches(foreseen: &ForeseenEdit) -> PathKeys {
        // Also where nothing is saved yet: the note is what is changed.
        PathKeys { reads: Vec::new(), writes: vec![Reach::File(foreseen.edited.path.clone())] }
    }

    fn preview(args: &E::Args, foreseen: Option<&ForeseenEdit>) -> String {
        let what = E::preview(args);
        match foreseen {
            Some(foreseen) => format!("{what} of {}", foreseen.edited.path),
            None => format!("{what} of the active note"),
        }
    }

    fn perform<'a>(
        host: &'a dyn Host,
        cx: &'a ToolCx,
        args: &'a E::Args,
        foreseen: &'a ForeseenEdit,
    ) -> BoxFuture<'a, Result<E::Output, Fault>> {
        Box::pin(async move {
            if host.edit(cx, foreseen).await? {
                cx.observed(SideEffect::EditBuffer);
            }
            Ok(E::output(args, foreseen.edited.clone()))
        })
    }

    fn foretold(args: &E::Args, foreseen: &ForeseenEdit) -> E::Output {
        E::output(args, foreseen.edited.clone())
    }

    fn found(
        args: &E::Args,
        intent: &[Change],
        vault: &Vault,
        witness: &dyn Witness,
    ) -> Result<E::Output, Fault> {
        edit_found(intent, vault, witness).map(|edited| E::output(args, edited))
    }

    fn summary(output: &E::Output) -> String {
        E::summary(output)
    }

    fn project(output: &E::Output, with: &mut Projection<'_>) -> Result<Projected, Fault> {
        editor::project(&Editor::Edit(E::edited(output)), with)
    }
}

/// Where an edit went, from what was kept before it and what is there now.
fn edit_found(intent: &[Change], vault: &Vault, witness: &dyn Witness) -> Result<Edited, Fault> {
    let cannot = || Fault::new(Failure::ExecutionFailed, "the text is there, but not where it was put");
    let (path, before) = intent.iter().rev().find_map(replacement).ok_or_else(cannot)?;
    let path = VaultPath::parse(path).map_err(|_| cannot())?;
    let mut kept = Vec::new();
    if let Some(FileState { hash, bytes, .. }) = before {
        witness.fetch(&DataRef { hash: *hash, bytes: *bytes }, &mut kept)?;
    }
    let loaded = vault.load(&path, witness)?;
    let old = Document::parse(std::str::from_utf8(&kept).map_err(|_| cannot())?);
    let new = Document::parse(loaded.text()?);
    let (range, cursor_after, inserted_chars) = replaced(&old, &new);
    Ok(Edited { path: loaded.path.clone(), range, cursor_after, inserted_chars, etag: loaded.state.etag() })
}

fn replacement(change: &Change) -> Option<(&str, Option<&FileState>)> {
    match change {
        Change::FileReplaced { path, before, .. } => Some((path, Some(before))),
        Change::FileCreated { path, .. } => Some((path, None)),
        Change::FolderCreated { .. }
        | Change::FolderRemoved { .. }
        | Change::FileRemoved { .. }
        | Change::Moved { .. } => None,
    }
}

/// "1 character", "5 characters", as an editor counts them.
pub(super) fn characters(count: u32) -> String {
    if count == 1 { "1 character".to_owned() } else { format!("{count} characters") }
}
