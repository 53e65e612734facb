//! The same event again, with other words.
//!
//! The deltas of an answer differ in their words and their number, and in nothing else. So what was read once is kept,
//! with holes where those stand, and the next event is compared instead of read: where all around the holes is the same to
//! the byte, it says the same. What fits into a hole ends where every reader would end it, so it cannot change what is
//! around it; anything else is left to a reader.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use memchr::{memchr, memchr2};

use super::delta::unescaped;

/// A longer event says more than a delta does, and is not kept for every stream.
const LONGEST: usize = 512;
/// Two fields that clients never see, and the words.
const MOST_HOLES: usize = 3;

/// Fields that differ from one delta to the next, and what their values look like.
static VARYING: LazyLock<[(Finder<'static>, Hole); MOST_HOLES]> = LazyLock::new(|| {
    [
        (Finder::new(b"\"delta\":\""), Hole::Words),
        (Finder::new(b"\"sequence_number\":"), Hole::Number),
        (Finder::new(b"\"obfuscation\":\""), Hole::Padding),
    ]
});

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hole {
    /// What the model said.
    Words,
    /// A text that nobody reads.
    Padding,
    /// Digits that nobody reads.
    Number,
}

/// An event with holes.
#[derive(Debug)]
pub(super) struct Refrain {
    event: Box<[u8]>,
    /// What each is, where it begins and where it ends, from the front.
    holes: [(Hole, u16, u16); MOST_HOLES],
    count: usize,
}

impl Refrain {
    /// Keeps an event that a reader found to be a flat object with a `delta`. None if it has no words that could be
    /// other ones.
    pub(super) fn of(event: &[u8]) -> Option<Refrain> {
        if event.len() > LONGEST {
            return None;
        }
        let mut holes = [(Hole::Words, u16::MAX, u16::MAX); MOST_HOLES];
        let mut count = 0;
        for (name, hole) in &*VARYING {
            let mut found = name.find_iter(event);
            let (Some(at), None) = (found.next(), found.next()) else { continue };
            let start = at + name.needle().len();
            let hole = *hole;
            let length = filled(hole, event.get(start..)?)?;
            holes[count] = (hole, u16::try_from(start).ok()?, u16::try_from(start + length).ok()?);
            count += 1;
        }
        let found = &mut holes[..count];
        found.sort_unstable_by_key(|(_, start, _)| *start);
        // So it is in everything that a reader takes for a flat object. To take words for something else must not depend on
        // that alone.
        let apart = found.windows(2).all(|pair| pair[0].2 < pair[1].1);
        let has_words = found.iter().any(|(hole, _, _)| *hole == Hole::Words);
        (apart && has_words).then(|| Refrain { event: event.into(), holes, count })
    }

    /// The words of an event that is the same otherwise.
    pub(super) fn words<'a>(&self, event: &'a [u8]) -> Option<Cow<'a, str>> {
        let (mut kept, mut at, mut words) = (0, 0, None);
        for &(hole, start, end) in &self.holes[..self.count] {
            let same = self.event.get(kept..usize::from(start))?;
            let rest = event.get(at..)?.strip_prefix(same)?;
            let inside = rest.get(..filled(hole, rest)?)?;
            at += same.len() + inside.len();
            if hole == Hole::Words {
                words = Some(inside);
            }
            kept = usize::from(end);
        }
        if event.get(at..)? != self.event.get(kept..)? {
            return None;
        }
        let words = std::str::from_utf8(words?).ok()?;
        Some(if memchr(b'\\', words.as_bytes()).is_some() {
            Cow::Owned(unescaped(words)?)
        } else {
            Cow::Borrowed(words)
        })
    }
}

/// How much of the bytes fills a hole.
fn filled(hole: Hole, bytes: &[u8]) -> Option<usize> {
    match hole {
        Hole::Words => {
            let mut end = memchr2(b'"', b'\\', bytes)?;
            while bytes[end] == b'\\' {
                // What follows belongs to the escape, whatever it means.
                let after = end + 2;
                end = after + memchr2(b'"', b'\\', bytes.get(after..)?)?;
            }
            // No exit: it compiles to wide steps. Whether it is text is seen when it is taken.
            let odd = bytes[..end].iter().fold(false, |odd, byte| odd | (*byte < b' '));
            (!odd).then_some(end)
        }
        Hole::Padding => {
            let end = bytes.iter().position(|byte| !byte.is_ascii_alphanumeric())?;
            (bytes[end] == b'"').then_some(end)
        }
        Hole::Number => {
            let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
            // Longer ones are no number to some readers; a leading zero is none to any.
            let plain = (1..=15).contains(&digits) && (digits == 1 || bytes[0] != b'0');
            plain.then_some(digits)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proptest::prelude::{Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};
    use serde_json::{Value, json};

    use super::Refrain;

    const EVENT: &str =
        r#"{"type":"t","sequence_number":7,"item_id":"i","delta":"a b","logprobs":[],"obfuscation":"Xy"}"#;

    fn words(event: &str) -> Option<String> {
        Refrain::of(EVENT.as_bytes()).unwrap().words(event.as_bytes()).map(Cow::into_owned)
    }

    #[test]
    fn the_same_event_with_other_words_is_known() {
        for delta in
            ["", "c", "a longer one: é {}[],", "\u{7f}", "a\nb", "\\", "\\\"", "\"", "say \"delta\":\"x\"\t"]
        {
            let quoted = json!(delta).to_string();
            let event = EVENT.replace("\"a b\"", &quoted).replace(":7,", ":123,").replace("Xy", "");
            assert_eq!(words(&event).as_deref(), Some(delta), "{event}");
        }
    }

    #[test]
    fn whatever_else_differs_makes_another_event() {
        for event in [
            "",
            "{",
            &EVENT.replace("\"t\"", "\"u\""),
            &EVENT.replace("\"i\"", "\"j\""),
            &EVENT.replace("[]", "[1]"),
            &EVENT.replace(":7,", ":-7,"),
            &EVENT.replace(":7,", ":07,"),
            &EVENT.replace(":7,", ":7.5,"),
            &EVENT.replace(":7,", ":,"),
            &EVENT.replace("a b", "a\\xb"),
            &EVENT.replace("a b", "\\ud800"),
            &EVENT.replace("a b\"", "a b\\\""),
            &EVENT.replace("a b", "a\tb"),
            &EVENT.replace("a b", "a\",\"delta\":\"b"),
            &EVENT.replace("Xy", "X y"),
            &format!("{EVENT} "),
            &EVENT[..EVENT.len() - 1],
        ] {
            assert_eq!(words(event), None, "{event}");
        }
        let (before, after) = EVENT.split_once("a b").unwrap();
        let broken = [before.as_bytes(), b"\xff", after.as_bytes()].concat();
        assert_eq!(Refrain::of(EVENT.as_bytes()).unwrap().words(&broken), None);
    }

    #[test]
    fn what_has_no_words_or_too_many_is_not_kept() {
        for event in [
            r#"{"type":"t"}"#,
            r#"{"delta":"a","sequence_number":"7"}"#,
            &format!(r#"{{"delta":"{}"}}"#, "a".repeat(600)),
        ] {
            assert!(Refrain::of(event.as_bytes()).is_none(), "{event}");
        }
    }

    #[test]
    fn a_text_that_looks_like_the_words_is_not_taken_for_them() {
        let event = r#"{"x":"\"delta\":\"b","delta":"a"}"#;
        let kept = Refrain::of(event.as_bytes()).unwrap();
        assert_eq!(kept.words(event.as_bytes()), Some(Cow::Borrowed("a")));
        assert_eq!(kept.words(event.replace("b\"", "c\"").as_bytes()), None);
    }

    /// An event with fields of which some mislead.
    fn events() -> impl Strategy<Value = (Value, Value)> {
        let text = prop_oneof![
            any::<String>(),
            Just("\"delta\":\"".to_owned()),
            Just("\"sequence_number\":1".to_owned()),
            "[a-zA-Z0-9]{0,9}",
        ];
        let texts = (text.clone(), text.clone(), text.clone(), text);
        (texts, any::<u32>(), any::<u32>()).prop_map(|((one, two, id, padding), first, second)| {
            let event = |words: &str, number: u32| {
                json!({ "type": "t", "sequence_number": number, "id": id, "delta": words, "obfuscation": padding })
            };
            (event(&one, first), event(&two, second))
        })
    }

    proptest! {
        #[test]
        fn what_is_taken_for_the_words_is_the_words((one, two) in events()) {
            if let Some(kept) = Refrain::of(one.to_string().as_bytes())
                && let Some(words) = kept.words(two.to_string().as_bytes())
            {
                prop_assert_eq!(Some(&*words), two["delta"].as_str());
            }
        }

        #[test]
        fn the_words_are_what_the_reader_reads(event in "[{}\\[\\]\":,a-z0-9\\\\ \u{0}-\u{9}]{0,60}", words in "[a-z\"\\\\\u{1}\u{e9},:]{0,9}") {
            let whole = EVENT.replace("a b", &words);
            for event in [&event, &whole] {
                if let Some(found) = Refrain::of(EVENT.as_bytes()).unwrap().words(event.as_bytes()) {
                    let value: Value = serde_json::from_str(event).unwrap();
                    prop_assert_eq!(Some(&*found), value["delta"].as_str());
                }
            }
        }
    }
}
