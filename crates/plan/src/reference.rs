//! References: how one part of a plan names a value that another part makes.
//!
//! `$steps.<id>.<path>` and `$vars.<name>.<path>` everywhere, `$<itemName>.<path>` and `$<indexName>` inside
//! a foreach. The same words between braces (`{item.path}`) are the text form; see `template`. A path is made
//! of `.name` and `[n]`. Whether the named step or field exists is not asked here: that needs the whole plan
//! and the schemas.

use std::fmt;

use envelope::{StepId, VarName};

/// Where a reference starts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Root {
    /// The output of a step.
    Steps(StepId),
    /// A variable of the plan, or an output kept by `captureAs`.
    Vars(VarName),
    /// The item of the foreach around it, in the plan's own spelling.
    Item(VarName),
    /// The position of that item, counted from 0.
    Index(VarName),
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Segment {
    Key(String),
    Index(usize),
}

/// A parsed reference. Prints back in its canonical spelling, with the leading `$`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reference {
    pub root: Root,
    pub path: Vec<Segment>,
}

/// The names that mean something where a text stands. `steps` and `vars` always do.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scope<'a> {
    pub item_name: Option<&'a str>,
    pub index_name: Option<&'a str>,
}

/// What a run of characters after `$` or between braces turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Spelled<'t> {
    Reference(Reference),
    /// Starts like a reference that is in scope, but is none: the reason, in words for its author.
    Bad(String),
    /// Has the form of a reference, but its first word means nothing here.
    Unscoped {
        word: &'t str,
        path: &'t str,
    },
    /// Ordinary text.
    Other,
}

impl Scope<'_> {
    /// Every word a reference can start with here, for "did you mean".
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        ["steps", "vars"].into_iter().chain(self.item_name).chain(self.index_name)
    }
}

impl Reference {
    /// Reads the characters after a `$` or between `{` and `}`. Total: every text is one of the four.
    pub(crate) fn read<'t>(text: &'t str, scope: &Scope<'_>) -> Spelled<'t> {
        let (word, path) = text.split_at(word_length(text));
        if word.is_empty() || !(path.is_empty() || path.starts_with(['.', '['])) {
            return Spelled::Other;
        }
        let read = match word {
            "steps" => read_steps(path),
            "vars" => read_vars(path),
            _ if scope.item_name == Some(word) => read_item(word, path),
            _ if scope.index_name == Some(word) => read_index(word, path),
            _ if read_path(path).is_ok() => return Spelled::Unscoped { word, path },
            _ => return Spelled::Other,
        };
        match read {
            Ok(reference) => Spelled::Reference(reference),
            Err(why) => Spelled::Bad(why),
        }
    }
}

/// How many bytes of the text are its first word: a letter, then letters, digits, `_`, `-`.
fn word_length(text: &str) -> usize {
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return 0;
    }
    text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))).unwrap_or(text.len())
}

fn read_steps(rest: &str) -> Result<Reference, String> {
    let (name, path) = named(rest).ok_or("name the step after it, as in `steps.<id>.<field>`")?;
    let id = StepId::parse(name).map_err(|bad| bad.to_string())?;
    Ok(Reference { root: Root::Steps(id), path: read_path(path)? })
}

fn read_vars(rest: &str) -> Result<Reference, String> {
    let (name, path) = named(rest).ok_or("name the variable after it, as in `vars.<name>`")?;
    let name = VarName::parse(name).map_err(|bad| bad.to_string())?;
    Ok(Reference { root: Root::Vars(name), path: read_path(path)? })
}

fn read_item(word: &str, path: &str) -> Result<Reference, String> {
    let name = VarName::parse(word).map_err(|bad| bad.to_string())?;
    Ok(Reference { root: Root::Item(name), path: read_path(path)? })
}

fn read_index(word: &str, path: &str) -> Result<Reference, String> {
    let name = VarName::parse(word).map_err(|bad| bad.to_string())?;
    if path.is_empty() {
        Ok(Reference { root: Root::Index(name), path: Vec::new() })
    } else {
        Err(format!("`{word}` is a number and has no parts; write `{word}` alone"))
    }
}

/// Splits `.name<path>` into the name and the path behind it.
fn named(rest: &str) -> Option<(&str, &str)> {
    let rest = rest.strip_prefix('.')?;
    let end = rest.find(['.', '[']).unwrap_or(rest.len());
    (end > 0).then(|| rest.split_at(end))
}

fn read_path(mut rest: &str) -> Result<Vec<Segment>, String> {
    let mut path = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(|c: char| !is_key_char(c)).unwrap_or(after.len());
            let (key, next) = after.split_at(end);
            if key.is_empty() {
                return Err(match next.chars().next() {
                    Some(c) => format!("a field name is expected after `.`, not `{}`", c.escape_default()),
                    None => "it ends with a `.`; write a field name after it or leave the `.` out".to_owned(),
                });
            }
            path.push(Segment::Key(key.to_owned()));
            rest = next;
        } else if let Some(after) = rest.strip_prefix('[') {
            let (digits, next) = after.split_once(']').ok_or("a `[` is not closed; write `[0]`")?;
            path.push(Segment::Index(read_position(digits)?));
            rest = next;
        } else {
            let c = rest.chars().next().unwrap_or(' ');
            return Err(format!(
                "`{}` cannot be part of a path, which is made of `.name` and `[0]`",
                c.escape_default()
            ));
        }
    }
    Ok(path)
}

fn read_position(digits: &str) -> Result<usize, String> {
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(
            "between `[` and `]` goes a position counted from 0; a field is written `.name`".to_owned()
        );
    }
    digits.parse().map_err(|_| format!("the position [{digits}] is too large"))
}

/// Field names of real data are words in any script; anything else would make the end of a path a guess.
fn is_key_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.root {
            Root::Steps(id) => write!(f, "$steps.{id}")?,
            Root::Vars(name) => write!(f, "$vars.{name}")?,
            Root::Item(name) | Root::Index(name) => write!(f, "${name}")?,
        }
        for segment in &self.path {
            match segment {
                Segment::Key(key) => write!(f, ".{key}")?,
                Segment::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::{any, proptest};

    use super::{Reference, Scope, Spelled};

    const SCOPE: Scope<'static> = Scope { item_name: Some("note"), index_name: Some("i") };

    #[track_caller]
    fn check(texts: &[&str], expected: &Expect) {
        let lines: Vec<String> = texts
            .iter()
            .map(|text| match Reference::read(text, &SCOPE) {
                Spelled::Reference(reference) => format!("{text} -> {reference} {:?}", reference.path),
                Spelled::Bad(why) => format!("{text} -> bad: {why}"),
                Spelled::Unscoped { word, path } => format!("{text} -> not in scope: {word} {path}"),
                Spelled::Other => format!("{text} -> text"),
            })
            .collect();
        expected.assert_eq(&(lines.join("\n") + "\n"));
    }

    #[test]
    fn steps_variables_items_and_positions_are_read() {
        check(
            &[
                "steps.parse",
                "steps.parse.items[0].title",
                "vars.x",
                "vars.x[2][007]",
                "note",
                "note.Größe",
                "i",
            ],
            &expect![[r#"
                steps.parse -> $steps.parse []
                steps.parse.items[0].title -> $steps.parse.items[0].title [Key("items"), Index(0), Key("title")]
                vars.x -> $vars.x []
                vars.x[2][007] -> $vars.x[2][7] [Index(2), Index(7)]
                note -> $note []
                note.Größe -> $note.Größe [Key("Größe")]
                i -> $i []
            "#]],
        );
    }

    #[test]
    fn what_starts_like_a_reference_but_is_none_gets_a_reason() {
        check(
            &[
                "steps",
                "vars",
                "steps.",
                "steps[0]",
                "steps.9a.x",
                "steps.a.",
                "steps.a..b",
                "steps.a.b c",
                "steps.a[",
                "steps.a[-1]",
                "steps.a['k']",
                "steps.a[99999999999999999999999]",
                "vars.a.b,",
                "i.x",
                "note.",
            ],
            &expect![[r#"
                steps -> bad: name the step after it, as in `steps.<id>.<field>`
                vars -> bad: name the variable after it, as in `vars.<name>`
                steps. -> bad: name the step after it, as in `steps.<id>.<field>`
                steps[0] -> bad: name the step after it, as in `steps.<id>.<field>`
                steps.9a.x -> bad: `9a` is not a step id: start with a letter, then use letters, digits, `_` or `-`, at most 64 in all
                steps.a. -> bad: it ends with a `.`; write a field name after it or leave the `.` out
                steps.a..b -> bad: a field name is expected after `.`, not `.`
                steps.a.b c -> bad: ` ` cannot be part of a path, which is made of `.name` and `[0]`
                steps.a[ -> bad: a `[` is not closed; write `[0]`
                steps.a[-1] -> bad: between `[` and `]` goes a position counted from 0; a field is written `.name`
                steps.a['k'] -> bad: between `[` and `]` goes a position counted from 0; a field is written `.name`
                steps.a[99999999999999999999999] -> bad: the position [99999999999999999999999] is too large
                vars.a.b, -> bad: `,` cannot be part of a path, which is made of `.name` and `[0]`
                i.x -> bad: `i` is a number and has no parts; write `i` alone
                note. -> bad: it ends with a `.`; write a field name after it or leave the `.` out
            "#]],
        );
    }

    #[test]
    fn other_words_are_told_apart_from_ordinary_text() {
        check(
            &[
                "step.parse.items",
                "name",
                "name: x",
                "steps are good",
                "",
                "5.00",
                "note-2",
                "\"a\": 1",
                "name[x]",
            ],
            &expect![[r#"
                step.parse.items -> not in scope: step .parse.items
                name -> not in scope: name 
                name: x -> text
                steps are good -> text
                 -> text
                5.00 -> text
                note-2 -> not in scope: note-2 
                "a": 1 -> text
                name[x] -> text
            "#]],
        );
    }

    proptest! {
        #[test]
        fn what_is_read_prints_back_and_is_read_again(text in "(steps|vars|note|i)(\\.[a-z0-9_-]{1,3}|\\[[0-9]{1,2}\\]){0,4}") {
            if let Spelled::Reference(reference) = Reference::read(&text, &SCOPE) {
                let printed = reference.to_string();
                assert_eq!(Reference::read(&printed[1..], &SCOPE), Spelled::Reference(reference));
            }
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in any::<String>(), tail in any::<String>()) {
            Reference::read(&text, &SCOPE);
            Reference::read(&format!("steps.a{tail}"), &SCOPE);
            Reference::read(&format!("note[{tail}"), &SCOPE);
        }
    }
}
