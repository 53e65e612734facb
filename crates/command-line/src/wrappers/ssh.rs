//! `ssh`: the command runs on another machine, and a shell there reads it first.

use super::{InnerCommand, WrapperCall, joined};
use crate::option_table::OptionTable;

const SSH: OptionTable = OptionTable::short("1246AaCfGgKkMNnqsTtVvXxYy", "BbcDEeFIiJLlmOopQRSWwP");

fn is_remote_shell(family: &str) -> bool {
    matches!(family, "ssh" | "mosh" | "rsh")
}

pub(super) fn inner_commands(call: WrapperCall<'_>) -> Option<Vec<InnerCommand>> {
    if !is_remote_shell(call.family) {
        return None;
    }
    let split = SSH.split(call.words);
    let mut inner = vec![InnerCommand::hidden(format!("`{}` runs on another machine", call.family))];
    if let Some((_host, words)) = split.rest.split_first().filter(|(_, words)| !words.is_empty()) {
        inner.push(InnerCommand::Text { by: call.family.to_owned(), text: joined(words) });
    }
    // Such a command runs here, before there is a connection.
    let settings = super::values_of(split.options, "-o");
    for setting in settings {
        let (name, value) = setting.split_once(['=', ' ']).unwrap_or((setting, ""));
        if name.to_ascii_lowercase().ends_with("command") {
            inner.push(InnerCommand::Text {
                by: format!("{} -o {name}", call.family),
                text: value.to_owned(),
            });
        }
    }
    Some(inner)
}
