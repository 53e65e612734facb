//! Language tools with a subcommand that runs a program: `npm exec`, `uv run`, `bundle exec`.

use super::{InnerCommand, WrapperCall};

/// Programs, and their subcommands that run a program.
const RUNNERS: [(&[&str], &[&str]); 8] = [
    (&["npm", "pnpm", "yarn"], &["exec", "x", "dlx"]),
    (&["bun"], &["x"]),
    (&["uv"], &["run", "tool", "x"]),
    (&["poetry", "pipenv", "pdm", "hatch", "rye", "conda", "micromamba", "rustup"], &["run"]),
    (&["bundle", "mise", "asdf"], &["exec"]),
    (&["ip"], &["netns"]),
    (&["go"], &["run", "generate"]),
    (&["cargo"], &["watch"]),
];

/// Whether the first operand of the program is a subcommand.
pub(super) fn has_run_subcommand(family: &str) -> bool {
    RUNNERS.iter().any(|(programs, _)| programs.contains(&family))
}

pub(super) fn inner_commands(call: WrapperCall<'_>) -> Option<Vec<InnerCommand>> {
    let (_, verbs) = RUNNERS.iter().find(|(programs, _)| programs.contains(&call.family))?;
    let at = call.words.iter().position(|word| !word.starts_with('-'))?;
    let verb = call.words.get(at).filter(|word| verbs.contains(&word.as_str()))?;
    let by = format!("{} {verb}", call.family);
    let mut inner = vec![InnerCommand::hidden(format!("`{by}` runs something that its words do not show"))];
    let starts = (at + 1..call.words.len()).filter(|at| !call.words[*at].starts_with('-')).take(3);
    for at in starts {
        let word = &call.words[at];
        inner.push(match word.contains(' ') {
            true => InnerCommand::Text { by: by.clone(), text: word.clone() },
            false => InnerCommand::Guess { by: by.clone(), argv: call.words[at..].to_vec() },
        });
    }
    Some(inner)
}
