//! `editor.setSelection`: what is selected in the active note. Without a person at the screen nothing else
//! makes a selection.

use envelope::{Change, Concurrency, Family, Fault, Idempotency, Requirement, Risk, SideEffect};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::families::editor::{self, Editor};
use toolkit::families::{Projected, Projection};
use toolkit::{PathKeys, Reconciled, Tool, ToolCx};

use super::active::ActiveNote;
use super::maybe_host::MaybeHost;
use crate::position::{EditorRange, Position};

pub(crate) struct SetSelection {
    pub(crate) host: MaybeHost,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Where the selection begins: line from 0, `ch` in UTF-16 code units.
    from: Position,
    /// Where it ends, and where the cursor is then. The same place as `from` only sets the cursor.
    to: Position,
    #[serde(skip)]
    active: ActiveNote,
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

impl Tool for SetSelection {
    const NAME: &'static str = "editor.setSelection";
    const SUMMARY: &'static str = "Select text in the active note, or set the cursor.";
    const CATEGORY: &'static str = "editor";
    const FAMILY: Family = Family::Editor;
    const RISK: Risk = Risk::Writes;
    const SIDE_EFFECTS: &'static [SideEffect] = &[SideEffect::ChangeWorkspace];
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
        format!("Select {} to {} of {}", args.from, args.to, args.active.shown())
    }

    async fn run(&self, cx: &ToolCx, args: Args) -> Result<Output, Fault> {
        let host = self.host.get()?;
        args.active.expect(&host.selection(cx).await?.path)?;
        let selected = host.select(cx, EditorRange { from: args.from, to: args.to }).await?;
        cx.observed(SideEffect::ChangeWorkspace);
        Ok(Output { file_path: selected.path.to_string(), range: selected.range, text: selected.text })
    }

    async fn reconcile(&self, _cx: &ToolCx, _args: &Args, _intent: &[Change]) -> Reconciled<Output> {
        // To select the same text twice is to select it once.
        Reconciled::DidNot
    }

    fn summary(&self, output: &Output) -> String {
        let Output { file_path, range, .. } = output;
        if range.is_empty() {
            format!("The cursor is at {} of {file_path}", range.from)
        } else {
            format!("Selected {} to {} of {file_path}", range.from, range.to)
        }
    }

    fn project(&self, output: &Output, with: &mut Projection<'_>) -> Result<Projected, Fault> {
        let selection = editor::Selection {
            file_path: &output.file_path,
            range: output.range.into(),
            text: &output.text,
            mode: None,
        };
        editor::project(&Editor::Selection(selection), with)
    }
}
