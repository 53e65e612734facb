//! Interpreters: code in their arguments or their input is not parsed.

use super::{InnerCommand, WrapperCall};
use crate::option_table::OptionTable;

struct InterpreterOptions {
    names: &'static [&'static str],
    /// Letters that are followed by code.
    code: &'static str,
    /// Long options that are followed by code, or load some.
    long_code: &'static [&'static str],
    /// Letters that take a value.
    values: &'static str,
    /// First words that are followed by code.
    verbs: &'static [&'static str],
}

const fn interpreter(
    names: &'static [&'static str],
    code: &'static str,
    values: &'static str,
) -> InterpreterOptions {
    InterpreterOptions { names, code, long_code: &[], values, verbs: &[] }
}

const INTERPRETERS: [InterpreterOptions; 11] = [
    interpreter(&["python", "pypy", "ipython", "pythonw"], "c", "WXQ"),
    interpreter(&["perl"], "eEM", "Im"),
    interpreter(&["ruby", "irb", "jruby"], "er", "ICEK"),
    InterpreterOptions {
        names: &["node", "nodejs", "bun", "ts-node", "tsx"],
        code: "epr",
        long_code: &["eval", "print", "require", "import", "loader", "experimental-loader", "preload"],
        values: "C",
        verbs: &[],
    },
    InterpreterOptions { names: &["deno"], code: "", long_code: &[], values: "", verbs: &["eval", "repl"] },
    interpreter(&["php"], "rBRE", "cdfzt"),
    interpreter(&["lua", "luajit"], "el", ""),
    interpreter(&["rscript", "r", "littler"], "e", ""),
    interpreter(&["julia"], "eEL", "pt"),
    interpreter(
        &["osascript", "groovy", "scala", "elixir", "erl", "ghc", "guile", "racket", "sbcl"],
        "e",
        "",
    ),
    interpreter(&["tclsh", "wish"], "", ""),
];

/// Whether the program is an interpreter: its first operand is a script or code.
pub(super) fn is_interpreter(family: &str) -> bool {
    matches!(family, "awk" | "gawk" | "mawk" | "nawk" | "sed" | "gsed")
        || INTERPRETERS.iter().any(|known| known.names.contains(&family))
}

pub(super) fn inner_commands(call: WrapperCall<'_>) -> Option<Vec<InnerCommand>> {
    match call.family {
        "awk" | "gawk" | "mawk" | "nawk" => return Some(awk(call)),
        "sed" | "gsed" => return Some(sed(call)),
        _ => {}
    }
    let read = program_source(call)?;
    Some(match read {
        ProgramSource::Code(option) => {
            vec![InnerCommand::hidden(format!("code behind `{option}` of `{}`", call.family))]
        }
        ProgramSource::Input => {
            vec![InnerCommand::hidden(format!("`{}` reads its program from its input", call.family))]
        }
        ProgramSource::Elsewhere => Vec::new(),
    })
}

pub(super) fn reads_input(call: WrapperCall<'_>) -> bool {
    program_source(call) == Some(ProgramSource::Input)
}

/// Where an interpreter finds its program.
#[derive(PartialEq, Eq)]
enum ProgramSource<'a> {
    Code(&'a str),
    Input,
    /// In a file, or absent.
    Elsewhere,
}

fn program_source(call: WrapperCall<'_>) -> Option<ProgramSource<'_>> {
    let interpreter = INTERPRETERS.iter().find(|known| known.names.contains(&call.family))?;
    let mut words = call.words.iter().map(String::as_str);
    let (mut unsure, mut passed_over) = (false, false);
    while let Some(word) = words.next() {
        if let Some(long) = word.strip_prefix("--").filter(|long| !long.is_empty()) {
            let name = long.split_once('=').map_or(long, |(name, _)| name);
            if matches!(name, "version" | "help" | "test") {
                return Some(ProgramSource::Elsewhere);
            }
            if interpreter.long_code.iter().any(|code| code.starts_with(name)) {
                return Some(ProgramSource::Code(word));
            }
            // It may take the next word.
            unsure = !long.contains('=');
            continue;
        }
        match word.strip_prefix('-') {
            Some("") => return Some(ProgramSource::Input),
            Some("V" | "v" | "h") if call.words.len() == 1 => return Some(ProgramSource::Elsewhere),
            Some(letters) => {
                match letters.find(|c| interpreter.code.contains(c) || interpreter.values.contains(c)) {
                    Some(at) if letters[at..].starts_with(|c| interpreter.code.contains(c)) => {
                        return Some(ProgramSource::Code(word));
                    }
                    Some(at) if at + 1 == letters.len() => {
                        words.next();
                    }
                    Some(_) | None => {}
                }
                // `python -m` names its program.
                if call.family == "python" && letters.contains('m') {
                    return Some(ProgramSource::Elsewhere);
                }
            }
            None if interpreter.verbs.contains(&word) => return Some(ProgramSource::Code(word)),
            None if unsure => (unsure, passed_over) = (false, true),
            None => return Some(ProgramSource::Elsewhere),
        }
    }
    // The word that was taken for a value may be the file.
    Some(if passed_over { ProgramSource::Elsewhere } else { ProgramSource::Input })
}

/// A program of awk can start others, read from them and write files. One that only prints cannot.
fn awk(call: WrapperCall<'_>) -> Vec<InnerCommand> {
    let split = OptionTable::short("", "Fv").split(call.words);
    let hidden = vec![InnerCommand::hidden("a program of awk that may start others or write files")];
    match (split.unknown, split.rest.first()) {
        (None, Some(program))
            if !["system", "|", "getline", ">", "@"].iter().any(|word| program.contains(word)) =>
        {
            Vec::new()
        }
        _ => hidden,
    }
}

/// A script of sed can run commands and write files. One of plain deletions, prints and substitutions cannot.
fn sed(call: WrapperCall<'_>) -> Vec<InnerCommand> {
    let split = OptionTable::short("nErszu", "e").split(call.words);
    let given = super::values_of(split.options, "-e");
    let scripts =
        if given.is_empty() { split.rest.first().map(String::as_str).into_iter().collect() } else { given };
    // A script can also come at the end of a bundle, and options after the files.
    let is_bundled = |word: &String| word.starts_with('-') && word.contains('e') && !word.starts_with("-e");
    let is_clear = split.unknown.is_none()
        && !split.options.iter().any(is_bundled)
        && !split.rest.iter().any(|word| word.starts_with('-') && word != "-");
    if is_clear && !scripts.is_empty() && scripts.iter().all(|text| is_plain_sed(text)) {
        return Vec::new();
    }
    vec![InnerCommand::hidden("a script of sed that may run commands or write files")]
}

/// `3,10p`, `$d`, `s/a/b/g`: one command, with numbers as its only addresses.
fn is_plain_sed(script: &str) -> bool {
    let command = script.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ',' | '$'));
    if matches!(command, "p" | "d" | "q" | "=") {
        return true;
    }
    let Some(rest) = command.strip_prefix('s') else {
        return false;
    };
    let Some(mark) = rest.chars().next().filter(|c| c.is_ascii_punctuation() && *c != '\\') else {
        return false;
    };
    let parts: Vec<&str> = rest[1..].split(mark).collect();
    match parts.as_slice() {
        [pattern, replacement, flags] => {
            !pattern.contains(['\\', '\n'])
                && !replacement.contains(['\\', '\n'])
                && flags.chars().all(|c| "gpiI0123456789".contains(c))
        }
        _ => false,
    }
}
