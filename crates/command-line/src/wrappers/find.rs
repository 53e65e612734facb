//! `find` and `xargs`: the command is in the line, but some of its words are not.

use super::{InnerCommand, WrapperCall};
use crate::option_table::OptionTable;

const XARGS: OptionTable = OptionTable::short("0prtxo", "EILPRSadns").long(
    &["null", "interactive", "no-run-if-empty", "verbose", "exit", "open-tty"],
    &[
        "arg-file",
        "delimiter",
        "max-lines",
        "max-args",
        "max-procs",
        "max-chars",
        "replace",
        "process-slot-var",
    ],
);

pub(super) fn inner_commands(call: WrapperCall<'_>) -> Option<Vec<InnerCommand>> {
    match call.family {
        "find" | "gfind" => Some(find(call.words)),
        "xargs" | "gxargs" => Some(xargs(call.words)),
        _ => None,
    }
}

fn find(words: &[String]) -> Vec<InnerCommand> {
    let mut inner = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        if !matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
            continue;
        }
        let rest = &words[at..];
        let end = rest.iter().position(|word| word == ";" || word == "+").unwrap_or(rest.len());
        let argv = rest[..end].to_vec();
        at += end;
        if argv.iter().any(|word| word.contains("{}")) {
            inner.push(InnerCommand::hidden(format!(
                "`find {word}` puts names into the command that are not in the line"
            )));
        }
        if argv.is_empty() {
            inner.push(InnerCommand::hidden(format!("`find {word}` without a command")));
        } else {
            inner.push(InnerCommand::Command { by: format!("find {word}"), argv });
        }
    }
    inner
}

fn xargs(words: &[String]) -> Vec<InnerCommand> {
    let split = XARGS.split(words);
    let mut inner = vec![InnerCommand::hidden("`xargs` adds words to the command that are not in the line")];
    if !split.rest.is_empty() {
        inner.push(InnerCommand::Command { by: "xargs".to_owned(), argv: split.rest.to_vec() });
    }
    inner
}
