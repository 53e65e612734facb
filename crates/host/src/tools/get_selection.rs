//! `editor.getSelection`: what is selected in the active note, and where.

use envelope::{Concurrency, Fault, Idempotency, ReceiptFamily, Requirement, Risk, SideEffect};
use receipts::families::editor::{self, EditorOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{PathKeys, ProjectedResult, Projection, StagedTool, ToolCx};

use super::active_note::ActiveNote;
use super::host_handle::HostHandle;
use crate::position::EditorRange;
use crate::protocol::{SelectedText, ViewMode};

pub(crate) struct GetSelection {
    pub(crate) host: HostHandle,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Output {
    /// The selected text, with `\n` between lines; empty when there is only a cursor.
    text: String,
    /// True when nothing is selected and `range` is the place of the cursor.
    is_empty: bool,
    /// Lines from 0, `ch` in UTF-16 code units.
    range: EditorRange,
    /// The active note.
    file_path: String,
    /// How the note is shown.
    mode: ViewMode,
}

impl From<SelectedText> for Output {
    fn from(selected: SelectedText) -> Output {
        Output {
            is_empty: selected.range.is_empty(),
            text: selected.text,
            range: selected.range,
            file_path: selected.path.to_string(),
            mode: selected.mode,
        }
    }
}

impl StagedTool for GetSelection {
    const NAME: &'static str = "editor.getSelection";
    const SUMMARY: &'static str = "Read the selection of the active note and where it is.";
    const CATEGORY: &'static str = "editor";
    const FAMILY: ReceiptFamily = ReceiptFamily::Editor;
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[];
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

    fn preview(&self, _args: &Args, active: &ActiveNote) -> String {
        format!("Read the selection in {}", active.label())
    }

    async fn run(&self, cx: &ToolCx, _args: Args, active: ActiveNote) -> Result<Output, Fault> {
        let selected = self.host.get()?.selection(cx).await?;
        active.expect(&selected.path)?;
        Ok(selected.into())
    }

    fn summary(&self, output: &Output) -> String {
        let Output { file_path, range, .. } = output;
        if output.is_empty {
            format!("The cursor is at {} of {file_path}; nothing is selected", range.from)
        } else {
            format!("{} to {} of {file_path} is selected", range.from, range.to)
        }
    }

    fn project(&self, output: &Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        let selection = editor::EditorSelection {
            file_path: &output.file_path,
            range: output.range.into(),
            text: &output.text,
            mode: Some(output.mode.name()),
        };
        editor::project(&EditorOutput::Selection(selection), with)
    }
}
