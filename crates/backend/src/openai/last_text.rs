//! The instructions of the last turn as they were sent.
//!
//! All tools are in them, so they are long, and from one turn of a conversation to the next they seldom change.
//! Whether a text is the same is seen many times faster than what it looks like as JSON.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use super::json::Json;

/// A longer text is not kept.
const LONGEST: usize = 256 * 1024;

#[derive(Default)]
pub(super) struct LastText(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    text: String,
    /// The same as JSON.
    written: Vec<u8>,
}

impl LastText {
    /// Appends a text to what is written, as [`Json::text`] does.
    pub(super) fn write(&self, text: &str, json: &mut Json) {
        let free = if text.len() > LONGEST { None } else { self.free() };
        let Some(mut kept) = free else {
            json.text(text);
            return;
        };
        if !kept.written.is_empty() && kept.text == text {
            json.bytes(&kept.written);
            return;
        }
        // Empty while it changes, so that what is half kept is never taken for the text.
        kept.written.clear();
        text.clone_into(&mut kept.text);
        kept.written.extend_from_slice(json.text_written(text));
    }

    /// Nothing while another turn is being written: nobody waits for that.
    fn free(&self) -> Option<MutexGuard<'_, Kept>> {
        match self.0.try_lock() {
            Ok(kept) => Some(kept),
            Err(TryLockError::Poisoned(kept)) => Some(PoisonError::into_inner(kept)),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop, prop_assert_eq, proptest};

    use super::{Json, LONGEST, LastText};

    fn written(last: &LastText, text: &str) -> Vec<u8> {
        let mut json = Json::with_room(0);
        json.raw("{\"a\":");
        last.write(text, &mut json);
        json.end_with(&serde_json::json!({})).unwrap().to_vec()
    }

    fn expected(text: &str) -> Vec<u8> {
        serde_json::to_vec(&serde_json::json!({ "a": text })).unwrap()
    }

    proptest! {
        #[test]
        fn a_text_is_written_alike_whatever_was_written_before(texts in prop::collection::vec("(a|b|\"|\n){0,3}", 0..12)) {
            let last = LastText::default();
            for text in texts {
                prop_assert_eq!(written(&last, &text), expected(&text));
            }
        }
    }

    #[test]
    fn a_text_that_comes_again_is_not_written_anew() {
        let last = LastText::default();
        written(&last, "a");
        last.0.lock().unwrap().written = b"\"kept\"".to_vec();
        assert_eq!(written(&last, "a"), br#"{"a":"kept"}"#);
        assert_eq!(written(&last, "b"), br#"{"a":"b"}"#);
        assert_eq!(written(&last, "a"), br#"{"a":"a"}"#);
    }

    #[test]
    fn a_very_long_text_is_written_and_not_kept() {
        let last = LastText::default();
        written(&last, "a");
        let long = "x".repeat(LONGEST + 1);
        assert_eq!(written(&last, &long), expected(&long));
        assert_eq!(last.0.lock().unwrap().text, "a");
    }

    #[test]
    fn who_finds_it_in_use_does_not_wait() {
        let last = LastText::default();
        let _in_use = last.0.lock().unwrap();
        let mut json = Json::with_room(0);
        json.raw("{\"a\":");
        last.write("b", &mut json);
        assert_eq!(json.end_with(&serde_json::json!({})).unwrap(), expected("b"));
    }
}
