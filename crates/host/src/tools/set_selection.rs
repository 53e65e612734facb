//! `editor.setSelection`: selects text in the active note. Without a user at the screen nothing else makes a
//! selection.

use envelope::{Concurrency, Fault, Idempotency, ReceiptFamily, Requirement, Risk, SideEffect, VaultChange};
use receipts::families::editor::{self, EditorOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{PathKeys, ProjectedResult, Projection, ReconcileOutcome, StagedTool, ToolCx};

use super::active_note::ActiveNote;
use super::host_handle::HostHandle;
use crate::position::{EditorPosition, EditorRange};

pub(crate) struct SetSelection {
    pub(crate) host: HostHandle,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Where the selection begins: line from 0, `ch` in UTF-16 code units.
    from: EditorPosition,
    /// Where it ends, and where the cursor is then. The same place as `from` only sets the cursor.
    to: EditorPosition,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Output {
    /// The active note.
    file_path: String,
    /// What is selected now: lines from 0, `ch` in UTF-16 code units.
    range: EditorRange,
    /// The selected text, with `\n` between lines.
    text: String,
}

impl StagedTool for SetSelection {
    const NAME: &'static str = "editor.setSelection";
    const SUMMARY: &'static str = "Select text in the active note, or set the cursor.";
    const CATEGORY: &'static str = "editor";
    const FAMILY: ReceiptFamily = ReceiptFamily::Editor;
    const RISK: Risk = Risk::Writes;
    const SIDE_EFFECTS: &'static [SideEffect] = &[SideEffect::ChangeWorkspace];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;
    const REQUIRES: &'static [Requirement] = &[Requirement::Host];
    const CONCURRENCY: Concurrency = Concurrency::Serial;

    type Args = Args;
    type Output = Output;
    type Prepared = ActiveNote;

    async fn validate(&self, cx: &ToolCx, _args: &Args, active: &mut ActiveNote) -> Result<(), Fault> {
        active.look_up(self.host.get()?, cx).await
    }

    fn paths(&self, _args: &Args, active: &ActiveNote) -> PathKeys {
        active.read_paths()
    }

    fn preview(&self, args: &Args, active: &ActiveNote) -> String {
        format!("Select {} to {} of {}", args.from, args.to, active.label())
    }

    async fn run(&self, cx: &ToolCx, args: Args, active: ActiveNote) -> Result<Output, Fault> {
        let host = self.host.get()?;
        active.expect(&host.selection(cx).await?.path)?;
        let selected = host.select(cx, EditorRange { from: args.from, to: args.to }).await?;
        cx.observed(SideEffect::ChangeWorkspace);
        // Another note may have become active in between.
        active.expect(&selected.path)?;
        Ok(Output { file_path: selected.path.to_string(), range: selected.range, text: selected.text })
    }

    async fn reconcile(
        &self,
        _cx: &ToolCx,
        _args: &Args,
        _intent: &[VaultChange],
    ) -> ReconcileOutcome<Output> {
        // Selecting the same text again changes nothing more.
        ReconcileOutcome::DidNot { taken_back: 0 }
    }

    fn summary(&self, output: &Output) -> String {
        let Output { file_path, range, .. } = output;
        if range.is_empty() {
            format!("The cursor is at {} of {file_path}", range.from)
        } else {
            format!("Selected {} to {} of {file_path}", range.from, range.to)
        }
    }

    fn project(&self, output: &Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        let selection = editor::EditorSelection {
            file_path: &output.file_path,
            range: output.range.into(),
            text: &output.text,
            mode: None,
        };
        editor::project(&EditorOutput::Selection(selection), with)
    }
}
