//! `workspace.getContext`: what is open and what has the focus.

use envelope::{Concurrency, Fault, Idempotency, ReceiptFamily, Requirement, Risk, SideEffect};
use receipts::families::workspace::{self, WorkspaceOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{ProjectedResult, Projection, Tool, ToolCx};

use super::host_handle::HostHandle;

pub(crate) struct GetContext {
    pub(crate) host: HostHandle,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// List every open leaf in `openLeaves`.
    #[serde(default)]
    include_open_leaves: bool,
    /// Say in `selectionSummary` how much is selected in the active note.
    #[serde(default)]
    include_active_view_state: bool,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Output {
    /// The file that has the focus; absent when nothing is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    active_file_path: Option<String>,
    /// How it is shown, such as `markdown`, `canvas`, `image`, `pdf`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    active_view_type: Option<String>,
    /// True when it is a note that can be edited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    is_markdown: Option<bool>,
    /// The leaves in the order of the tabs, when they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<OpenLeaf>")]
    open_leaves: Option<Vec<OpenLeaf>>,
    /// The selection of the active note, when the view state was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SelectionSummary")]
    selection_summary: Option<SelectionSummary>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct OpenLeaf {
    id: String,
    view_type: String,
    /// What the tab is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    title: Option<String>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct SelectionSummary {
    is_empty: bool,
    /// In UTF-16 code units; a line break counts as 1.
    length: u32,
}

impl Tool for GetContext {
    const NAME: &'static str = "workspace.getContext";
    const SUMMARY: &'static str = "Say which file is active and what else is open.";
    const CATEGORY: &'static str = "workspace";
    const FAMILY: ReceiptFamily = ReceiptFamily::Workspace;
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;
    const REQUIRES: &'static [Requirement] = &[Requirement::Host];
    const CONCURRENCY: Concurrency = Concurrency::Serial;

    type Args = Args;
    type Output = Output;

    fn preview(&self, _args: &Args) -> String {
        "Look at what is open".to_owned()
    }

    async fn run(&self, cx: &ToolCx, args: Args) -> Result<Output, Fault> {
        let context = self.host.get()?.context(cx).await?;
        let leaves = context.leaves.into_iter().map(|leaf| OpenLeaf {
            id: leaf.id,
            view_type: leaf.view_type,
            title: leaf.title,
        });
        let active = context.active.as_ref();
        let length = active.and_then(|view| view.selection_length);
        Ok(Output {
            active_file_path: active.and_then(|view| view.path.as_ref()).map(ToString::to_string),
            active_view_type: active.map(|view| view.view_type.clone()),
            is_markdown: active.map(|view| view.is_markdown),
            open_leaves: args.include_open_leaves.then(|| leaves.collect()),
            selection_summary: length
                .filter(|_| args.include_active_view_state)
                .map(|length| SelectionSummary { is_empty: length == 0, length }),
        })
    }

    fn summary(&self, output: &Output) -> String {
        match (&output.active_file_path, &output.active_view_type) {
            (Some(path), _) => format!("{path} is active"),
            (None, Some(view)) => format!("A view of type {view} is active"),
            (None, None) => "Nothing is open".to_owned(),
        }
    }

    fn project(&self, output: &Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        let context = workspace::ActiveContext {
            active_file_path: output.active_file_path.as_deref(),
            active_view_type: output.active_view_type.as_deref(),
            is_markdown: output.is_markdown,
            selection_length: output.selection_summary.as_ref().map(|selection| selection.length),
            open_leaves: output.open_leaves.as_ref().map(|leaves| leaves.iter().map(shown).collect()),
        };
        workspace::project(&WorkspaceOutput::Context(context), with)
    }
}

fn shown(leaf: &OpenLeaf) -> workspace::WorkspaceLeaf<&str> {
    workspace::WorkspaceLeaf { id: &leaf.id, view_type: &leaf.view_type, title: leaf.title.as_deref() }
}
