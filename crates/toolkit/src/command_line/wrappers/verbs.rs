//! Tools of a language that run a program by one of their commands: `npm exec`, `uv run`, `bundle exec`.

use super::{Call, Inner};

/// Programs, and their commands that run what follows.
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

/// Whether the first operand of the program is one of its own commands.
pub(super) fn knows(family: &str) -> bool {
    RUNNERS.iter().any(|(programs, _)| programs.contains(&family))
}

pub(super) fn behind(call: Call<'_>) -> Option<Vec<Inner>> {
    let (_, verbs) = RUNNERS.iter().find(|(programs, _)| programs.contains(&call.family))?;
    let at = call.words.iter().position(|word| !word.starts_with('-'))?;
    let verb = call.words.get(at).filter(|word| verbs.contains(&word.as_str()))?;
    let by = format!("{} {verb}", call.family);
    let mut inner = vec![Inner::hidden(format!("what `{by}` runs cannot be told from its words"))];
    let starts = (at + 1..call.words.len()).filter(|at| !call.words[*at].starts_with('-')).take(3);
    for at in starts {
        let word = &call.words[at];
        inner.push(match word.contains(' ') {
            true => Inner::Text { by: by.clone(), text: word.clone() },
            false => Inner::Guess { by: by.clone(), argv: call.words[at..].to_vec() },
        });
    }
    Some(inner)
}
