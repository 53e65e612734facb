//! Events that tell a text model's listener nothing.
//!
//! Around its deltas a server announces, repeats and closes what it says, and each of those events is longer than many
//! deltas. They are known by their type alone and are not read.

use std::sync::LazyLock;

use memchr::memmem::{self, Finder};

/// How an event begins to say what it is. Inside of a text the quotes would be escaped.
static KIND: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(br#""type":"response."#));

/// Whether an event can be passed over. Not if there is any doubt about its type.
pub(super) fn is_idle_talk(event: &[u8]) -> bool {
    let mut found = KIND.find_iter(event);
    let (Some(at), None) = (found.next(), found.next()) else { return false };
    let kind = &event[at + KIND.needle().len()..];
    let Some(end) = memchr::memchr(b'"', kind) else { return false };
    match &kind[..end] {
        b"created"
        | b"queued"
        | b"in_progress"
        | b"output_item.added"
        | b"content_part.added"
        | b"content_part.done"
        | b"output_text.done"
        | b"reasoning_summary_part.added"
        | b"reasoning_summary_part.done"
        | b"reasoning_summary_text.done"
        | b"reasoning_text.done"
        | b"refusal.done" => true,
        // All but what the service wants back.
        b"output_item.done" => memmem::find(event, b"\"encrypted_content\"").is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_idle_talk;

    #[test]
    fn what_is_announced_repeated_or_closed_is_passed_over() {
        for event in [
            r#"{"type":"response.created","response":{"id":"r","object":"response"}}"#,
            r#"{"item_id":"m","text":"say \"type\":\"response.failed\"","type":"response.output_text.done"}"#,
            r#"{"type":"response.output_item.done","item":{"type":"message"}}"#,
        ] {
            assert!(is_idle_talk(event.as_bytes()), "{event}");
        }
    }

    #[test]
    fn what_matters_or_may_matter_is_read() {
        for event in [
            "",
            "[DONE]",
            r#"{"type":"response.completed"}"#,
            r#"{"type":"response.failed"}"#,
            r#"{"type":"response.output_text.delta","delta":"a"}"#,
            r#"{"type":"response.output_item.done","item":{"type":"reasoning","encrypted_content":"x"}}"#,
            r#"{"type":"response.output_text.delta","delta":"a","x":{"type":"response.created"}}"#,
            r#"{"type": "response.created"}"#,
            r#"{"type":"response.created"#,
            r#"{"type":"error"}"#,
        ] {
            assert!(!is_idle_talk(event.as_bytes()), "{event}");
        }
    }
}
