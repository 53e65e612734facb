//! Detects placeholders and promises that a model wrote instead of content.
//!
//! Only text that can hardly be anything else is an error: a note can say "I will call", and a file can have
//! the name `example.md`.

use serde_json::Value;

use super::template_context::TemplateContext;
use crate::{FindingCode, PlanFinding, json_pointer};

/// Checks every string of a step's arguments.
pub(super) fn check(
    place: &TemplateContext<'_, '_>,
    args: &Value,
    writes: bool,
    findings: &mut Vec<PlanFinding>,
) {
    json_pointer::visit_strings(args, &place.pointer, &mut |pointer, field, text| {
        let finding = placeholder_finding(field, text, pointer).or_else(|| {
            if writes && is_content(field) { promise_finding(field, text, pointer) } else { None }
        });
        findings.extend(finding.map(|finding| finding.in_step(place.label)));
    });
}

/// Whether tools write the field to a file unchanged.
fn is_content(field: &str) -> bool {
    matches!(field, "content" | "text" | "body" | "markdown" | "value")
}

fn placeholder_finding(field: &str, text: &str, pointer: &str) -> Option<PlanFinding> {
    let trimmed = text.trim();
    let message = |what: &str| format!("`{field}` is a placeholder: {what}");
    if is_angle_placeholder(trimmed) || is_stock_path(trimmed) {
        return Some(PlanFinding::error(FindingCode::Placeholder, pointer, message(&quoted(trimmed))).hint(
            "write the real value, or refer to the step that makes it, such as `$steps.<id>.<field>`",
        ));
    }
    let lower = trimmed.to_lowercase();
    let doubt = match lower.as_str() {
        "..." | "…" | "todo" | "tbd" | "fixme" | "placeholder" => Some(quoted(trimmed)),
        "filename.md" | "file.ext" | "filename.ext" | "filename" => Some(quoted(trimmed)),
        _ if lower.starts_with("todo:") && !trimmed.contains('\n') => Some(quoted(trimmed)),
        _ if is_your_placeholder(&lower) => Some(quoted(trimmed)),
        _ => embedded_placeholder(&lower).map(|phrase| format!("it contains `{}`", phrase.trim_end())),
    };
    doubt.map(|what| {
        PlanFinding::warning(FindingCode::Placeholder, pointer, message(&what)).hint(
            "write the real value, or refer to the step that makes it; leave it if it is meant as it is",
        )
    })
}

fn quoted(text: &str) -> String {
    let short: String = text.chars().take(60).collect();
    let dots = if short.len() < text.len() { "…" } else { "" };
    format!("`{short}{dots}`")
}

/// Whether the text is `<content>`, `<your text here>` or the like, but not an HTML tag such as `<br>`.
fn is_angle_placeholder(text: &str) -> bool {
    const TAGS: [&str; 8] = ["br", "hr", "p", "div", "span", "b", "i", "u"];
    let Some(inner) = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) else {
        return false;
    };
    inner.len() <= 80
        && inner.starts_with(|c: char| c.is_ascii_alphabetic())
        && inner.chars().all(|c| c.is_alphanumeric() || " _-.,'/:".contains(c))
        && !inner.contains("://")
        && !TAGS.contains(&inner.trim_end_matches([' ', '/']))
}

/// Whether the whole text is a stock path such as `path/to/file.md`.
fn is_stock_path(text: &str) -> bool {
    let lower = text.to_lowercase();
    !lower.contains(char::is_whitespace) && (lower.starts_with("path/to/") || lower.contains("/path/to/"))
}

/// Whether the text is `your-note.md`, `YOUR_TITLE` or the like.
fn is_your_placeholder(lower: &str) -> bool {
    !lower.contains(char::is_whitespace) && ["your-", "your_"].iter().any(|start| lower.starts_with(start))
}

/// Returns a placeholder phrase inside a longer text.
fn embedded_placeholder(lower: &str) -> Option<&'static str> {
    const PHRASES: [&str; 12] = [
        "lorem ipsum",
        "[insert ",
        "[your ",
        "[add your",
        "[placeholder",
        "[fill in",
        "<your ",
        "<insert ",
        "<placeholder",
        "content goes here",
        "text goes here",
        "your content here",
    ];
    PHRASES.into_iter().find(|phrase| lower.contains(phrase))
}

/// Reports a text that announces content instead of being content.
fn promise_finding(field: &str, text: &str, pointer: &str) -> Option<PlanFinding> {
    /// Real content can start with the same words, but it is longer.
    const LONGEST: usize = 240;
    let trimmed = text.trim();
    if trimmed.len() > LONGEST {
        return None;
    }
    let hint = "write the text itself; if a step makes it, refer to that step's output, such as \
                `$steps.<id>.<field>`";
    let message = format!("`{field}` announces a text instead of being it: {}", quoted(trimmed));
    if is_promise(&trimmed.to_lowercase()) {
        return Some(PlanFinding::error(FindingCode::Promise, pointer, message).hint(hint));
    }
    is_bracketed_note(trimmed)
        .then(|| PlanFinding::warning(FindingCode::Promise, pointer, message).hint(hint))
}

fn is_promise(lower: &str) -> bool {
    const SPEAKERS: [&str; 6] = ["i will ", "i'll ", "i’ll ", "we will ", "we'll ", "the assistant will "];
    const VERBS: [&str; 14] = [
        "write",
        "generate",
        "create",
        "summarize",
        "summarise",
        "add",
        "insert",
        "fill",
        "include",
        "provide",
        "produce",
        "compose",
        "draft",
        "put",
    ];
    const PASSIVE: [&str; 12] = [
        "will be generated",
        "will be filled",
        "will be written",
        "will be added here",
        "will be inserted",
        "will be provided",
        "will be created by",
        "will go here",
        "to be generated",
        "to be filled",
        "to be written",
        "to be determined",
    ];
    let rest = SPEAKERS.iter().find_map(|start| lower.strip_prefix(start));
    if let Some(rest) = rest {
        let rest = rest.strip_prefix("now ").or_else(|| rest.strip_prefix("then ")).unwrap_or(rest);
        let verb = rest.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        return VERBS.contains(&verb);
    }
    const SUBJECTS: [&str; 14] = [
        "content",
        "the content",
        "contents",
        "the contents",
        "text",
        "the text",
        "summary",
        "the summary",
        "a summary",
        "this note",
        "this file",
        "the note",
        "the file",
        "body",
    ];
    let names_itself = SUBJECTS
        .iter()
        .any(|subject| lower.strip_prefix(subject).is_some_and(|rest| rest.starts_with([' ', ':'])));
    let lead = lower.trim_start_matches(['(', '[', '<', '*', '_']);
    let bracketed = lead.len() < lower.len();
    (names_itself || bracketed) && PASSIVE.iter().any(|phrase| lower.contains(phrase))
}

/// Whether the text is `[summary of the note]`, `(content of the file)` or the like: words in brackets that
/// are not a link.
fn is_bracketed_note(text: &str) -> bool {
    let inner = [('[', ']'), ('(', ')')]
        .iter()
        .find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close));
    inner.is_some_and(|inner| {
        let words = inner.split_whitespace().count();
        (2..=20).contains(&words) && inner.chars().all(|c| c.is_alphanumeric() || " ,.'’-_:".contains(c))
    })
}
