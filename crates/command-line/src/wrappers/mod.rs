//! Finds the commands inside of wrappers: programs that run other programs.
//!
//! Each kind of wrapper has its own file. A command that none of them can find is reported as hidden.

mod builtins;
mod interpreters;
mod consoles;
mod env;
mod find;
pub(super) mod git;
mod loader;
mod prefix_commands;
mod shells;
mod subcommands;
mod ssh;

use super::program_name::program_family;
use super::risky_options::runs_another;

/// A command inside of a wrapper.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InnerCommand {
    /// Another command, with exactly these words.
    Command { by: String, argv: Vec<String> },
    /// A text for a shell.
    Text { by: String, text: String },
    /// Words that may be a command: rules can forbid them by name, but they are not parsed further.
    Guess { by: String, argv: Vec<String> },
    /// A command that the words do not show.
    Hidden { why: String },
}

impl InnerCommand {
    fn hidden(why: impl Into<String>) -> InnerCommand {
        InnerCommand::Hidden { why: why.into() }
    }
}

/// The command of a wrapper.
#[derive(Clone, Copy)]
struct WrapperCall<'a> {
    /// As it was written.
    program: &'a str,
    /// Without path and version.
    family: &'a str,
    words: &'a [String],
}

/// Finds the commands of the programs that it knows.
type WrapperParser = fn(WrapperCall<'_>) -> Option<Vec<InnerCommand>>;

/// The first parser that knows a program decides.
const PARSERS: [WrapperParser; 11] = [
    shells::inner_commands,
    env::inner_commands,
    loader::inner_commands,
    prefix_commands::inner_commands,
    builtins::inner_commands,
    interpreters::inner_commands,
    consoles::inner_commands,
    find::inner_commands,
    git::inner_commands,
    ssh::inner_commands,
    subcommands::inner_commands,
];

/// Returns the commands that a command would start besides itself.
pub(super) fn inner_commands(argv: &[String]) -> Vec<InnerCommand> {
    let Some((program, words)) = argv.split_first() else {
        return Vec::new();
    };
    let family = program_family(program);
    let call = WrapperCall { program, family: &family, words };
    PARSERS.iter().find_map(|kind| kind(call)).unwrap_or_else(|| commands_in_options(call, argv))
}

/// Returns the commands in options of an ordinary program: hidden, but the value may be a command.
fn commands_in_options(call: WrapperCall<'_>, argv: &[String]) -> Vec<InnerCommand> {
    let Some(option) = runs_another(argv) else {
        return Vec::new();
    };
    let mut inner =
        vec![InnerCommand::hidden(format!("`{option}` has `{}` start something else", call.program))];
    let by = format!("{} {option}", call.family);
    match option.split_once('=') {
        Some((_, value)) => inner.push(InnerCommand::Text { by, text: value.to_owned() }),
        None => {
            let rest: Vec<String> =
                call.words.iter().skip_while(|word| *word != option).skip(1).cloned().collect();
            inner.extend(rest.first().cloned().map(|text| InnerCommand::Text { by: by.clone(), text }));
            inner.push(InnerCommand::Guess { by, argv: rest });
        }
    }
    inner
}

/// Whether an approval of this command would approve whatever it is given: a shell, a program that starts others, an
/// interpreter with code in its arguments, a builtin that changes the meaning of later words. Such a command is never
/// remembered as allowed, and no rule allows it.
pub fn is_wrapper(argv: &[String]) -> bool {
    let Some((program, words)) = argv.split_first() else {
        return true;
    };
    let family = program_family(program);
    let call = WrapperCall { program, family: &family, words };
    shells::is_shell(&family)
        || loader::starts_by_name(program)
        || env::is_env(&family)
        || prefix_commands::is_prefix_command(&family)
        || builtins::changes_meaning(&family)
        || !inner_commands(argv).is_empty()
        || interpreters::reads_input(call)
}

/// Whether the command is a shell or an interpreter that reads its program from its input, so that the output of a pipe
/// is run.
pub fn reads_its_program(argv: &[String]) -> bool {
    let Some((program, words)) = argv.split_first() else {
        return false;
    };
    let family = program_family(program);
    let call = WrapperCall { program, family: &family, words };
    shells::reads_input(call) || interpreters::reads_input(call)
}

/// Whether later words decide what the program runs: a script, code, or a subcommand.
pub(super) fn chooses_program(program: &str, words: &[String]) -> bool {
    let family = program_family(program);
    let names_one = words.iter().any(|word| !word.starts_with('-'));
    !names_one
        && (interpreters::is_interpreter(&family)
            || subcommands::has_run_subcommand(&family)
            || git::has_subcommands(&family))
        || consoles::takes_code(program, &family)
}

/// Joins words into a text for a shell.
fn joined(words: &[String]) -> String {
    words.join(" ")
}

/// Returns the values of an option in any spelling: `-c V`, `-cV`, `--call V`, `--call=V`.
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
