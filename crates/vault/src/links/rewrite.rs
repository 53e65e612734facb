//! Writes the links of a file anew when files move.
//!
//! The result is proved before it is given back: the new text is read again, and every link that had a file
//! must have the same file at its new place. What cannot be written so is left as it was and reported.
//!
//! A name with one of `[ ] | # ^` cannot stand in a wikilink. Such a link becomes a Markdown link, with its
//! alias or size as the text; a bare one in frontmatter, where that would not be YAML, is left and reported.

use std::collections::HashSet;
use std::ops::Range;

use envelope::VaultPath;

use super::body::escaped_fragment;
use super::destination::escaped;
use super::index::VaultIndex;
use super::link::{Form, Link};
use super::mentions::Mentions;
use super::moves::Moves;
use super::quoting::Quoting;
use super::respell::Respell;
use super::scan::{FileKind, scan};

/// Some moves in a vault, ready to be applied to the links of any of its files.
pub(crate) struct Renaming<'a> {
    before: &'a VaultIndex,
    after: VaultIndex,
    moves: &'a Moves,
    mentions: Mentions,
}

/// A file with its links written anew.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rewritten {
    /// The same as before when `links` is 0.
    pub(crate) text: String,
    /// How many links are written differently.
    pub(crate) links: usize,
    /// The links that ought to change and could not.
    pub(crate) left: Vec<LeftBehind>,
}

/// A link that no longer means its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeftBehind {
    pub(crate) line: u32,
    /// As it stands in the file.
    pub(crate) target: String,
    /// Where its file is now.
    pub(crate) file: VaultPath,
}

/// A link that has to be written anew.
struct Due<'a> {
    link: &'a Link,
    old: &'a VaultPath,
    new: &'a VaultPath,
    /// The ways to write it, best first.
    targets: Vec<String>,
}

struct Edit {
    span: Range<usize>,
    text: String,
}

/// How much of a link may be changed besides its path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// The text of a Markdown link that repeats the name, and the brackets where a name needs others.
    Whole,
    PathOnly,
}

impl<'a> Renaming<'a> {
    pub(crate) fn new(before: &'a VaultIndex, moves: &'a Moves) -> Renaming<'a> {
        let after = before.after(moves);
        Renaming { before, after, moves, mentions: Mentions::new(moves.paths()) }
    }

    /// Whether [`Renaming::rewrite`] could have anything to do. Cheap, and never no when it has.
    pub(crate) fn may_affect(&self, source: &VaultPath, text: &str) -> bool {
        match FileKind::of(source) {
            FileKind::Other => false,
            FileKind::Canvas => true,
            FileKind::Note => self.moves.moves(source) || self.mentions.possible_in(text),
        }
    }

    /// The new text of a file, which is named by its path before the moves. `None` when nothing changes.
    pub(crate) fn rewrite(&self, source: &VaultPath, text: &str) -> Option<Rewritten> {
        let source_after = self.moves.after(source)?;
        let kind = FileKind::of(source);
        let links = scan(kind, text);
        let respell =
            Respell { before: self.before, after: &self.after, source_before: source, source_after };
        let files: Vec<Option<(&VaultPath, &VaultPath)>> = links
            .iter()
            .map(|link| {
                let old = self.before.resolve(source, link)?;
                Some((old, self.moves.after(old)?))
            })
            .collect();
        let due: Vec<Due<'_>> = links
            .iter()
            .zip(&files)
            .filter_map(|(link, files)| {
                let (old, new) = (*files)?;
                let right = respell.still_right(link, old, new);
                (!right).then(|| Due { link, old, new, targets: respell.targets(link, old, new) })
            })
            .collect();
        let wanted: Vec<Option<&VaultPath>> = files.iter().map(|files| files.map(|(_, new)| new)).collect();
        [Reach::Whole, Reach::PathOnly]
            .into_iter()
            .map(|reach| attempt(text, &due, reach))
            .find(|attempt| self.holds(kind, source_after, attempt, &links, &wanted))
            // Read again, the text would hold other links than it should: all stays as it was.
            .unwrap_or_else(|| Rewritten {
                text: text.to_owned(),
                links: 0,
                left: due.iter().map(left_behind).collect(),
            })
            .into_change()
    }

    /// Whether the links of the new text mean what they should.
    fn holds(
        &self,
        kind: FileKind,
        source: &VaultPath,
        attempt: &Rewritten,
        links: &[Link],
        wanted: &[Option<&VaultPath>],
    ) -> bool {
        if attempt.links == 0 {
            return true;
        }
        let written = scan(kind, &attempt.text);
        let left: HashSet<(u32, &str)> =
            attempt.left.iter().map(|left| (left.line, left.target.as_str())).collect();
        written.len() == links.len()
            && links.iter().zip(&written).zip(wanted).all(|((link, written), wanted)| {
                wanted.is_none_or(|wanted| {
                    self.after.resolve(source, written) == Some(wanted)
                        || left.contains(&(link.line, link.target.as_str()))
                })
            })
    }
}

impl Rewritten {
    fn into_change(self) -> Option<Rewritten> {
        (self.links > 0 || !self.left.is_empty()).then_some(self)
    }
}

fn left_behind(due: &Due<'_>) -> LeftBehind {
    LeftBehind { line: due.link.line, target: due.link.target.clone(), file: due.new.clone() }
}

/// The text with every link written anew for which there is a way.
fn attempt(text: &str, due: &[Due<'_>], reach: Reach) -> Rewritten {
    let mut edits = Vec::new();
    let mut links = 0;
    let mut left = Vec::new();
    for link in due {
        match spelled(text, link, reach) {
            Some(mut changes) => {
                changes.retain(|edit| text[edit.span.clone()] != edit.text);
                links += usize::from(!changes.is_empty());
                edits.append(&mut changes);
            }
            None => left.push(left_behind(link)),
        }
    }
    Rewritten { text: applied(text, edits), links, left }
}

fn applied(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let mut written =
        String::with_capacity(text.len() + edits.iter().map(|edit| edit.text.len()).sum::<usize>());
    let mut at = 0;
    for edit in edits {
        // One link inside another may want the same bytes; the proof finds out what that made of them.
        if edit.span.start < at {
            continue;
        }
        written.push_str(&text[at..edit.span.start]);
        written.push_str(&edit.text);
        at = edit.span.end;
    }
    written.push_str(&text[at..]);
    written
}

/// The edits that write one link anew; `None` when there is no way.
fn spelled(text: &str, due: &Due<'_>, reach: Reach) -> Option<Vec<Edit>> {
    let written = &due.link.written;
    let edit = |text: &str| Edit { span: written.path.clone(), text: written.quoting.write(text) };
    match &written.form {
        Form::Path => Some(vec![edit(due.new.as_str())]),
        Form::Destination { raw, angle, tail } => {
            let path = escaped(due.targets.first()?, raw, *angle);
            let mut edits = vec![edit(&format!("{path}{tail}"))];
            if reach == Reach::Whole {
                edits.extend(display(due));
            }
            Some(edits)
        }
        Form::Wiki => match due.targets.iter().find(|target| !target.contains(['[', ']', '|', '#', '^'])) {
            Some(target) if written.quoting == Quoting::YamlBare && !is_plain_in_flow(target) => {
                quoted(text, due.link, edit(target))
            }
            Some(target) => Some(vec![edit(target)]),
            None if reach == Reach::Whole && written.quoting != Quoting::YamlBare => as_markdown(text, due),
            None => None,
        },
    }
}

/// The text of a Markdown link that repeats the name of its file goes with the name.
fn display(due: &Due<'_>) -> Option<Edit> {
    let (old, new) = (due.old.name(), due.new.name());
    let shown = due.link.display.as_deref()?;
    let text = if shown == old {
        new
    } else if shown == stem(old) {
        stem(new)
    } else {
        return None;
    };
    let span = due.link.written.display.clone()?;
    Some(Edit { span, text: due.link.written.quoting.write(&label(text)) })
}

fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// A name as the text of a Markdown link.
fn label(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        if matches!(c, '[' | ']' | '`') {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

/// `[[a#h|alias]]` as `[alias](a.md#h)`.
fn as_markdown(text: &str, due: &Due<'_>) -> Option<Vec<Edit>> {
    let Link { span, written, fragment, .. } = due.link;
    let mut target = due.targets.first()?.clone();
    // Other readers of Markdown want the extension.
    if due.new.as_str().ends_with(".md") && !target.ends_with(".md") {
        target.push_str(".md");
    }
    let mut destination = escaped(&target, "", false);
    if let Some(fragment) = fragment {
        destination.push('#');
        destination.push_str(&escaped_fragment(fragment, false));
    }
    let start = span.start + usize::from(text[span.clone()].starts_with('!'));
    let end = written.quoting.write(&format!("]({destination})"));
    match &written.display {
        Some(display) => Some(vec![
            Edit { span: start..display.start, text: "[".to_owned() },
            Edit { span: display.end..span.end, text: end },
        ]),
        None => {
            let shown = written.quoting.write(&label(stem(due.new.name())));
            Some(vec![Edit { span: start..span.end, text: format!("[{shown}{end}") }])
        }
    }
}

/// Whether a name can stand in `[[…]]` without quotes and the block is still YAML.
fn is_plain_in_flow(target: &str) -> bool {
    !target.starts_with(['!', '&', '*', '?', '%', '@', '`', '\'', '-', ',']) && !target.contains(['{', '}'])
}

/// Puts quotes around a bare link in frontmatter.
fn quoted(text: &str, link: &Link, path: Edit) -> Option<Vec<Edit>> {
    let span = link.span.clone();
    if text[span.clone()].contains(['"', '\\']) {
        return None;
    }
    let quote = |at: usize| Edit { span: at..at, text: "\"".to_owned() };
    Some(vec![quote(span.start), path, quote(span.end)])
}
