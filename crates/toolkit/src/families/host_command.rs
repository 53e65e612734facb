//! Commands of the host application: which there are, and what became of one.

use envelope::{Family, Fault};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plain::{Receipt, cost, fitting, is_zero, one_line, projected, room, short};
use super::{Projected, Projection, external};

/// So much of a name is enough to know a command by; its id is what it is called by.
const NAME_CHARS: usize = 120;

/// What a tool says about commands of the host, without bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostCommands<'a> {
    Listed {
        /// In the order of their ids.
        commands: Vec<HostCommand<&'a str>>,
        /// Whether there are more than these.
        more: bool,
    },
    Ran(Ran<'a>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostCommand<Text> {
    pub id: Text,
    pub name: Text,
    /// Where it comes from, such as `core`.
    pub owner_type: Text,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran<'a> {
    pub id: &'a str,
    pub executed: bool,
    pub error_message: Option<&'a str>,
}

/// What stands in the canonical result.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Shown<Text> {
    Listed(ListedShown<Text>),
    Ran(RanShown<Text>),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListedShown<Text> {
    commands: Vec<HostCommand<Text>>,
    /// How many the call found.
    count: u64,
    /// How many of them do not stand here.
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out: u64,
    /// Whether the call would have found more if it had been allowed to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    more: bool,
    truncated: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RanShown<Text> {
    id: Text,
    executed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<Text>,
}

/// Bounds what is said about commands of the host.
pub fn project(complete: &HostCommands<'_>, with: &mut Projection<'_>) -> Result<Projected, Fault> {
    let shown = match complete {
        HostCommands::Listed { commands, more } => {
            let kept = fitting(commands.iter(), room(with.budget()), |command| cost(&line(command)));
            let left_out = (commands.len() - kept.len()) as u64;
            Shown::Listed(ListedShown {
                commands: kept.into_iter().cloned().collect(),
                count: commands.len() as u64,
                left_out,
                more: *more,
                truncated: left_out > 0 || *more,
            })
        }
        HostCommands::Ran(Ran { id, executed, error_message }) => {
            Shown::Ran(RanShown { id: *id, executed: *executed, error_message: *error_message })
        }
    };
    projected(Family::HostCommand, &shown)
}

pub(super) fn render(summary: &str, result: &Value, budget: usize) -> String {
    let receipt = Receipt::new(summary);
    match Shown::<String>::deserialize(result) {
        Ok(Shown::Listed(listed)) => {
            let all = listed.commands.len();
            receipt.with_most(1..=all, budget, |most, receipt| {
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
        // The summary is all there is to say.
        Ok(Shown::Ran(_)) => receipt.done(),
        Err(_) => external::render(summary, result, budget),
    }
}

/// `editor:toggle-bold: Toggle bold`.
fn line<Text: AsRef<str>>(command: &HostCommand<Text>) -> String {
    format!("{}: {}", one_line(command.id.as_ref()), short(command.name.as_ref(), NAME_CHARS))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{HostCommand, HostCommands, Ran, project, render};
    use crate::families::Projection;
    use crate::preview::tokens::estimate;

    #[track_caller]
    fn check(complete: &HostCommands<'_>, summary: &str, budget: usize, expected: &Expect) {
        let result = project(complete, &mut Projection::new(budget, None)).unwrap().result;
        let receipt = render(summary, &result, budget);
        assert!(estimate(&receipt) <= budget);
        expected.assert_eq(&format!("{result}\n---\n{receipt}\n"));
    }

    #[test]
    fn a_command_that_ran_is_confirmed_in_one_line() {
        check(
            &HostCommands::Ran(Ran {
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
        let command = |id: &'static str, name| HostCommand { id, name, owner_type: "core" };
        let few = vec![command("app:quit", "Quit\n[forged]"), command("editor:bold", "Toggle bold")];
        check(
            &HostCommands::Listed { commands: few, more: true },
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
            ids.iter().map(|id| HostCommand { id: id.as_str(), name: "Do it", owner_type: "community" });
        check(
            &HostCommands::Listed { commands: many.collect(), more: false },
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
