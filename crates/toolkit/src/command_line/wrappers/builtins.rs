//! Words of the shell itself: those that run a text or a file, and those that decide what later words mean.

use super::{Call, Inner, joined};

/// After one of these, what follows in the line is not what it says: other names, other variables, other rules.
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

/// Words that take the name of a variable, which a shell evaluates when it has an index.
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

/// Options of `set` that change no meaning.
const PLAIN_SETTINGS: [&str; 8] =
    ["-o", "+o", "errexit", "nounset", "xtrace", "pipefail", "verbose", "noclobber"];

pub(super) fn decides(family: &str) -> bool {
    DECIDING.contains(&family)
}

pub(super) fn behind(call: Call<'_>) -> Option<Vec<Inner>> {
    let Call { family, words, .. } = call;
    let hidden = |why: &str| Some(vec![Inner::hidden(format!("`{family}` {why}"))]);
    if NAMING.contains(&family) && words.iter().any(|word| word.contains('[')) {
        return hidden("with an index, which the shell would evaluate");
    }
    match family {
        "eval" => Some(vec![Inner::Text { by: "eval".to_owned(), text: joined(words) }]),
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
fn trap(words: &[String]) -> Vec<Inner> {
    let words = words.strip_prefix(&["--".to_owned()]).unwrap_or(words);
    match words {
        [text, _signal, ..] if text != "-" && !text.is_empty() => {
            vec![Inner::Text { by: "trap".to_owned(), text: text.clone() }]
        }
        _ => Vec::new(),
    }
}
