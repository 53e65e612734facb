//! References: the syntax by which one part of a plan names a value that another part produces.
//!
//! `$steps.<id>.<path>` and `$vars.<name>.<path>` are valid everywhere, `$<itemName>.<path>` and
//! `$<indexName>` inside a foreach. The same words between braces (`{item.path}`) are the text form; see
//! `template`. A path consists of `.name` and `[n]`. This module does not check that the named step or field
//! exists, which needs the whole plan and the schemas.

use std::fmt;

use envelope::{StepId, VarName};

/// The first part of a reference.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ReferenceRoot {
    /// The output of a step.
    Steps(StepId),
    /// A variable of the plan, or an output named by `captureAs`.
    Vars(VarName),
    /// The item of the enclosing foreach, by the name that the plan gives it.
    Item(VarName),
    /// The position of that item, counted from 0.
    Index(VarName),
}

/// One segment of a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PathSegment {
    Key(String),
    Index(usize),
}

/// A parsed reference. Prints back in its canonical spelling, with the leading `$`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reference {
    pub root: ReferenceRoot,
    pub path: Vec<PathSegment>,
}

/// The names in scope of a template. `steps` and `vars` always are.
#[derive(Debug, Clone, Copy, Default)]
pub struct TemplateScope<'a> {
    pub item_name: Option<&'a str>,
    pub index_name: Option<&'a str>,
    pub braces: BraceRule,
}

/// Where doubled braces in a text mean single ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BraceRule {
    /// Around a word in scope.
    #[default]
    AroundScope,
    /// Everywhere. Only for the plans of runs that earlier versions recorded.
    Everywhere,
}

/// The result of parsing the text after `$` or between braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReferenceParse<'t> {
    Reference(Reference),
    /// Starts like a reference in scope but is invalid; the reason in words for its author.
    Bad(String),
    /// Has the form of a reference, but its first word is not in scope.
    Unscoped {
        word: &'t str,
        path: &'t str,
    },
    /// Ordinary text.
    Other,
}

impl TemplateScope<'_> {
    /// Returns every word that a reference can start with here, for "did you mean" hints.
    pub(crate) fn root_words(&self) -> impl Iterator<Item = &str> {
        ["steps", "vars"].into_iter().chain(self.item_name).chain(self.index_name)
    }
}

impl Reference {
    /// Parses the text after a `$` or between `{` and `}`. Total: every text is one of the four variants.
    pub(crate) fn parse<'t>(text: &'t str, scope: &TemplateScope<'_>) -> ReferenceParse<'t> {
        let (word, path) = text.split_at(word_length(text));
        if word.is_empty() || !(path.is_empty() || path.starts_with(['.', '['])) {
            return ReferenceParse::Other;
        }
        let read = match word {
            "steps" => read_steps(path),
            "vars" => read_vars(path),
            _ if scope.item_name == Some(word) => read_item(word, path),
            _ if scope.index_name == Some(word) => read_index(word, path),
            _ if read_path(path).is_ok() => return ReferenceParse::Unscoped { word, path },
            _ => return ReferenceParse::Other,
        };
        match read {
            Ok(reference) => ReferenceParse::Reference(reference),
            Err(why) => ReferenceParse::Bad(why),
        }
    }
}

/// Returns the length of the first word in bytes: a letter, then letters, digits, `_`, `-`.
fn word_length(text: &str) -> usize {
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return 0;
    }
    text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))).unwrap_or(text.len())
}

fn read_steps(rest: &str) -> Result<Reference, String> {
    let (name, path) = split_name(rest).ok_or("name the step after it, as in `steps.<id>.<field>`")?;
    let id = StepId::parse(name).map_err(|bad| bad.to_string())?;
    Ok(Reference { root: ReferenceRoot::Steps(id), path: read_path(path)? })
}

fn read_vars(rest: &str) -> Result<Reference, String> {
    let (name, path) = split_name(rest).ok_or("name the variable after it, as in `vars.<name>`")?;
    let name = VarName::parse(name).map_err(|bad| bad.to_string())?;
    Ok(Reference { root: ReferenceRoot::Vars(name), path: read_path(path)? })
}

fn read_item(word: &str, path: &str) -> Result<Reference, String> {
    let name = VarName::parse(word).map_err(|bad| bad.to_string())?;
    Ok(Reference { root: ReferenceRoot::Item(name), path: read_path(path)? })
}

fn read_index(word: &str, path: &str) -> Result<Reference, String> {
    let name = VarName::parse(word).map_err(|bad| bad.to_string())?;
    if path.is_empty() {
        Ok(Reference { root: ReferenceRoot::Index(name), path: Vec::new() })
    } else {
        Err(format!("`{word}` is a number and has no parts; write `{word}` alone"))
    }
}

/// Splits `.name<path>` into the name and the path after it.
fn split_name(rest: &str) -> Option<(&str, &str)> {
    let rest = rest.strip_prefix('.')?;
    let end = rest.find(['.', '[']).unwrap_or(rest.len());
    (end > 0).then(|| rest.split_at(end))
}

fn read_path(mut rest: &str) -> Result<Vec<PathSegment>, String> {
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
            path.push(PathSegment::Key(key.to_owned()));
            rest = next;
        } else if let Some(after) = rest.strip_prefix('[') {
            let (digits, next) = after.split_once(']').ok_or("a `[` is not closed; write `[0]`")?;
            path.push(PathSegment::Index(read_position(digits)?));
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

/// Field names of real data are words in any script; with more characters the end of a path would be a guess.
fn is_key_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.root {
            ReferenceRoot::Steps(id) => write!(f, "$steps.{id}")?,
            ReferenceRoot::Vars(name) => write!(f, "$vars.{name}")?,
            ReferenceRoot::Item(name) | ReferenceRoot::Index(name) => write!(f, "${name}")?,
        }
        for segment in &self.path {
            match segment {
                PathSegment::Key(key) => write!(f, ".{key}")?,
                PathSegment::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::{any, proptest};

    use super::{BraceRule, Reference, ReferenceParse, TemplateScope};

    const SCOPE: TemplateScope<'static> =
        TemplateScope { item_name: Some("note"), index_name: Some("i"), braces: BraceRule::AroundScope };

    #[track_caller]
    fn check(texts: &[&str], expected: &Expect) {
        let lines: Vec<String> = texts
            .iter()
            .map(|text| match Reference::parse(text, &SCOPE) {
                ReferenceParse::Reference(reference) => format!("{text} -> {reference} {:?}", reference.path),
                ReferenceParse::Bad(why) => format!("{text} -> bad: {why}"),
                ReferenceParse::Unscoped { word, path } => format!("{text} -> not in scope: {word} {path}"),
                ReferenceParse::Other => format!("{text} -> text"),
            })
            .collect();
        expected.assert_eq(&(lines.join("\n") + "\n"));
    }

    // Conformance: envelope 6.1
    //     The output of a completed step can be referred to, as a whole or by a path into it.
    //     In: plan/reference.rs
    // Conformance: envelope 6.2
    //     So can variables, from the plan or captured from a step.
    //     In: plan/reference.rs
    // Conformance: envelope 6.3
    //     So can the item and the index of a repetition, under the names that the plan gives them.
    //     In: plan/reference.rs
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
            if let ReferenceParse::Reference(reference) = Reference::parse(&text, &SCOPE) {
                let printed = reference.to_string();
                assert_eq!(Reference::parse(&printed[1..], &SCOPE), ReferenceParse::Reference(reference));
            }
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in any::<String>(), tail in any::<String>()) {
            Reference::parse(&text, &SCOPE);
            Reference::parse(&format!("steps.a{tail}"), &SCOPE);
            Reference::parse(&format!("note[{tail}"), &SCOPE);
        }
    }
}
