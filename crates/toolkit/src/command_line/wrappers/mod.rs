//! Sees through programs that run other programs.
//!
//! Each kind of wrapper has a file of its own. What none of them can see through is hidden, and said so.

mod builtins;
mod code;
mod consoles;
mod env;
mod find;
pub(super) mod git;
mod loader;
mod prefixing;
mod shells;
mod verbs;
mod remote;

use super::flags::runs_another;
use super::program::family;

/// What stands behind a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inner {
    /// Another command, with exactly these words.
    Command { by: String, argv: Vec<String> },
    /// A text that a shell reads.
    Text { by: String, text: String },
    /// Words that may be a command: to be forbidden by name, and not looked into.
    Guess { by: String, argv: Vec<String> },
    /// Something that the words do not show.
    Hidden { why: String },
}

impl Inner {
    fn hidden(why: impl Into<String>) -> Inner {
        Inner::Hidden { why: why.into() }
    }
}

/// A command on its way through the kinds of wrappers.
#[derive(Clone, Copy)]
struct Call<'a> {
    /// As it was written.
    program: &'a str,
    /// Without path and version.
    family: &'a str,
    words: &'a [String],
}

/// Answers for the programs that it knows.
type Kind = fn(Call<'_>) -> Option<Vec<Inner>>;

/// The first one that knows a program has the word.
const KINDS: [Kind; 11] = [
    shells::behind,
    env::behind,
    loader::behind,
    prefixing::behind,
    builtins::behind,
    code::behind,
    consoles::behind,
    find::behind,
    git::behind,
    remote::behind,
    verbs::behind,
];

/// What a command would start besides itself.
pub(super) fn behind(argv: &[String]) -> Vec<Inner> {
    let Some((program, words)) = argv.split_first() else {
        return Vec::new();
    };
    let family = family(program);
    let call = Call { program, family: &family, words };
    KINDS.iter().find_map(|kind| kind(call)).unwrap_or_else(|| by_option(call, argv))
}

/// What an option of an ordinary program has it start: hidden, but its value may be a command.
fn by_option(call: Call<'_>, argv: &[String]) -> Vec<Inner> {
    let Some(option) = runs_another(argv) else {
        return Vec::new();
    };
    let mut inner = vec![Inner::hidden(format!("`{option}` has `{}` start something else", call.program))];
    let by = format!("{} {option}", call.family);
    match option.split_once('=') {
        Some((_, value)) => inner.push(Inner::Text { by, text: value.to_owned() }),
        None => {
            let rest: Vec<String> =
                call.words.iter().skip_while(|word| *word != option).skip(1).cloned().collect();
            inner.extend(rest.first().cloned().map(|text| Inner::Text { by: by.clone(), text }));
            inner.push(Inner::Guess { by, argv: rest });
        }
    }
    inner
}

/// Whether a yes to this command would be a yes to whatever it is handed: a shell, a program that starts
/// others, an interpreter with code in its arguments, a word of the shell that decides what later ones mean.
/// Such a command is never remembered as allowed, and no rule allows it.
pub fn is_wrapper(argv: &[String]) -> bool {
    let Some((program, words)) = argv.split_first() else {
        return true;
    };
    let family = family(program);
    let call = Call { program, family: &family, words };
    shells::is_shell(&family)
        || loader::knows(program)
        || env::is_env(&family)
        || prefixing::knows(&family)
        || builtins::decides(&family)
        || !behind(argv).is_empty()
        || code::reads_input(call)
}

/// Whether the command is a shell or an interpreter that takes its program from its input, so that whatever
/// comes out of a pipe is run.
pub fn reads_its_program(argv: &[String]) -> bool {
    let Some((program, words)) = argv.split_first() else {
        return false;
    };
    let family = family(program);
    let call = Call { program, family: &family, words };
    shells::reads_input(call) || code::reads_input(call)
}

/// Whether words behind these decide what the program runs: a script, code, or one of its own commands.
pub(super) fn chooses_program(program: &str, words: &[String]) -> bool {
    let family = family(program);
    let names_one = words.iter().any(|word| !word.starts_with('-'));
    !names_one && (code::knows(&family) || verbs::knows(&family) || git::knows(&family))
        || consoles::takes_code(program, &family)
}

/// All words as a shell would be handed them.
fn joined(words: &[String]) -> String {
    words.join(" ")
}

/// The values of an option, however they are attached: `-c V`, `-cV`, `--call V`, `--call=V`.
fn values_of<'a>(words: &'a [String], option: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let attached = match word.strip_prefix(option) {
            Some("") => words.get(at + 1).map(String::as_str),
            Some(rest) if option.starts_with("--") => rest.strip_prefix('='),
            Some(rest) => Some(rest),
            None => None,
        };
        found.extend(attached);
    }
    found
}
