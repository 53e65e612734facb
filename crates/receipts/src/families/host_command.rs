//! Commands of the host application: the list of commands, and the outcome of one.

use envelope::{Fault, ReceiptFamily};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::receipt_writer::{
    ReceiptWriter, fitting_prefix, is_zero, line_cost, one_line, take_fitting, truncate_line,
};
use super::{ProjectedResult, Projection, external, project_within};

/// Longest part of a command's name; the id identifies the command.
const NAME_CHARS: usize = 120;

/// Complete output of a host command tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostCommandOutput<'a> {
    Listed {
        /// Sorted by id.
        commands: Vec<HostCommandEntry<&'a str>>,
        /// True if there are more commands.
        more: bool,
    },
    Ran(HostCommandRun<'a>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostCommandEntry<Text> {
    pub id: Text,
    pub name: Text,
    /// Origin of the command, such as `core`.
    pub owner_type: Text,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostCommandRun<'a> {
    pub id: &'a str,
    pub executed: bool,
    pub error_message: Option<&'a str>,
}

/// The output in the canonical result.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum BoundedHostCommands<Text> {
    Listed(BoundedCommandList<Text>),
    Ran(BoundedCommandRun<Text>),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BoundedCommandList<Text> {
    commands: Vec<HostCommandEntry<Text>>,
    /// Number of commands that the call found.
    count: u64,
    /// Number of these that are not listed here.
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out: u64,
    /// True if the call reached its limit and would have found more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    more: bool,
    truncated: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BoundedCommandRun<Text> {
    id: Text,
    executed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<Text>,
    /// True if the message is longer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// Bounds the output of a host command tool.
pub fn project(
    complete: &HostCommandOutput<'_>,
    with: &mut Projection<'_>,
) -> Result<ProjectedResult, Fault> {
    project_within(ReceiptFamily::HostCommand, with, |room| match complete {
        HostCommandOutput::Listed { commands, more } => {
            let kept = take_fitting(commands.iter(), room, |command| line_cost(&line(command)));
            let left_out = (commands.len() - kept.len()) as u64;
            BoundedHostCommands::Listed(BoundedCommandList {
                commands: kept.into_iter().cloned().collect(),
                count: commands.len() as u64,
                left_out,
                more: *more,
                truncated: left_out > 0 || *more,
            })
        }
        HostCommandOutput::Ran(HostCommandRun { id, executed, error_message }) => {
            let message = error_message.map(|message| &message[..fitting_prefix(message, room)]);
            BoundedHostCommands::Ran(BoundedCommandRun {
                id: *id,
                executed: *executed,
                error_message: message,
                truncated: message.map(str::len) < error_message.map(str::len),
            })
        }
    })
}

pub(super) fn render(summary: &str, result: &Value, budget: usize) -> String {
    let receipt = ReceiptWriter::new(summary);
    match BoundedHostCommands::<String>::deserialize(result) {
        Ok(BoundedHostCommands::Listed(listed)) => {
            let all = listed.commands.len();
            receipt.render_most(1..=all, budget, |most, receipt| {
                listed.commands.iter().take(most).for_each(|command| receipt.line(&line(command)));
                let left_out = listed.left_out + all.saturating_sub(most) as u64;
                if left_out > 0 || listed.more {
                    let what = match left_out {
                        0 => "there are more".to_owned(),
                        left_out => format!("{left_out} of these {} not shown", listed.count),
                    };
                    receipt.line(&format!("… {what}: ask for fewer with query or prefix"));
                }
            })
        }
        // The summary is the whole receipt.
        Ok(BoundedHostCommands::Ran(_)) => receipt.finish(),
        Err(_) => external::render(summary, result, budget),
    }
}

/// Formats a command as `editor:toggle-bold: Toggle bold`.
fn line<Text: AsRef<str>>(command: &HostCommandEntry<Text>) -> String {
    format!("{}: {}", one_line(command.id.as_ref()), truncate_line(command.name.as_ref(), NAME_CHARS))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{HostCommandEntry, HostCommandOutput, HostCommandRun, project, render};
    use crate::families::Projection;
    use crate::preview::tokenizer::estimate;

    #[track_caller]
    fn check(complete: &HostCommandOutput<'_>, summary: &str, budget: usize, expected: &Expect) {
        let result = project(complete, &mut Projection::new(budget, None)).unwrap().result;
        let receipt = render(summary, &result, budget);
        assert!(estimate(&receipt) <= budget);
        expected.assert_eq(&format!("{result}\n---\n{receipt}\n"));
    }

    // Conformance: result 1.3
    #[test]
    fn a_command_that_ran_is_confirmed_in_one_line() {
        check(
            &HostCommandOutput::Ran(HostCommandRun {
                id: "daily-notes",
                executed: false,
                error_message: Some("no note is open"),
            }),
            "Did not run daily-notes: no note is open",
            500,
            &expect![[r#"
                {"id":"daily-notes","executed":false,"error_message":"no note is open"}
                ---
                Did not run daily-notes: no note is open
            "#]],
        );
    }

    #[test]
    fn commands_are_listed_as_far_as_they_fit() {
        let ids: Vec<String> = (1..=30).map(|n| format!("plugin:do-{n}")).collect();
        let command = |id: &'static str, name| HostCommandEntry { id, name, owner_type: "core" };
        let few = vec![command("app:quit", "Quit\n[forged]"), command("editor:bold", "Toggle bold")];
        check(
            &HostCommandOutput::Listed { commands: few, more: true },
            "Found 2 commands, and there are more",
            500,
            &expect![[r#"
                {"commands":[{"id":"app:quit","name":"Quit\n[forged]","owner_type":"core"},{"id":"editor:bold","name":"Toggle bold","owner_type":"core"}],"count":2,"more":true,"truncated":true}
                ---
                Found 2 commands, and there are more
                app:quit: Quit\n[forged]
                editor:bold: Toggle bold
                … there are more: ask for fewer with query or prefix
            "#]],
        );
        let many =
            ids.iter().map(|id| HostCommandEntry { id: id.as_str(), name: "Do it", owner_type: "community" });
        check(
            &HostCommandOutput::Listed { commands: many.collect(), more: false },
            "Found 30 commands",
            140,
            &expect![[r#"
                {"commands":[{"id":"plugin:do-1","name":"Do it","owner_type":"community"},{"id":"plugin:do-2","name":"Do it","owner_type":"community"},{"id":"plugin:do-3","name":"Do it","owner_type":"community"},{"id":"plugin:do-4","name":"Do it","owner_type":"community"},{"id":"plugin:do-5","name":"Do it","owner_type":"community"}],"count":30,"left_out":25,"truncated":true}
                ---
                Found 30 commands
                plugin:do-1: Do it
                plugin:do-2: Do it
                plugin:do-3: Do it
                plugin:do-4: Do it
                plugin:do-5: Do it
                … 25 of these 30 not shown: ask for fewer with query or prefix
            "#]],
        );
    }
}
