//! `ssh`: the command runs, but elsewhere, and a shell over there reads it first.

use super::{Call, Inner, joined};
use crate::command_line::options::Options;

const SSH: Options = Options::short("1246AaCfGgKkMNnqsTtVvXxYy", "BbcDEeFIiJLlmOopQRSWwP");

fn knows(family: &str) -> bool {
    matches!(family, "ssh" | "mosh" | "rsh")
}

pub(super) fn behind(call: Call<'_>) -> Option<Vec<Inner>> {
    if !knows(call.family) {
        return None;
    }
    let split = SSH.split(call.words);
    let mut inner = vec![Inner::hidden(format!("`{}` runs on another machine", call.family))];
    if let Some((_host, words)) = split.rest.split_first().filter(|(_, words)| !words.is_empty()) {
        inner.push(Inner::Text { by: call.family.to_owned(), text: joined(words) });
    }
    // Such a command runs here, before there is a connection.
    let settings = super::values_of(split.options, "-o");
    for setting in settings {
        let (name, value) = setting.split_once(['=', ' ']).unwrap_or((setting, ""));
        if name.to_ascii_lowercase().ends_with("command") {
            inner.push(Inner::Text { by: format!("{} -o {name}", call.family), text: value.to_owned() });
        }
    }
    Some(inner)
}
