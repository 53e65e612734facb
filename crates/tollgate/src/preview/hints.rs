//! What a person should know before saying yes: names that make trouble elsewhere, and notes that are code.
//!
//! A vault is code to some plugins: a note with a script block runs when it is opened. Such a note may be just
//! what was wanted, but nobody should find out afterwards.

use envelope::EntryKind;
use vault::{Fate, Foreseen, Vault, Witness};

use crate::visible::one_line;

/// More of one kind are counted.
const TOLD: usize = 10;
/// With the folder of the vault in front, longer paths are more than Windows stores.
const LONG_PATH: usize = 200;
/// Larger files are no notes.
const LARGEST_NOTE: u64 = 4 << 20;

/// What begins a piece of a note that plugins run, and what it is called.
const CODE: [(&str, &str); 5] = [
    ("```dataviewjs", "dataviewjs"),
    ("~~~dataviewjs", "dataviewjs"),
    ("`$=", "inline dataviewjs"),
    ("```js-engine", "js-engine"),
    ("<%", "Templater"),
];

pub(super) fn warnings(vault: &Vault, foreseen: &[Foreseen], witness: &dyn Witness) -> Vec<String> {
    let named = foreseen.iter().filter(|one| matches!(one.fate, Fate::Created | Fate::Moved));
    let names = named.filter_map(|one| {
        trouble(one.path.as_str(), one.kind).map(|why| format!("{}: {why}", one_line(one.path.as_str())))
    });
    let code = foreseen.iter().filter_map(|one| {
        code(vault, one, witness).map(|what| {
            format!(
                "{} would carry code that Obsidian plugins run when it is opened ({what})",
                one_line(one.path.as_str())
            )
        })
    });
    [bounded(code.collect(), "more notes would carry code"), bounded(names.collect(), "more such names")]
        .concat()
}

fn bounded(mut warnings: Vec<String>, more: &str) -> Vec<String> {
    if warnings.len() > TOLD {
        let left = warnings.len() - TOLD;
        warnings.truncate(TOLD);
        warnings.push(format!("{left} {more}"));
    }
    warnings
}

/// Why a name that could be stored would still make trouble.
fn trouble(path: &str, kind: EntryKind) -> Option<&'static str> {
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

/// The code that a file would carry and does not carry now.
fn code(vault: &Vault, file: &Foreseen, witness: &dyn Witness) -> Option<String> {
    let after = file.after.filter(|after| after.bytes <= LARGEST_NOTE)?;
    if file.before.is_some_and(|before| before.hash == after.hash || before.bytes > LARGEST_NOTE) {
        return None;
    }
    let after = vault.after(file, witness).ok()??;
    let after = std::str::from_utf8(&after).ok()?;
    if CODE.iter().all(|(mark, _)| !after.contains(mark)) {
        return None;
    }
    let before = vault.before(file, witness).ok()?.unwrap_or_default();
    let before = String::from_utf8_lossy(&before);
    let mut new: Vec<&str> = CODE
        .iter()
        .filter(|(mark, _)| pieces(after, mark) != pieces(&before, mark))
        .map(|(_, name)| *name)
        .collect();
    new.dedup();
    (!new.is_empty()).then(|| new.join(", "))
}

/// Everything from each mark to where such a piece can end at the latest; the same pieces are the same code.
fn pieces<'a>(text: &'a str, mark: &str) -> Vec<&'a str> {
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

    use super::{pieces, trouble};

    #[test]
    fn names_that_make_trouble_are_told_from_those_that_do_not() {
        let file = |path: &str| trouble(path, EntryKind::File).is_some();
        assert!(file("Notes/C# basics.md") && file("a [draft].md") && file(".hidden.md"));
        assert!(file(&format!("{}/n.md", "folder/".repeat(30))));
        assert!(!file("Notes/Plain name.md") && !file("image #1.png"));
        assert!(trouble("C# notes", EntryKind::Folder).is_none());
    }

    #[test]
    fn code_that_stays_the_same_is_the_same_wherever_it_moves() {
        let note = "a\n```dataviewjs\ndv.table()\n```\nb <% tp.date.now() %> c";
        assert_eq!(pieces(note, "```dataviewjs"), ["\ndv.table()"]);
        assert_eq!(pieces(note, "<%"), [" tp.date.now() "]);
        assert_eq!(pieces(&format!("more\n{note}\nmore"), "<%"), pieces(note, "<%"));
        assert_eq!(pieces("`$= dv.current()` and `$=x", "`$="), [" dv.current()", "x"]);
    }
}
