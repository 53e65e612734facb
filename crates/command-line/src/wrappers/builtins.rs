//! Shell builtins that run a text or a file, or that change the meaning of later words.

use super::{InnerCommand, WrapperCall, joined};

/// After one of these, the rest of the line may have another meaning: other names, other variables, other rules.
const DECIDING: [&str; 22] = [
    "eval",
    "source",
    ".",
    "trap",
    "alias",
    "unalias",
    "export",
    "declare",
    "typeset",
    "local",
    "readonly",
    "set",
    "shopt",
    "hash",
    "enable",
    "unset",
    "read",
    "mapfile",
    "readarray",
    "let",
    "complete",
    "bind",
];

/// Builtins that take the name of a variable. A shell evaluates its index if it has one.
const NAMING: [&str; 16] = [
    "export",
    "declare",
    "typeset",
    "local",
    "readonly",
    "let",
    "unset",
    "read",
    "mapfile",
    "readarray",
    "printf",
    "test",
    "[",
    "wait",
    "getopts",
    "set",
];

/// Options of `set` that do not change any meaning.
const PLAIN_SETTINGS: [&str; 8] =
    ["-o", "+o", "errexit", "nounset", "xtrace", "pipefail", "verbose", "noclobber"];

pub(super) fn changes_meaning(family: &str) -> bool {
    DECIDING.contains(&family)
}

pub(super) fn inner_commands(call: WrapperCall<'_>) -> Option<Vec<InnerCommand>> {
    let WrapperCall { family, words, .. } = call;
    let hidden = |why: &str| Some(vec![InnerCommand::hidden(format!("`{family}` {why}"))]);
    if NAMING.contains(&family) && words.iter().any(|word| word.contains('[')) {
        return hidden("with an index, which the shell would evaluate");
    }
    match family {
        "eval" => Some(vec![InnerCommand::Text { by: "eval".to_owned(), text: joined(words) }]),
        "trap" => Some(trap(words)),
        "source" | "." => hidden("runs a file that is not in the line"),
        "export" | "declare" | "typeset" | "readonly" | "local"
            if words.iter().any(|word| word.contains('=')) =>
        {
            hidden("sets a variable for the commands behind it")
        }
        "alias" if words.iter().any(|word| word.contains('=')) => hidden("gives another meaning to a word"),
        "shopt" | "enable" => hidden("changes how the shell reads the line"),
        "hash" if words.iter().any(|word| word.starts_with('-')) => hidden("gives another meaning to a word"),
        "set" if !words.iter().all(|word| is_plain_setting(word)) => {
            hidden("changes how the shell reads the line")
        }
        "mapfile" | "readarray" | "complete" | "bind" if !words.is_empty() => {
            hidden("may run what it is given")
        }
        _ => None,
    }
}

fn is_plain_setting(word: &str) -> bool {
    PLAIN_SETTINGS.contains(&word)
        || word.strip_prefix(['-', '+']).is_some_and(|letters| letters.chars().all(|c| "euxv".contains(c)))
}

/// `trap TEXT SIGNAL…` runs the text later; with `-`, `-p` or a signal alone it runs nothing.
fn trap(words: &[String]) -> Vec<InnerCommand> {
    let words = words.strip_prefix(&["--".to_owned()]).unwrap_or(words);
    match words {
        [text, _signal, ..] if text != "-" && !text.is_empty() => {
            vec![InnerCommand::Text { by: "trap".to_owned(), text: text.clone() }]
        }
        _ => Vec::new(),
    }
}
