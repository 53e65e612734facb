//! Warnings before an approval: names that other systems cannot store, and notes that contain code.
//!
//! Some plugins run notes: a script block runs when its note is opened. Such a note can be intended, but the user should
//! know before.

use envelope::EntryKind;
use vault::{IoContext, TreeChange, TreeEffect, Vault};

use crate::display_text::escape_line;

/// Warnings listed of one kind; the rest is counted.
const LISTED_WARNINGS: usize = 10;
/// With the folder of the vault in front, longer paths exceed the limit of Windows.
const LONG_PATH: usize = 200;
/// Larger files are not notes.
const LARGEST_NOTE: u64 = 4 << 20;

/// Marks of code that plugins run, each with its name.
const CODE_MARKS: [(&str, &str); 5] = [
    ("```dataviewjs", "dataviewjs"),
    ("~~~dataviewjs", "dataviewjs"),
    ("`$=", "inline dataviewjs"),
    ("```js-engine", "js-engine"),
    ("<%", "Templater"),
];

pub(super) fn warnings(vault: &Vault, foreseen: &[TreeChange], io: &dyn IoContext) -> Vec<String> {
    let named = foreseen.iter().filter(|one| matches!(one.effect, TreeEffect::Created | TreeEffect::Moved));
    let names = named.filter_map(|one| {
        name_problem(one.path.as_str(), one.kind)
            .map(|why| format!("{}: {why}", escape_line(one.path.as_str())))
    });
    let code = foreseen.iter().filter_map(|one| {
        new_code(vault, one, io).map(|what| {
            format!(
                "{} would carry code that Obsidian plugins run when it is opened ({what})",
                escape_line(one.path.as_str())
            )
        })
    });
    [
        bound_warnings(code.collect(), "more notes would carry code"),
        bound_warnings(names.collect(), "more such names"),
    ]
    .concat()
}

fn bound_warnings(mut warnings: Vec<String>, more: &str) -> Vec<String> {
    if warnings.len() > LISTED_WARNINGS {
        let left = warnings.len() - LISTED_WARNINGS;
        warnings.truncate(LISTED_WARNINGS);
        warnings.push(format!("{left} {more}"));
    }
    warnings
}

/// Returns why a name that can be stored here is a problem elsewhere.
fn name_problem(path: &str, kind: EntryKind) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if name.starts_with('.') {
        return Some("a name that begins with a dot is hidden in Obsidian");
    }
    if kind == EntryKind::File && name.ends_with(".md") && name.contains(['#', '^', '[', ']']) {
        return Some("links cannot name it, because of `#`, `^`, `[` or `]`");
    }
    if path.chars().count() > LONG_PATH {
        return Some("the path may be too long for Windows");
    }
    None
}

/// Returns the warning about code that a file would gain.
fn new_code(vault: &Vault, file: &TreeChange, io: &dyn IoContext) -> Option<String> {
    let after = file.after.filter(|after| after.bytes <= LARGEST_NOTE)?;
    if file.before.is_some_and(|before| before.hash == after.hash || before.bytes > LARGEST_NOTE) {
        return None;
    }
    let after = vault.content_after(file, io).ok()??;
    let after = std::str::from_utf8(&after).ok()?;
    if CODE_MARKS.iter().all(|(mark, _)| !after.contains(mark)) {
        return None;
    }
    let before = vault.content_before(file, io).ok()?.unwrap_or_default();
    let before = String::from_utf8_lossy(&before);
    let mut new: Vec<&str> = CODE_MARKS
        .iter()
        .filter(|(mark, _)| code_pieces(after, mark) != code_pieces(&before, mark))
        .map(|(_, name)| *name)
        .collect();
    new.dedup();
    (!new.is_empty()).then(|| new.join(", "))
}

/// Returns the text from each mark to the furthest possible end of its code, for comparison.
fn code_pieces<'a>(text: &'a str, mark: &str) -> Vec<&'a str> {
    let end = match mark {
        "<%" => "%>",
        "`$=" => "`",
        _ => "\n```",
    };
    let piece = |(at, _): (usize, &str)| {
        let rest = &text[at + mark.len()..];
        &rest[..rest.find(end).unwrap_or(rest.len())]
    };
    text.match_indices(mark).map(piece).collect()
}

#[cfg(test)]
mod tests {
    use envelope::EntryKind;

    use super::{code_pieces, name_problem};

    #[test]
    fn names_that_make_trouble_are_told_from_those_that_do_not() {
        let file = |path: &str| name_problem(path, EntryKind::File).is_some();
        assert!(file("Notes/C# basics.md") && file("a [draft].md") && file(".hidden.md"));
        assert!(file(&format!("{}/n.md", "folder/".repeat(30))));
        assert!(!file("Notes/Plain name.md") && !file("image #1.png"));
        assert!(name_problem("C# notes", EntryKind::Folder).is_none());
    }

    #[test]
    fn code_that_stays_the_same_is_the_same_wherever_it_moves() {
        let note = "a\n```dataviewjs\ndv.table()\n```\nb <% tp.date.now() %> c";
        assert_eq!(code_pieces(note, "```dataviewjs"), ["\ndv.table()"]);
        assert_eq!(code_pieces(note, "<%"), [" tp.date.now() "]);
        assert_eq!(code_pieces(&format!("more\n{note}\nmore"), "<%"), code_pieces(note, "<%"));
        assert_eq!(code_pieces("`$= dv.current()` and `$=x", "`$="), [" dv.current()", "x"]);
    }
}
