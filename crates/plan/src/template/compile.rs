//! Compiles the strings of a plan into templates.
//!
//! One pass from left to right, without backtracking past an opening brace: linear in the length of the text.
//!
//! Braces around anything but a word in scope stay text: JSON (`{"a":{"b":1}}`), formulas (`x^{2^{n}}`) and templates of
//! other programs (`{{date}}`) inside a note are kept unchanged.

use envelope::nearest;
use serde_json::{Map, Value};

use super::braces::{BracedKind, BracedText};
use super::doubled_braces;
use super::{NoteKind, Template, TemplateNote, TemplatePiece};
use crate::reference::ReferenceParse;
use crate::{BraceRule, Reference, TemplateScope, json_pointer};

pub(super) fn value(
    value: &Value,
    scope: &TemplateScope<'_>,
    pointer: &mut String,
    notes: &mut Vec<TemplateNote>,
) -> Template {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Template::Literal(value.clone()),
        Value::String(text) => string(text, scope, pointer, notes),
        Value::Array(items) => list(items, scope, pointer, notes),
        Value::Object(map) => object(map, scope, pointer, notes),
    }
}

fn list(
    items: &[Value],
    scope: &TemplateScope<'_>,
    pointer: &mut String,
    notes: &mut Vec<TemplateNote>,
) -> Template {
    let length = pointer.len();
    let mut compiled = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        json_pointer::push(pointer, &index.to_string());
        compiled.push(value(item, scope, pointer, notes));
        pointer.truncate(length);
    }
    if !compiled.iter().all(|part| matches!(part, Template::Literal(_))) {
        return Template::List(compiled);
    }
    Template::Literal(Value::Array(compiled.into_iter().filter_map(into_literal).collect()))
}

fn object(
    map: &Map<String, Value>,
    scope: &TemplateScope<'_>,
    pointer: &mut String,
    notes: &mut Vec<TemplateNote>,
) -> Template {
    let length = pointer.len();
    let mut compiled = Vec::with_capacity(map.len());
    for (key, entry) in map {
        json_pointer::push(pointer, key);
        if has_reference(key, scope) {
            notes.push(TemplateNote {
                pointer: pointer.clone(),
                kind: NoteKind::ReferenceInKey { key: key.clone() },
            });
        }
        compiled.push((key.clone(), value(entry, scope, pointer, notes)));
        pointer.truncate(length);
    }
    if !compiled.iter().all(|(_, part)| matches!(part, Template::Literal(_))) {
        return Template::Object(compiled);
    }
    let entries = compiled.into_iter().filter_map(|(key, part)| Some((key, into_literal(part)?)));
    Template::Literal(Value::Object(entries.collect()))
}

/// Returns whether a key would contain a reference if keys were templates.
fn has_reference(key: &str, scope: &TemplateScope<'_>) -> bool {
    if !key.starts_with('$') && !key.contains('{') {
        return false;
    }
    match string(key, scope, "", &mut Vec::new()) {
        Template::Whole(_) | Template::Text(_) => true,
        Template::Literal(_) | Template::List(_) | Template::Object(_) => false,
    }
}

/// Returns a part without references as a literal, to be merged into the literal around it. Such parts are
/// already unescaped, which is why the compiled parts are merged and not the original value.
fn into_literal(part: Template) -> Option<Value> {
    match part {
        Template::Literal(value) => Some(value),
        Template::Whole(_) | Template::Text(_) | Template::List(_) | Template::Object(_) => None,
    }
}

fn string(raw: &str, scope: &TemplateScope<'_>, pointer: &str, notes: &mut Vec<TemplateNote>) -> Template {
    let first = notes.len();
    let mut note = |kind| add_note(notes, first, TemplateNote { pointer: pointer.to_owned(), kind });
    let Some(after_dollar) = raw.strip_prefix('$') else {
        return text(raw, scope, &mut note);
    };
    if after_dollar.starts_with('$') {
        return text(after_dollar, scope, &mut note);
    }
    match Reference::parse(after_dollar, scope) {
        ReferenceParse::Reference(reference) => return Template::Whole(reference),
        ReferenceParse::Bad(why) => note(NoteKind::BadReference { text: raw.to_owned(), why }),
        ReferenceParse::Unscoped { word, path } => {
            // `$HOME` alone is ordinary text; with a path after the word it looks intended.
            let near = nearest(word, scope.root_words());
            if !path.is_empty() || near.is_some_and(|near| near.eq_ignore_ascii_case(word)) {
                let nearest = near.map(|near| format!("${near}{path}"));
                note(NoteKind::UnscopedDollar { text: raw.to_owned(), nearest });
            }
        }
        ReferenceParse::Other => {}
    }
    text(raw, scope, &mut note)
}

/// Adds a note. The same note about one string is added only once, and their number is limited. A bad
/// reference is never left out: it decides whether the plan can run.
fn add_note(notes: &mut Vec<TemplateNote>, first: usize, note: TemplateNote) {
    const MANY: usize = 20;
    let of_this_string = &notes[first..];
    let is_error = matches!(note.kind, NoteKind::BadReference { .. });
    let is_known = of_this_string.iter().take(MANY).any(|known| *known == note);
    if !is_known && (is_error || of_this_string.len() < MANY) {
        notes.push(note);
    }
}

/// Compiles the braces of a string.
fn text(raw: &str, scope: &TemplateScope<'_>, note: &mut dyn FnMut(NoteKind)) -> Template {
    match scope.braces {
        BraceRule::AroundScope => {}
        BraceRule::Everywhere => return doubled_braces::text(raw, scope, note),
    }
    let mut pieces = Vec::new();
    let mut plain = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('{') {
        plain.push_str(&rest[..at]);
        let here = &rest[at..];
        let Some(braced) = BracedText::read(here) else {
            let inner = here.trim_start_matches('{');
            note_nested(inner, scope, note);
            plain.push_str(&here[..here.len() - inner.len()]);
            rest = inner;
            continue;
        };
        rest = braced.after;
        match braced.kind(scope) {
            BracedKind::InScope(found) => in_scope(&braced, found, &mut pieces, &mut plain, note),
            kind @ (BracedKind::Unscoped { .. } | BracedKind::Other) => {
                if braced.pairs() == 1 {
                    note_unscoped(&braced, &kind, scope, note);
                }
                push_braced(&braced, &mut plain, braced.opening, braced.closing);
            }
        }
    }
    plain.push_str(rest);
    if pieces.is_empty() {
        return Template::Literal(Value::String(plain));
    }
    if !plain.is_empty() {
        pieces.push(TemplatePiece::Literal(plain));
    }
    Template::Text(pieces)
}

/// Compiles a word in scope: each two pairs of braces are one literal pair, and a pair that is left makes the reference.
fn in_scope(
    braced: &BracedText<'_>,
    found: ReferenceParse<'_>,
    pieces: &mut Vec<TemplatePiece>,
    plain: &mut String,
    note: &mut dyn FnMut(NoteKind),
) {
    let pairs = braced.pairs();
    let (opening, closing) = (braced.opening - pairs, braced.closing - pairs);
    match found {
        ReferenceParse::Reference(reference) if pairs % 2 == 1 => {
            plain.extend(std::iter::repeat_n('{', opening + pairs / 2));
            if !plain.is_empty() {
                pieces.push(TemplatePiece::Literal(std::mem::take(plain)));
            }
            pieces.push(TemplatePiece::Ref(reference));
            plain.extend(std::iter::repeat_n('}', closing + pairs / 2));
        }
        ReferenceParse::Bad(why) if pairs % 2 == 1 => {
            note(NoteKind::BadReference { text: format!("{{{}}}", braced.inner), why });
            push_braced(braced, plain, opening + pairs / 2 + 1, closing + pairs / 2 + 1);
        }
        ReferenceParse::Reference(_)
        | ReferenceParse::Bad(_)
        | ReferenceParse::Unscoped { .. }
        | ReferenceParse::Other => {
            let literal = pairs.div_ceil(2);
            push_braced(braced, plain, opening + literal, closing + literal);
        }
    }
}

fn push_braced(braced: &BracedText<'_>, plain: &mut String, opening: usize, closing: usize) {
    plain.extend(std::iter::repeat_n('{', opening));
    plain.push_str(braced.inner);
    plain.extend(std::iter::repeat_n('}', closing));
}

/// Notes a reference that would have another one in its path, such as `{vars.{item.key}}`. `inner` follows its first brace.
fn note_nested(inner: &str, scope: &TemplateScope<'_>, note: &mut dyn FnMut(NoteKind)) {
    let Some((head, rest)) = inner.split_once('{') else { return };
    let Some(word) = head.strip_suffix('.').or_else(|| head.strip_suffix('[')) else { return };
    let root = word.split(['.', '[']).next().unwrap_or_default();
    if scope.root_words().any(|known| known == root)
        && let Some(nested) = BracedText::read(&inner[head.len()..])
        && let BracedKind::InScope(_) = nested.kind(scope)
    {
        let length = head.len() + 1 + rest.len() - nested.after.len();
        note(NoteKind::NestedReference { text: format!("{{{}", &inner[..length]) });
    }
}

/// Notes a word in single braces that is not in scope. Templates of other programs have doubled braces and need no note.
fn note_unscoped(
    braced: &BracedText<'_>,
    kind: &BracedKind<'_>,
    scope: &TemplateScope<'_>,
    note: &mut dyn FnMut(NoteKind),
) {
    let text = format!("{{{}}}", braced.inner);
    match kind {
        BracedKind::Unscoped { word, path } => {
            let nearest = nearest(word, scope.root_words()).map(|near| format!("{{{near}{path}}}"));
            note(NoteKind::UnscopedBrace { text, nearest });
        }
        BracedKind::InScope(_) | BracedKind::Other => {
            // `{ item.path }` is not a reference, but was most likely meant as one.
            if let ReferenceParse::Reference(meant) = Reference::parse(braced.inner.trim(), scope) {
                note(NoteKind::UnscopedBrace { text, nearest: Some(in_braces(&meant)) });
            }
        }
    }
}

/// Returns the text form of a reference.
pub(super) fn in_braces(reference: &Reference) -> String {
    let spelled = reference.to_string();
    format!("{{{}}}", spelled.trim_start_matches('$'))
}
