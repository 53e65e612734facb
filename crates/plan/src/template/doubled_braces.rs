//! The braces of plans that runs of format 1 recorded: `{{` and `}}` mean one brace each, whatever they are around.
//!
//! Only recorded plans are read so, for replaying and resuming their runs.

use super::{NoteKind, Template, TemplatePiece};
use crate::reference::ReferenceParse;
use crate::{Reference, TemplateScope};

/// Limits the search after a lone brace in a long text.
const LONGEST: usize = 1024;

/// Compiles the braces of a string.
pub(super) fn text(raw: &str, scope: &TemplateScope<'_>, note: &mut dyn FnMut(NoteKind)) -> Template {
    let mut pieces = Vec::new();
    let mut plain = String::with_capacity(raw.len());
    let mut open = Vec::new();
    let mut rest = raw;
    while let Some(at) = rest.find(['{', '}']) {
        plain.push_str(&rest[..at]);
        let here = &rest[at..];
        if let Some(after) = here.strip_prefix("{{") {
            plain.push('{');
            open.push(OpenBrace::Doubled);
            rest = after;
        } else if let Some(after) = here.strip_prefix('}') {
            plain.push('}');
            rest = close(&mut open, after);
        } else if let Some((reference, after)) = reference(here, scope, note) {
            if !plain.is_empty() {
                pieces.push(TemplatePiece::Literal(std::mem::take(&mut plain)));
            }
            pieces.push(TemplatePiece::Ref(reference));
            rest = after;
        } else {
            plain.push('{');
            open.push(OpenBrace::Single);
            rest = &here[1..];
        }
    }
    plain.push_str(rest);
    if pieces.is_empty() {
        return Template::Literal(plain.into());
    }
    if !plain.is_empty() {
        pieces.push(TemplatePiece::Literal(plain));
    }
    Template::Text(pieces)
}

/// An opening brace that is text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenBrace {
    Single,
    Doubled,
}

/// Returns what is left after a closing brace: without a second one that belongs to it.
fn close<'t>(open: &mut Vec<OpenBrace>, after: &'t str) -> &'t str {
    let Some(after_second) = after.strip_prefix('}') else {
        if open.last() == Some(&OpenBrace::Single) {
            open.pop();
        }
        return after;
    };
    match open.pop() {
        Some(OpenBrace::Single) => after,
        Some(OpenBrace::Doubled) | None => after_second,
    }
}

/// Reads `{word.path}` at the start of a text; `None` if the brace is only a brace.
fn reference<'t>(
    here: &'t str,
    scope: &TemplateScope<'_>,
    note: &mut dyn FnMut(NoteKind),
) -> Option<(Reference, &'t str)> {
    let inner = here.strip_prefix('{')?;
    let window = inner.as_bytes().get(..LONGEST).unwrap_or(inner.as_bytes());
    let end = window.iter().position(|byte| matches!(byte, b'{' | b'}' | b'\n'))?;
    let after = inner.get(end..)?.strip_prefix('}')?;
    let inner = inner.get(..end)?;
    match Reference::parse(inner, scope) {
        ReferenceParse::Reference(reference) => Some((reference, after)),
        ReferenceParse::Bad(why) => {
            note(NoteKind::BadReference { text: format!("{{{inner}}}"), why });
            None
        }
        ReferenceParse::Unscoped { .. } | ReferenceParse::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::Value;

    use crate::{BraceRule, Template, TemplateScope};

    #[test]
    fn doubled_braces_are_single_ones_around_anything() {
        let scope =
            TemplateScope { item_name: Some("item"), index_name: None, braces: BraceRule::Everywhere };
        let compiled = |text: &str| {
            let template = Template::compile(&Value::from(text), &scope, &mut Vec::new());
            format!("{text} => {template:?}")
        };
        let told = [
            "{{date}} }}x{{",
            "{\"a\":{\"b\":1}}",
            "x^{2^{n}}",
            "a {item.x} {{item.x}} {{{item.x}}}",
            "{other} {",
        ]
        .map(compiled);
        expect![[r#"
            {{date}} }}x{{ => Literal(String("{date} }x{"))
            {"a":{"b":1}} => Literal(String("{\"a\":{\"b\":1}}"))
            x^{2^{n}} => Literal(String("x^{2^{n}}"))
            a {item.x} {{item.x}} {{{item.x}}} => Text([Literal("a "), Ref(Reference { root: Item("item"), path: [Key("x")] }), Literal(" {item.x} {"), Ref(Reference { root: Item("item"), path: [Key("x")] }), Literal("}")])
            {other} { => Literal(String("{other} {"))"#]].assert_eq(&told.join("\n"));
    }
}
