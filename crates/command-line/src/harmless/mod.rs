//! Table of arguments that are known to be harmless: with them a program reads, compares and prints, and has no other
//! effect.
//!
//! A rule that allows covers the words that it names. More words are covered only if this table knows the whole
//! command. A program or an option that is not listed is not harmless, so an outdated table leads to unnecessary
//! questions, never to a missing one.
//!
//! Each file has a group of programs. To add a program, read its manual for options that write, start a program or take
//! a file name, and leave those out.

mod files;
mod find;
mod git;
mod search;
mod text;

use super::option_table::OptionTable;
use super::program_name::system_name;
use super::risky_options::{reaches_further, runs_another};
use super::wrappers::is_wrapper;

/// The harmless arguments of a program, or of one of its subcommands.
struct HarmlessArguments {
    programs: &'static [&'static str],
    /// Subcommands, one of which must come first, such as `log` of git. Empty for a program without subcommands.
    verbs: &'static [&'static str],
    /// Short options. None of them takes the name of a file.
    short: OptionTable,
    /// Long options without a value, or with one after `=`, separated by blanks.
    long_flags: &'static str,
    /// Long options with a value, after `=` or as the next word.
    long_values: &'static str,
    operands: OperandKind,
}

/// Kind of operands besides the options.
#[derive(Clone, Copy)]
enum OperandKind {
    None,
    /// Any words, even if they look like options: the program prints them.
    Anything,
    /// Text that is never used as the name of a file.
    Text,
    /// Files below the working directory, which are read.
    Files,
    /// One file that is read. A second one would be written.
    OneFile,
    /// A pattern or a script, then files that are read.
    TextThenFiles,
    /// A format that begins with `+`. Without it `date` would set the clock.
    DateFormat,
}

/// Returns a program with these short options, without and with a value.
const fn program(
    programs: &'static [&'static str],
    operands: OperandKind,
    flags: &'static str,
    values: &'static str,
) -> HarmlessArguments {
    let short = OptionTable::short(flags, values);
    HarmlessArguments { programs, verbs: &[], short, long_flags: "", long_values: "", operands }
}

const TABLES: [&[HarmlessArguments]; 4] =
    [&text::PROGRAMS, &files::PROGRAMS, &search::PROGRAMS, &git::PROGRAMS];

/// Whether a command only reads and prints, as far as the table knows.
pub fn is_harmless(argv: &[String]) -> bool {
    let Some((program, words)) = argv.split_first() else {
        return false;
    };
    let name = system_name(program);
    let mut tables = TABLES.iter().copied().flatten().filter(|known| known.programs.contains(&name));
    let is_known =
        if name == "find" { find::is_harmless(words) } else { tables.any(|known| known.covers(words)) };
    is_known && !is_wrapper(argv) && runs_another(argv).is_none() && reaches_further(argv).is_none()
}

/// Whether the table has the program at all.
pub(super) fn has_table(program: &str) -> bool {
    let name = system_name(program);
    name == "find" || TABLES.iter().copied().flatten().any(|known| known.programs.contains(&name))
}

impl HarmlessArguments {
    const fn long(self, long_flags: &'static str, long_values: &'static str) -> HarmlessArguments {
        HarmlessArguments { long_flags, long_values, ..self }
    }

    const fn verbs(self, verbs: &'static [&'static str]) -> HarmlessArguments {
        HarmlessArguments { verbs, ..self }
    }

    fn covers(&self, words: &[String]) -> bool {
        if matches!(words, [only] if only == "--version") {
            return true;
        }
        let words = match words.split_first() {
            _ if self.verbs.is_empty() => words,
            Some((verb, rest)) if self.verbs.contains(&verb.as_str()) => rest,
            Some(_) | None => return false,
        };
        if matches!(self.operands, OperandKind::Anything) {
            return true;
        }
        self.operands_of(words).is_some_and(|operands| self.admits(&operands))
    }

    /// Returns the operands in any position, or `None` if an option is unknown.
    fn operands_of<'a>(&self, words: &'a [String]) -> Option<Vec<&'a str>> {
        let mut operands = Vec::new();
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            if word == "--" {
                operands.extend(words);
                break;
            }
            if !word.starts_with('-') || word == "-" {
                operands.push(word);
                continue;
            }
            // A value that looks like an option may be one in another version of the program.
            if self.takes_next(word)? && !words.next().is_some_and(is_value) {
                return None;
            }
        }
        Some(operands)
    }

    /// Whether an option takes the next word as its value. `None` if the option is unknown.
    fn takes_next(&self, word: &str) -> Option<bool> {
        let Some(long) = word.strip_prefix("--") else {
            return self.short.short_takes_next(&word[1..]);
        };
        let (name, has_value) = long.split_once('=').map_or((long, false), |(name, _)| (name, true));
        let has = |names: &str| names.split_ascii_whitespace().any(|known| known == name);
        if has(self.long_values) {
            return Some(!has_value);
        }
        has(self.long_flags).then_some(false)
    }

    fn admits(&self, operands: &[&str]) -> bool {
        let files = |words: &[&str]| words.iter().all(|word| stays_below(word));
        match self.operands {
            OperandKind::None => operands.is_empty(),
            OperandKind::Anything | OperandKind::Text => true,
            OperandKind::Files => files(operands),
            OperandKind::OneFile => operands.len() <= 1 && files(operands),
            OperandKind::TextThenFiles => operands.split_first().is_some_and(|(_, rest)| files(rest)),
            OperandKind::DateFormat => operands.iter().all(|word| word.starts_with('+')),
        }
    }
}

fn is_value(word: &str) -> bool {
    let number = word.strip_prefix('-');
    number.is_none_or(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()))
}

/// Whether a path stays below the working directory. `+` begins an old kind of option.
fn stays_below(word: &str) -> bool {
    !word.starts_with(['/', '~', '+']) && word.split('/').all(|part| part != "..")
}

#[cfg(test)]
mod tests {
    use super::{TABLES, is_harmless};

    fn judged(text: &str) -> bool {
        let argv: Vec<String> = text.split(' ').map(str::to_owned).collect();
        is_harmless(&argv)
    }

    #[test]
    fn everyday_reading_is_known() {
        for text in [
            "ls",
            "ls -la Notes",
            "/bin/ls -l",
            "cat a.md b.md",
            "head -n 5 a.md",
            "head -5 a.md",
            "tail -n -3 a",
            "wc -l a.md",
            "grep -rn --include=*.md TODO Notes",
            "rg -n TODO Notes",
            "sort -u a",
            "uniq -c a",
            "cut -d: -f 1 a",
            "tr a-z A-Z",
            "echo -n a -o b",
            "printf %s a",
            "date +%F",
            "date -u",
            "pwd",
            "whoami",
            "true",
            "seq 1 9",
            "basename a/b",
            "stat -c %s a",
            "du -sh Notes",
            "df -h .",
            "tree -L 2",
            "jq -r .a a.json",
            "diff -u a b",
            "cmp a b",
            "sha256sum a",
            "find . -name *.md -type f",
            "sed -n 3p a",
            "git status -s",
            "git log --oneline -3",
            "git diff --stat main..dev",
            "git show HEAD:a.md",
            "file a.pdf",
            "nl -ba a",
        ] {
            assert!(judged(text), "{text}");
        }
    }

    #[test]
    fn what_writes_starts_or_leaves_the_folder_is_not() {
        for text in [
            "cat /etc/passwd",
            "cat ../x",
            "cat a/../../x",
            "ls ~/x",
            "sort -o x a",
            "sort -uo x a",
            "sort --out=x a",
            "sort a -o x",
            "sort --compress-program=x a",
            "sort -T . a",
            "uniq a b",
            "date -s x",
            "date 01010101",
            "date -f a",
            "tree -o x",
            "rg --pre x y",
            "rg -z a b",
            "grep -f a b",
            "find . -delete",
            "find . -exec rm {} ;",
            "find . -fprint x",
            "find .. -name x",
            "find -files0-from x",
            "diff -l a b",
            "jq -f x a",
            "file -C -m x",
            "file -z a",
            "git log --output=x",
            "git diff --ext-diff",
            "git diff --no-index a b",
            "git -c a=b log",
            "git -C x log",
            "git push",
            "git branch new",
            "tail -f a",
            "head -n -o",
            "sed -i s/a/b/ f",
            "sed -n -f x",
            "./ls",
            "/tmp/ls",
            "ls2",
            "awk 1 f",
            "python3 x.py",
            "printf -v x y",
            "wc --files0-from=x",
            "cut --output-delimiter",
        ] {
            assert!(!judged(text), "{text}");
        }
    }

    #[test]
    fn no_program_stands_in_two_places_of_the_table() {
        let all: Vec<(&str, &[&str])> = TABLES
            .iter()
            .copied()
            .flatten()
            .flat_map(|known| known.programs.iter().map(|name| (*name, known.verbs)))
            .collect();
        for (at, (name, verbs)) in all.iter().enumerate() {
            let again = all[at + 1..].iter().any(|(other, others)| {
                other == name && (verbs.is_empty() || verbs.iter().any(|verb| others.contains(verb)))
            });
            assert!(!again, "{name}");
        }
    }
}
