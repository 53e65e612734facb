//! `env`: sets variables, then runs the remaining words. With `-S` one word becomes many.

use super::{InnerCommand, WrapperCall};
use crate::option_table::OptionTable;

const OPTIONS: OptionTable = OptionTable::short("i0v", "uCS").long(
    &[
        "ignore-environment",
        "null",
        "debug",
        "block-signal",
        "default-signal",
        "ignore-signal",
        "list-signal-handling",
    ],
    &["unset", "chdir", "split-string"],
);

pub(super) fn is_env(family: &str) -> bool {
    matches!(family, "env" | "genv")
}

pub(super) fn inner_commands(call: WrapperCall<'_>) -> Option<Vec<InnerCommand>> {
    if !is_env(call.family) {
        return None;
    }
    let words = match expand_split_string(call.words) {
        Ok(words) => words,
        // A guess, so that a forbidden command can still be found in it.
        Err(odd) => {
            let guess = InnerCommand::Text {
                by: "env -S".to_owned(),
                text: split_string(call.words).map_or_else(String::new, |(_, text, _)| text),
            };
            return Some(vec![InnerCommand::hidden(odd), guess]);
        }
    };
    let split = OPTIONS.split(&words);
    let mut inner = Vec::new();
    if let Some(unknown) = split.unknown {
        inner.push(InnerCommand::hidden(format!("the option `{unknown}` of `env`")));
    }
    // A lone dash means `-i`.
    let rest = split.rest.strip_prefix(&["-".to_owned()]).unwrap_or(split.rest);
    let command: Vec<String> = rest.iter().skip_while(|word| word.contains('=')).cloned().collect();
    if !command.is_empty() {
        inner.push(InnerCommand::Command { by: "env".to_owned(), argv: command });
    }
    Some(inner)
}

/// Splits the text of `-S` as `env` does, if it only needs splitting at blanks. The text can hold options, but not
/// another `-S`.
fn expand_split_string(words: &[String]) -> Result<Vec<String>, String> {
    let Some((at, text, used)) = split_string(words) else {
        return Ok(words.to_vec());
    };
    if text.contains(|c: char| !(c.is_ascii_alphanumeric() || " _./:,@%+=-".contains(c))) {
        return Err("quotes, escapes or variables in the text of `env -S`".to_owned());
    }
    let mut all = words[..at].to_vec();
    all.extend(text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned));
    all.extend(words.iter().skip(at + used).cloned());
    if split_string(&all).is_some() {
        return Err("a text of `env -S` inside of another".to_owned());
    }
    Ok(all)
}

/// Returns the position of `-S`, its text, and the number of words that it takes up.
fn split_string(words: &[String]) -> Option<(usize, String, usize)> {
    let options = OPTIONS.split(words).options;
    let mut at = 0;
    while let Some(word) = options.get(at) {
        let next = || (at, words.get(at + 1).cloned().unwrap_or_default(), 2);
        at += 1 + match word.strip_prefix("--") {
            Some(long) => {
                let name = long.split_once('=').map_or(long, |(name, _)| name);
                if !name.is_empty() && "split-string".starts_with(name) {
                    return Some(match long.split_once('=') {
                        Some((_, value)) => (at, value.to_owned(), 1),
                        None => next(),
                    });
                }
                usize::from(matches!(long, "unset" | "chdir"))
            }
            None => match word.find(['S', 'u', 'C']) {
                Some(letter) if word[letter..].starts_with('S') => {
                    let attached = &word[letter + 1..];
                    return Some(if attached.is_empty() { next() } else { (at, attached.to_owned(), 1) });
                }
                Some(letter) => usize::from(letter + 1 == word.len()),
                None => 0,
            },
        };
    }
    None
}
