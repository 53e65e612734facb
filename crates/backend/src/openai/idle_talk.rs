//! Events that tell a text model's listener nothing.
//!
//! Around its deltas a server announces, repeats and closes what it says, and each of those events is longer than many
//! deltas. They are known by their type alone and are not read.

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// How an event says what it is. Inside of a text the quotes would be escaped, but for the first one.
static KIND: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(br#""type":"response."#));
/// What the service wants back.
static SEALED: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(br#""encrypted_content""#));

/// Whether an event can be passed over. Not if there is any doubt about whose type it is.
pub(super) fn is_idle_talk(event: &[u8]) -> bool {
    let Some(kind) = kind(event) else { return false };
    match kind {
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
        b"output_item.done" => SEALED.find(event).is_none(),
        _ => false,
    }
}

/// The type of an event, if what says it can be nothing else: it stands first, or nothing but plain fields of the same
/// object come after it. Anywhere else it may be the type of something within the event.
fn kind(event: &[u8]) -> Option<&[u8]> {
    let at = KIND.find(event)?;
    let kind = &event[at + KIND.needle().len()..];
    if KIND.find(kind).is_some() {
        return None;
    }
    let (kind, rest) = kind.split_at(memchr::memchr(b'"', kind)?);
    let is_first = at == 1;
    let is_whole_name = matches!(event[..at].last(), Some(b'{' | b','));
    let is_in_the_last_object = || memchr::memchr2(b'{', b'}', rest) == Some(rest.len() - 1);
    let is_its_own = is_whole_name && (is_first || is_in_the_last_object());
    (event.first() == Some(&b'{') && is_its_own).then_some(kind)
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
            r#"{"part":{"type":"output_text"},"type":"response.content_part.done","sequence_number":7}"#,
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
            r#"{"type": "response.completed","x":{"type":"response.created"}}"#,
            r#"{"type": "response.completed","x":[{"type":"response.created"}],"y":1}"#,
            r#"{"type":"error","message":"overloaded","last_event":{"type":"response.in_progress"}}"#,
            r#"{"type":"error","x":{"type":"response.created","y":{}}}"#,
            r#"["type":"response.created"]"#,
            r#"{"type":"error","x\"type":"response.created"}"#,
            r#"{"type":"response.created"#,
            r#"{"type":"error"}"#,
        ] {
            assert!(!is_idle_talk(event.as_bytes()), "{event}");
        }
    }
}
