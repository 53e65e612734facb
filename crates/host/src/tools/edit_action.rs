//! The common part of the tools that edit the active note. They differ in where the text goes and in their
//! output.

use envelope::{DataRef, Failure, Fault, FileState, ReceiptFamily, Risk, SideEffect, VaultChange, VaultPath};
use receipts::families::editor::{self, EditorOutput};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toolkit::{BoxFuture, PathKeys, PathScope, ProjectedResult, Projection, ToolCx};
use vault::{IoContext, Vault};

use super::host_action::HostAction;
use crate::cursor_mapping::replaced_range;
use crate::document::NoteDocument;
use crate::prepared::{NoteEditResult, PreparedEdit, PreparedFiles};
use crate::protocol::EditRequest;
use crate::slot::HostSlot;

/// A tool that edits the active note.
pub(crate) trait NoteEditTool: Send + Sync + 'static {
    const NAME: &'static str;
    const SUMMARY: &'static str;

    type Args: Clone + DeserializeOwned + JsonSchema + Send + Sync + 'static;
    type Output: Serialize + DeserializeOwned + JsonSchema + Send + 'static;

    fn dry_run(args: &Self::Args) -> bool;
    fn edit(args: &Self::Args) -> EditRequest;
    /// Returns a verb with where the text goes, such as `Insert 5 characters at the cursor`.
    fn preview(args: &Self::Args) -> String;
    fn output(args: &Self::Args, edited: NoteEditResult) -> Self::Output;
    fn summary(output: &Self::Output) -> String;
    /// Returns the edit as its receipt shows it.
    fn edited(output: &Self::Output) -> editor::EditorEdit<'_>;
}

/// An edit as an action.
pub(crate) struct EditAction<E>(std::marker::PhantomData<fn() -> E>);

impl<E: NoteEditTool> HostAction for EditAction<E> {
    const NAME: &'static str = E::NAME;
    const SUMMARY: &'static str = E::SUMMARY;
    const CATEGORY: &'static str = "editor";
    const FAMILY: ReceiptFamily = ReceiptFamily::Editor;
    const RISK: Risk = Risk::Writes;
    const SIDE_EFFECTS: &'static [SideEffect] = &[SideEffect::ModifyFile, SideEffect::EditBuffer];

    type Args = E::Args;
    type Output = E::Output;
    type Prepared = PreparedEdit;

    fn dry_run(args: &E::Args) -> bool {
        E::dry_run(args)
    }

    fn prepare<'a>(
        host: &'a HostSlot,
        cx: &'a ToolCx,
        args: &'a E::Args,
    ) -> BoxFuture<'a, Result<PreparedEdit, Fault>> {
        Box::pin(async move { host.prepare_edit(cx, &E::edit(args)).await })
    }

    fn files(prepared: &PreparedEdit) -> &PreparedFiles {
        &prepared.files
    }

    fn touched_paths(prepared: &PreparedEdit) -> PathKeys {
        // The note counts as changed even if the edit is not saved yet.
        PathKeys { reads: Vec::new(), writes: vec![PathScope::File(prepared.outcome.path.clone())] }
    }

    fn preview(args: &E::Args, prepared: Option<&PreparedEdit>) -> String {
        let what = E::preview(args);
        match prepared {
            Some(prepared) => format!("{what} of {}", prepared.outcome.path),
            None => format!("{what} of the active note"),
        }
    }

    fn apply<'a>(
        host: &'a HostSlot,
        cx: &'a ToolCx,
        args: &'a E::Args,
        prepared: &'a PreparedEdit,
    ) -> BoxFuture<'a, Result<E::Output, Fault>> {
        Box::pin(async move {
            if host.apply_edit(cx, prepared).await? {
                cx.observed(SideEffect::EditBuffer);
            }
            Ok(E::output(args, prepared.outcome.clone()))
        })
    }

    fn dry_run_output(args: &E::Args, prepared: &PreparedEdit) -> E::Output {
        E::output(args, prepared.outcome.clone())
    }

    fn reconciled_output(
        args: &E::Args,
        intent: &[VaultChange],
        vault: &Vault,
        io: &dyn IoContext,
    ) -> Result<E::Output, Fault> {
        reconciled_edit(intent, vault, io).map(|edited| E::output(args, edited))
    }

    fn summary(output: &E::Output) -> String {
        E::summary(output)
    }

    fn project(output: &E::Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        editor::project(&EditorOutput::Edit(E::edited(output)), with)
    }
}

/// Works out where an edit went, from the content stored before it and the file now.
fn reconciled_edit(
    intent: &[VaultChange],
    vault: &Vault,
    io: &dyn IoContext,
) -> Result<NoteEditResult, Fault> {
    let cannot = || Fault::new(Failure::ExecutionFailed, "the text is there, but not where it was put");
    let (path, before) = intent.iter().rev().find_map(replacement).ok_or_else(cannot)?;
    let path = VaultPath::parse(path).map_err(|_| cannot())?;
    let mut kept = Vec::new();
    if let Some(FileState { hash, bytes, .. }) = before {
        io.fetch(&DataRef { hash: *hash, bytes: *bytes }, &mut kept)?;
    }
    let loaded = vault.load(&path, io)?;
    let old = NoteDocument::parse(std::str::from_utf8(&kept).map_err(|_| cannot())?);
    let new = NoteDocument::parse(loaded.text()?);
    let (range, cursor_after, inserted_chars) = replaced_range(&old, &new);
    Ok(NoteEditResult {
        path: loaded.path.clone(),
        range,
        cursor_after,
        inserted_chars,
        etag: loaded.state.etag(),
    })
}

fn replacement(change: &VaultChange) -> Option<(&str, Option<&FileState>)> {
    match change {
        VaultChange::FileReplaced { path, before, .. } => Some((path, Some(before))),
        VaultChange::FileCreated { path, .. } => Some((path, None)),
        VaultChange::FolderCreated { .. }
        | VaultChange::FolderRemoved { .. }
        | VaultChange::FileRemoved { .. }
        | VaultChange::Moved { .. } => None,
    }
}

/// Returns "1 character" or "5 characters", as an editor counts them.
pub(super) fn characters(count: u32) -> String {
    if count == 1 { "1 character".to_owned() } else { format!("{count} characters") }
}
