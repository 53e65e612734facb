//! Programs with a command language that can start other programs: editors, database clients, calculators. They read it
//! from their input, and some from their arguments.

use super::{InnerCommand, WrapperCall};
use crate::program_name::name_of;

/// Programs that read commands from their input, whatever the arguments are.
const BY_INPUT: [&str; 29] = [
    "ed", "red", "ex", "vi", "vim", "view", "nvim", "gvim", "vimdiff", "vimtutor", "emacs", "nano", "pico",
    "micro", "joe", "dc", "m4", "psql", "mysql", "mariadb", "gnuplot", "octave", "ftp", "lftp", "telnet",
    "mail", "mailx", "mutt", "gforth",
];

/// Commands of sqlite that start a program, and functions that write a file.
const OF_SQLITE: [&str; 4] = ["edit(", "writefile(", "load_extension(", "fts3_tokenizer("];

/// Commands of sqlite that print. Abbreviations are not included, because they may mean another command.
const SQLITE_PRINTS: [&str; 6] = [".tables", ".schema", ".databases", ".indexes", ".dump", ".fullschema"];

/// Options of sqlite that take a value.
const SQLITE_VALUES: [&str; 10] =
    ["cmd", "init", "separator", "nullvalue", "newline", "mmap", "maxsize", "vfs", "lookaside", "pagecache"];

/// Whether any word of the program may be code.
pub(super) fn takes_code(program: &str, family: &str) -> bool {
    is_sqlite(family) || reads_commands(program, family)
}

/// The number of `m4` is not a version.
fn reads_commands(program: &str, family: &str) -> bool {
    BY_INPUT.contains(&family) || BY_INPUT.contains(&name_of(program))
}

pub(super) fn inner_commands(call: WrapperCall<'_>) -> Option<Vec<InnerCommand>> {
    if is_sqlite(call.family) {
        return Some(sqlite(call));
    }
    if !reads_commands(call.program, call.family) {
        return None;
    }
    let mut inner = vec![InnerCommand::hidden(format!(
        "`{}` runs commands that are typed into it",
        name_of(call.program)
    ))];
    // A value of `-c` or a word such as `+!rm` is a command of the editor, and may contain a shell command.
    for word in call.words {
        if let Some((_, text)) = word.split_once('!').filter(|(_, text)| !text.is_empty()) {
            inner.push(InnerCommand::Text { by: call.family.to_owned(), text: text.to_owned() });
        }
    }
    Some(inner)
}

fn is_sqlite(family: &str) -> bool {
    matches!(family, "sqlite" | "duckdb")
}

/// `sqlite3 FILE SQL` runs the SQL and nothing else, unless a line begins with a dot.
fn sqlite(call: WrapperCall<'_>) -> Vec<InnerCommand> {
    let mut operands: Vec<&str> = Vec::new();
    let mut words = call.words.iter().map(String::as_str);
    let mut loads = false;
    while let Some(word) = words.next() {
        if word.starts_with('-') {
            let name = word.trim_start_matches('-');
            loads |= matches!(name, "cmd" | "init" | "interactive" | "A" | "c" | "f");
            if SQLITE_VALUES.contains(&name) {
                words.next();
            }
        } else {
            operands.push(word);
        }
    }
    let prints = |line: &str| SQLITE_PRINTS.contains(&line.split_whitespace().next().unwrap_or_default());
    let is_plain = |sql: &&str| {
        let lower = sql.to_ascii_lowercase();
        lower.lines().map(str::trim_start).all(|line| !line.starts_with('.') || prints(line))
            && !OF_SQLITE.iter().any(|word| lower.replace(' ', "").contains(word))
    };
    match operands.split_first() {
        Some((_file, sql)) if !loads && !sql.is_empty() && sql.iter().all(is_plain) => Vec::new(),
        _ => {
            let why =
                format!("`{}` runs commands of its own, from its input or its words", name_of(call.program));
            let mut inner = vec![InnerCommand::hidden(why)];
            let commands = call.words.iter().filter_map(|word| word.trim_start().strip_prefix('.'));
            let texts = commands.filter_map(|command| command.split_once(' '));
            inner.extend(
                texts
                    .map(|(name, text)| InnerCommand::Text { by: format!(".{name}"), text: text.to_owned() }),
            );
            inner
        }
    }
}
