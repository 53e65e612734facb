//! The workspace: open files, and files that were opened.

use envelope::{Fault, ReceiptFamily};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::receipt_writer::{
    ReceiptWriter, count_noun, is_zero, line_cost, one_line, take_fitting, truncate_line,
};
use super::{ProjectedResult, Projection, external, project_within};

/// Longest title of a tab.
const TITLE_CHARS: usize = 120;

/// Complete output of a workspace tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkspaceOutput<'a> {
    Context(ActiveContext<'a>),
    Opened(OpenFileReport<'a>),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ActiveContext<'a> {
    pub active_file_path: Option<&'a str>,
    pub active_view_type: Option<&'a str>,
    pub is_markdown: Option<bool>,
    /// In UTF-16 code units, if requested.
    pub selection_length: Option<u32>,
    /// In tab order, if requested.
    pub open_leaves: Option<Vec<WorkspaceLeaf<&'a str>>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceLeaf<Text> {
    pub id: Text,
    pub view_type: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<Text>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFileReport<'a> {
    pub path: &'a str,
    /// False if the leaf already showed the file.
    pub opened: bool,
    pub leaf_id: Option<&'a str>,
}

/// The output in the canonical result.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum BoundedWorkspace<Text> {
    Opened(BoundedOpened<Text>),
    Context(BoundedContext<Text>),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BoundedOpened<Text> {
    path: Text,
    opened: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    leaf_id: Option<Text>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BoundedContext<Text> {
    #[serde(skip_serializing_if = "Option::is_none")]
    active_file_path: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    active_view_type: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_markdown: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    selection_length: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    open_leaves: Option<Vec<WorkspaceLeaf<Text>>>,
    #[serde(default, skip_serializing_if = "is_zero")]
    leaves_left_out: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// Bounds the output of a workspace tool. Only a list of leaves can be long.
pub fn project(complete: &WorkspaceOutput<'_>, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
    project_within(ReceiptFamily::Workspace, with, |room| match complete {
        WorkspaceOutput::Opened(OpenFileReport { path, opened, leaf_id }) => {
            BoundedWorkspace::Opened(BoundedOpened { path: *path, opened: *opened, leaf_id: *leaf_id })
        }
        WorkspaceOutput::Context(context) => {
            let leaves = context.open_leaves.as_ref().map(|leaves| {
                take_fitting(leaves.iter(), room, |leaf| line_cost(&line(leaf)))
                    .into_iter()
                    .cloned()
                    .collect()
            });
            let kept = leaves.as_ref().map_or(0, Vec::len);
            let all = context.open_leaves.as_ref().map_or(0, Vec::len);
            BoundedWorkspace::Context(BoundedContext {
                active_file_path: context.active_file_path,
                active_view_type: context.active_view_type,
                is_markdown: context.is_markdown,
                selection_length: context.selection_length,
                open_leaves: leaves,
                leaves_left_out: (all - kept) as u64,
                truncated: kept < all,
            })
        }
    })
}

pub(super) fn render(summary: &str, result: &Value, budget: usize) -> String {
    let mut receipt = ReceiptWriter::new(summary);
    match BoundedWorkspace::<String>::deserialize(result) {
        Ok(BoundedWorkspace::Opened(BoundedOpened { leaf_id, .. })) => {
            if let Some(leaf) = &leaf_id {
                receipt.append(&format!(" (leaf {})", one_line(leaf)));
            }
            receipt.finish()
        }
        Ok(BoundedWorkspace::Context(context)) => {
            if let (Some(_), Some(view)) = (&context.active_file_path, &context.active_view_type) {
                receipt.append(&format!(" ({})", one_line(view)));
            }
            if let Some(length) = context.selection_length {
                receipt.append(&format!("; {length} UTF-16 units are selected"));
            }
            let leaves = context.open_leaves.unwrap_or_default();
            receipt.render_most(0..=leaves.len(), budget, |most, receipt| {
                leaves.iter().take(most).for_each(|leaf| receipt.line(&line(leaf)));
                let left_out = context.leaves_left_out + leaves.len().saturating_sub(most) as u64;
                if left_out > 0 {
                    let more = count_noun(left_out, "more leaf is open", "more leaves are open");
                    receipt.line(&format!("… {more}"));
                }
            })
        }
        Err(_) => external::render(summary, result, budget),
    }
}

/// Formats a leaf as `leaf-1 markdown Inbox`.
fn line<Text: AsRef<str>>(leaf: &WorkspaceLeaf<Text>) -> String {
    let title = leaf
        .title
        .as_ref()
        .map_or(String::new(), |title| format!(" {}", truncate_line(title.as_ref(), TITLE_CHARS)));
    format!("{} {}{title}", one_line(leaf.id.as_ref()), one_line(leaf.view_type.as_ref()))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{ActiveContext, OpenFileReport, WorkspaceLeaf, WorkspaceOutput, project, render};
    use crate::families::Projection;
    use crate::preview::tokenizer::estimate;

    #[track_caller]
    fn check(complete: &WorkspaceOutput<'_>, summary: &str, budget: usize, expected: &Expect) {
        let result = project(complete, &mut Projection::new(budget, None)).unwrap().result;
        let receipt = render(summary, &result, budget);
        assert!(estimate(&receipt) <= budget);
        expected.assert_eq(&format!("{result}\n---\n{receipt}\n"));
    }

    // Conformance: result 1.3
    #[test]
    fn what_was_opened_is_confirmed_with_its_leaf() {
        check(
            &WorkspaceOutput::Opened(OpenFileReport {
                path: "Inbox.md",
                opened: true,
                leaf_id: Some("leaf-1"),
            }),
            "Opened Inbox.md",
            500,
            &expect![[r#"
                {"path":"Inbox.md","opened":true,"leaf_id":"leaf-1"}
                ---
                Opened Inbox.md (leaf leaf-1)
            "#]],
        );
    }

    #[test]
    fn what_is_open_is_listed_as_far_as_it_fits() {
        let titles: Vec<String> = (1..=40).map(|n| format!("Note {n}\nwith a line")).collect();
        let ids: Vec<String> = (1..=40).map(|n| format!("leaf-{n}")).collect();
        let leaves = ids.iter().zip(&titles).map(|(id, title)| WorkspaceLeaf {
            id: id.as_str(),
            view_type: "markdown",
            title: Some(title.as_str()),
        });
        let context = ActiveContext {
            active_file_path: Some("Note 1.md"),
            active_view_type: Some("markdown"),
            is_markdown: Some(true),
            selection_length: Some(3),
            open_leaves: Some(leaves.collect()),
        };
        check(
            &WorkspaceOutput::Context(context),
            "Note 1.md is active",
            150,
            &expect![[r#"
                {"active_file_path":"Note 1.md","active_view_type":"markdown","is_markdown":true,"selection_length":3,"open_leaves":[{"id":"leaf-1","view_type":"markdown","title":"Note 1\nwith a line"},{"id":"leaf-2","view_type":"markdown","title":"Note 2\nwith a line"},{"id":"leaf-3","view_type":"markdown","title":"Note 3\nwith a line"},{"id":"leaf-4","view_type":"markdown","title":"Note 4\nwith a line"}],"leaves_left_out":36,"truncated":true}
                ---
                Note 1.md is active (markdown); 3 UTF-16 units are selected
                leaf-1 markdown Note 1\nwith a line
                leaf-2 markdown Note 2\nwith a line
                leaf-3 markdown Note 3\nwith a line
                leaf-4 markdown Note 4\nwith a line
                … 36 more leaves are open
            "#]],
        );
        check(
            &WorkspaceOutput::Context(ActiveContext::default()),
            "Nothing is open",
            500,
            &expect![[r#"
                {}
                ---
                Nothing is open
            "#]],
        );
    }
}
