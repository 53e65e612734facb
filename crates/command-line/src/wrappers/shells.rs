//! Shells: the text of `-c`, and other sources of commands.

use super::{InnerCommand, WrapperCall};

/// Shells whose syntax the parser knows.
const LIKE_SH: [&str; 10] = ["sh", "bash", "dash", "ash", "ksh", "mksh", "rbash", "yash", "posh", "rksh"];

/// Shells with a syntax of their own. Commands that are found in their text are a guess.
const OTHERS: [&str; 10] =
    ["zsh", "fish", "csh", "tcsh", "elvish", "nu", "xonsh", "pwsh", "powershell", "cmd.exe"];

/// Letters that do not change the meaning of the text.
const HARMLESS: &str = "celux";

pub(super) fn is_shell(family: &str) -> bool {
    LIKE_SH.contains(&family) || OTHERS.contains(&family)
}

pub(super) fn inner_commands(call: WrapperCall<'_>) -> Option<Vec<InnerCommand>> {
    if !is_shell(call.family) {
        return None;
    }
    let read = ShellInvocation::read(call.words);
    if read.only_tells {
        return Some(Vec::new());
    }
    let mut inner = Vec::new();
    if !LIKE_SH.contains(&call.family) {
        inner.push(InnerCommand::hidden(format!("`{}` reads a text in its own way", call.family)));
    }
    if let Some(odd) = read.odd {
        inner.push(InnerCommand::hidden(format!("`{odd}` changes how `{}` reads a text", call.family)));
    }
    inner.push(match (read.takes_text, read.operand) {
        (true, Some(text)) => InnerCommand::Text { by: format!("{} -c", call.family), text: text.to_owned() },
        (true, None) => InnerCommand::hidden(format!("`{} -c` without a text", call.family)),
        (false, Some(file)) => InnerCommand::hidden(format!("`{}` runs the file `{file}`", call.family)),
        (false, None) => InnerCommand::hidden(format!("`{}` reads its commands from its input", call.family)),
    });
    Some(inner)
}

pub(super) fn reads_input(call: WrapperCall<'_>) -> bool {
    if !is_shell(call.family) {
        return false;
    }
    let read = ShellInvocation::read(call.words);
    !read.only_tells && !read.takes_text && (read.operand.is_none() || read.asks_for_input)
}

/// Arguments of a shell.
#[derive(Default)]
struct ShellInvocation<'a> {
    takes_text: bool,
    asks_for_input: bool,
    /// `--version` and similar options.
    only_tells: bool,
    odd: Option<&'a str>,
    /// The text or the file.
    operand: Option<&'a str>,
}

impl<'a> ShellInvocation<'a> {
    fn read(words: &'a [String]) -> ShellInvocation<'a> {
        let mut read = ShellInvocation::default();
        let mut rest = words.iter().map(String::as_str);
        while let Some(word) = rest.next() {
            match word {
                "--" | "-" => {
                    read.operand = rest.next();
                    break;
                }
                "--version" | "--help" => read.only_tells = true,
                "--command" => read.takes_text = true,
                "--rcfile" | "--init-file" => {
                    read.odd = Some(word);
                    rest.next();
                }
                "--norc" | "--noprofile" | "--posix" | "--login" => {}
                long if long.starts_with("--") => read.odd = read.odd.or(Some(long)),
                short if short.starts_with(['-', '+']) => {
                    read.letters(short);
                    if short.contains(['o', 'O']) {
                        rest.next();
                    }
                }
                operand => {
                    read.operand = Some(operand);
                    break;
                }
            }
        }
        read
    }

    fn letters(&mut self, word: &'a str) {
        let letters = &word[1..];
        self.takes_text |= word.starts_with('-') && letters.contains('c');
        self.asks_for_input |= letters.contains('s');
        if !letters.chars().all(|letter| HARMLESS.contains(letter)) {
            self.odd.get_or_insert(word);
        }
    }
}
