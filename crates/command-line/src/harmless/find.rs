//! `find`: tests and actions are words with one dash, so they are listed as words.
//!
//! Deliberately omitted: `-exec`, `-execdir`, `-ok` and `-okdir` start programs, `-delete` deletes, `-fprint`,
//! `-fprint0`, `-fprintf` and `-fls` write files, `-files0-from` names folders that are not in the line, `-L` and
//! `-follow` leave the folder.

use super::stays_below;

/// Words without a value.
const ALONE: [&str; 23] = [
    "(",
    ")",
    "!",
    ",",
    "-a",
    "-and",
    "-depth",
    "-daystart",
    "-empty",
    "-executable",
    "-false",
    "-ls",
    "-mount",
    "-nogroup",
    "-not",
    "-nouser",
    "-o",
    "-or",
    "-print",
    "-print0",
    "-prune",
    "-readable",
    "-writable",
];

/// Words that take the next one as a value.
const WITH_VALUE: [&str; 34] = [
    "-amin",
    "-anewer",
    "-atime",
    "-cmin",
    "-cnewer",
    "-ctime",
    "-fstype",
    "-gid",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-links",
    "-lname",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-newer",
    "-newermt",
    "-path",
    "-perm",
    "-printf",
    "-regex",
    "-regextype",
    "-samefile",
    "-size",
    "-type",
    "-uid",
    "-user",
    "-xtype",
];

pub(super) fn is_harmless(words: &[String]) -> bool {
    if matches!(words, [only] if only == "--version") {
        return true;
    }
    let mut words = words.iter().map(String::as_str);
    let mut in_expression = false;
    while let Some(word) = words.next() {
        let is_start = !in_expression && !word.starts_with(['-', '(', '!', ',', ')']);
        if is_start {
            if !stays_below(word) {
                return false;
            }
            continue;
        }
        in_expression = true;
        // A value that begins with a dash, and is not a number, may be an option of another `find`.
        let is_known = match WITH_VALUE.contains(&word) {
            true => words.next().is_some_and(super::is_value),
            false => ALONE.contains(&word),
        };
        if !is_known {
            return false;
        }
    }
    true
}
