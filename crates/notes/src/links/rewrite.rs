//! Rewrites the links of a file when files move.
//!
//! The result is verified before it is returned: the new text is scanned again, and every link that had a
//! file must resolve to the same file at its new path. Links that cannot be rewritten this way stay unchanged
//! and are reported.
//!
//! A wikilink cannot contain a name with one of `[ ] | # ^`. Such a link becomes a Markdown link, with its
//! alias or size as the text. A bare one in frontmatter, where that would not be valid YAML, stays unchanged
//! and is reported.

use std::collections::HashSet;
use std::ops::Range;

use envelope::VaultPath;

use super::body::escaped_fragment;
use super::destination::escaped;
use super::file_moves::FileMoves;
use super::fold::linked_path;
use super::link::{LinkSyntax, NoteLink};
use super::link_formatter::LinkFormatter;
use super::mention_filter::MentionFilter;
use super::quote_format::QuoteFormat;
use super::resolver::LinkResolver;
use super::scan::{FileKind, scan};

/// Rewrites the links of any file of a vault for one set of moves.
pub struct LinkRewriter<'a> {
    before: &'a LinkResolver,
    after: LinkResolver,
    moves: &'a FileMoves,
    mentions: MentionFilter,
}

/// A file with rewritten links.
#[derive(Debug, PartialEq, Eq)]
pub struct RewrittenFile {
    /// The new text; unchanged if `links` is 0.
    pub text: String,
    /// Edits that lead from the old text to the new one, in order and without overlap.
    pub edits: Vec<LinkEdit>,
    /// Number of links that changed.
    pub links: usize,
    /// Links that need a change but cannot be rewritten.
    pub stale_links: Vec<StaleLink>,
}

/// A link that no longer resolves to its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleLink {
    pub line: u32,
    /// The target as it is in the file.
    pub target: String,
    /// The new path of the link's file.
    pub file: VaultPath,
}

/// A link that must be rewritten.
struct LinkChange<'a> {
    link: &'a NoteLink,
    old: &'a VaultPath,
    new: &'a VaultPath,
    /// The possible new targets, best first.
    targets: Vec<String>,
}

/// The replacement of some bytes of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkEdit {
    pub span: Range<usize>,
    pub text: String,
}

/// The parts of a link that can change besides its path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RewriteScope {
    /// Also the text of a Markdown link that repeats the name, and the brackets if a name needs others.
    Whole,
    PathOnly,
}

impl<'a> LinkRewriter<'a> {
    pub fn new(before: &'a LinkResolver, moves: &'a FileMoves) -> LinkRewriter<'a> {
        let after = before.after(moves);
        LinkRewriter { before, after, moves, mentions: MentionFilter::new(moves.paths()) }
    }

    /// Whether [`LinkRewriter::rewrite`] could change the file. Cheap; can be true without a change, but is
    /// never false if there is one.
    pub fn may_affect(&self, source: &VaultPath, text: &str) -> bool {
        match FileKind::of(source) {
            FileKind::Other => false,
            FileKind::Canvas => true,
            FileKind::Note => self.moves.moves(source) || self.mentions.may_mention(text),
        }
    }

    /// Returns the new text of a file, which is named by its path before the moves. Returns `None` if nothing
    /// changes.
    pub fn rewrite(&self, source: &VaultPath, text: &str) -> Option<RewrittenFile> {
        let source_after = self.moves.after(source)?;
        let kind = FileKind::of(source);
        let links = scan(kind, text);
        let respell =
            LinkFormatter { before: self.before, after: &self.after, source_before: source, source_after };
        let files: Vec<Option<(&VaultPath, &VaultPath)>> = links
            .iter()
            .map(|link| {
                let old = self.before.resolve(source, link)?;
                let new = self.moves.after(old)?;
                let stays = old == new && source == source_after;
                (!(stays && self.is_captured(source, link))).then_some((old, new))
            })
            .collect();
        let due: Vec<LinkChange<'_>> = links
            .iter()
            .zip(&files)
            .filter_map(|(link, files)| {
                let (old, new) = (*files)?;
                let right = respell.is_still_valid(link, old, new);
                (!right).then(|| LinkChange {
                    link,
                    old,
                    new,
                    targets: respell.candidate_targets(link, old, new),
                })
            })
            .collect();
        let wanted: Vec<Option<&VaultPath>> = files.iter().map(|files| files.map(|(_, new)| new)).collect();
        [RewriteScope::Whole, RewriteScope::PathOnly]
            .into_iter()
            .map(|reach| rewrite_links(text, &due, reach))
            .find(|attempt| self.is_verified(kind, source_after, attempt, &links, &wanted))
            // The rewritten text would contain other links than intended, so the file stays unchanged.
            .unwrap_or_else(|| RewrittenFile {
                text: text.to_owned(),
                edits: Vec::new(),
                links: 0,
                stale_links: due.iter().map(stale_link).collect(),
            })
            .into_change()
    }

    /// Whether a link leads to a file that is created together with the moves. Its author may have meant that file, so
    /// the link stays as it is.
    fn is_captured(&self, source: &VaultPath, link: &NoteLink) -> bool {
        let added = self.moves.added();
        !added.is_empty() && self.after.resolve(source, link).is_some_and(|file| added.contains(file))
    }

    /// Whether the links of the new text resolve to the intended files.
    fn is_verified(
        &self,
        kind: FileKind,
        source: &VaultPath,
        attempt: &RewrittenFile,
        links: &[NoteLink],
        wanted: &[Option<&VaultPath>],
    ) -> bool {
        if attempt.links == 0 {
            return true;
        }
        let written = scan(kind, &attempt.text);
        let left: HashSet<(u32, &str)> =
            attempt.stale_links.iter().map(|left| (left.line, left.target.as_str())).collect();
        written.len() == links.len()
            && links.iter().zip(&written).zip(wanted).all(|((link, written), wanted)| {
                wanted.is_none_or(|wanted| {
                    self.after.resolve(source, written) == Some(wanted)
                        || left.contains(&(link.line, link.target.as_str()))
                })
            })
    }
}

impl RewrittenFile {
    fn into_change(self) -> Option<RewrittenFile> {
        (self.links > 0 || !self.stale_links.is_empty()).then_some(self)
    }
}

fn stale_link(due: &LinkChange<'_>) -> StaleLink {
    StaleLink { line: due.link.line, target: due.link.target.clone(), file: due.new.clone() }
}

/// Returns the text with every link rewritten that can be.
fn rewrite_links(text: &str, due: &[LinkChange<'_>], reach: RewriteScope) -> RewrittenFile {
    let mut edits = Vec::new();
    let mut links = 0;
    let mut left = Vec::new();
    for link in due {
        match link_edits(text, link, reach) {
            Some(mut changes) => {
                changes.retain(|edit| text[edit.span.clone()] != edit.text);
                links += usize::from(!changes.is_empty());
                edits.append(&mut changes);
            }
            None => left.push(stale_link(link)),
        }
    }
    let edits = without_overlap(edits);
    RewrittenFile { text: apply_edits(text, &edits), edits, links, stale_links: left }
}

/// Returns the edits in order. Nested links can edit the same bytes; the first edit wins, and the verification checks the
/// result.
fn without_overlap(mut edits: Vec<LinkEdit>) -> Vec<LinkEdit> {
    edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let mut at = 0;
    edits.retain(|edit| {
        let is_free = edit.span.start >= at;
        at = if is_free { edit.span.end } else { at };
        is_free
    });
    edits
}

fn apply_edits(text: &str, edits: &[LinkEdit]) -> String {
    let mut written =
        String::with_capacity(text.len() + edits.iter().map(|edit| edit.text.len()).sum::<usize>());
    let mut at = 0;
    for edit in edits {
        written.push_str(&text[at..edit.span.start]);
        written.push_str(&edit.text);
        at = edit.span.end;
    }
    written.push_str(&text[at..]);
    written
}

/// Returns the edits that rewrite one link; `None` if it cannot be rewritten.
fn link_edits(text: &str, due: &LinkChange<'_>, reach: RewriteScope) -> Option<Vec<LinkEdit>> {
    let written = &due.link.written;
    let edit = |text: &str| LinkEdit { span: written.path.clone(), text: written.quoting.encode(text) };
    match &written.form {
        LinkSyntax::Path => Some(vec![edit(&linked_path(due.new))]),
        LinkSyntax::Destination { raw, angle, tail } => {
            let path = escaped(due.targets.first()?, raw, *angle);
            let mut edits = vec![edit(&format!("{path}{tail}"))];
            if reach == RewriteScope::Whole {
                edits.extend(display_edit(due));
            }
            Some(edits)
        }
        LinkSyntax::Wiki => {
            match due.targets.iter().find(|target| !target.contains(['[', ']', '|', '#', '^'])) {
                Some(target) if written.quoting == QuoteFormat::YamlBare && !is_plain_in_flow(target) => {
                    quoted_edits(text, due.link, edit(target))
                }
                Some(target) => Some(vec![edit(target)]),
                None if reach == RewriteScope::Whole && written.quoting != QuoteFormat::YamlBare => {
                    markdown_edits(text, due)
                }
                None => None,
            }
        }
    }
}

/// Returns the edit of a Markdown link's text, if the text repeats the name of the file.
fn display_edit(due: &LinkChange<'_>) -> Option<LinkEdit> {
    let (old, new) = (linked_path(due.old), linked_path(due.new));
    let (old, new) = (last_segment(&old), last_segment(&new));
    let shown = due.link.display.as_deref()?;
    let text = if shown == old {
        new
    } else if shown == stem(old) {
        stem(new)
    } else {
        return None;
    };
    let span = due.link.written.display.clone()?;
    Some(LinkEdit { span, text: due.link.written.quoting.encode(&escape_label(text)) })
}

/// Returns the name in a path of a note's text.
fn last_segment(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Escapes a name as the text of a Markdown link.
fn escape_label(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        if matches!(c, '[' | ']' | '`') {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

/// Rewrites `[[a#h|alias]]` as `[alias](a.md#h)`.
fn markdown_edits(text: &str, due: &LinkChange<'_>) -> Option<Vec<LinkEdit>> {
    let NoteLink { span, written, fragment, .. } = due.link;
    let mut target = due.targets.first()?.clone();
    // Other Markdown readers need the extension.
    if due.new.as_str().ends_with(".md") && !target.ends_with(".md") {
        target.push_str(".md");
    }
    let mut destination = escaped(&target, "", false);
    if let Some(fragment) = fragment {
        destination.push('#');
        destination.push_str(&escaped_fragment(fragment, false));
    }
    let start = span.start + usize::from(text[span.clone()].starts_with('!'));
    let end = written.quoting.encode(&format!("]({destination})"));
    match &written.display {
        Some(display) => Some(vec![
            LinkEdit { span: start..display.start, text: "[".to_owned() },
            LinkEdit { span: display.end..span.end, text: end },
        ]),
        None => {
            let path = linked_path(due.new);
            let shown = written.quoting.encode(&escape_label(stem(last_segment(&path))));
            Some(vec![LinkEdit { span: start..span.end, text: format!("[{shown}{end}") }])
        }
    }
}

/// Whether `[[…]]` with this name is valid YAML without quotes.
fn is_plain_in_flow(target: &str) -> bool {
    !target.starts_with(['!', '&', '*', '?', '%', '@', '`', '\'', '-', ',']) && !target.contains(['{', '}'])
}

/// Adds quotes around a bare link in frontmatter.
fn quoted_edits(text: &str, link: &NoteLink, path: LinkEdit) -> Option<Vec<LinkEdit>> {
    let span = link.span.clone();
    if text[span.clone()].contains(['"', '\\']) {
        return None;
    }
    let quote = |at: usize| LinkEdit { span: at..at, text: "\"".to_owned() };
    Some(vec![quote(span.start), path, quote(span.end)])
}
