//! `editor.getSelection`: what is selected in the active note, and where.

use envelope::{Concurrency, Family, Fault, Idempotency, Requirement, Risk, SideEffect};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::families::editor::{self, Editor};
use toolkit::families::{Projected, Projection};
use toolkit::{PathKeys, Tool, ToolCx};

use super::active::ActiveNote;
use super::maybe_host::MaybeHost;
use crate::host::{Mode, Selected};
use crate::position::EditorRange;

pub(crate) struct GetSelection {
    pub(crate) host: MaybeHost,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    #[serde(skip)]
    active: ActiveNote,
}

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
    mode: Mode,
}

impl From<Selected> for Output {
    fn from(selected: Selected) -> Output {
        Output {
            is_empty: selected.range.is_empty(),
            text: selected.text,
            range: selected.range,
            file_path: selected.path.to_string(),
            mode: selected.mode,
        }
    }
}

impl Tool for GetSelection {
    const NAME: &'static str = "editor.getSelection";
    const SUMMARY: &'static str = "Read the selection of the active note and where it is.";
    const CATEGORY: &'static str = "editor";
    const FAMILY: Family = Family::Editor;
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;
    const REQUIRES: &'static [Requirement] = &[Requirement::Host];
    const CONCURRENCY: Concurrency = Concurrency::Serial;

    type Args = Args;
    type Output = Output;

    async fn validate(&self, cx: &ToolCx, args: &Args) -> Result<(), Fault> {
        args.active.look(&*self.host.get()?, cx).await
    }

    fn paths(&self, args: &Args) -> PathKeys {
        args.active.reads()
    }

    fn preview(&self, args: &Args) -> String {
        format!("Read the selection in {}", args.active.shown())
    }

    async fn run(&self, cx: &ToolCx, args: Args) -> Result<Output, Fault> {
        let selected = self.host.get()?.selection(cx).await?;
        args.active.expect(&selected.path)?;
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

    fn project(&self, output: &Output, with: &mut Projection<'_>) -> Result<Projected, Fault> {
        let selection = editor::Selection {
            file_path: &output.file_path,
            range: output.range.into(),
            text: &output.text,
            mode: Some(output.mode.name()),
        };
        editor::project(&Editor::Selection(selection), with)
    }
}
