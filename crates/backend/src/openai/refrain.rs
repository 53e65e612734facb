//! The same event again, with other words.
//!
//! The deltas of an answer differ in their words and their number, and in nothing else. So what was read once is kept,
//! with holes where those stand, and the next event is compared instead of read: where all around the holes is the same to
//! the byte, it says the same. What fits into a hole ends where every reader would end it, so it cannot change what is
//! around it; anything else is left to a reader.
//!
//! The lines that stand before the data of an event are kept with it, so that an event need not be cut out of what came
//! to be known.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use envelope::json_plain;
use memchr::memchr2;
use memchr::memmem::Finder;

use super::delta::unescaped;

/// A longer event says more than a delta does, and is not kept for every stream.
const LONGEST: usize = 512;
/// Of the lines before its data.
const LONGEST_LEAD: usize = 128;
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

/// What ends an event on the wire.
const END: &[u8] = b"\n\n";

/// An event with holes.
#[derive(Debug)]
pub(super) struct Refrain {
    /// The lines before its data with the name of that field, as far as they are known; the data; the usual end.
    event: Box<[u8]>,
    /// Where in it the data is.
    data: Range<usize>,
    /// What each is, where it begins and where it ends, from the front.
    holes: [(Hole, u16, u16); MOST_HOLES],
    count: usize,
}

impl Refrain {
    /// Keeps an event whose data a reader found to be a flat object with a `delta`, and what stood before the data. None if
    /// it has no words that could be other ones.
    pub(super) fn of(lead: &[u8], data: &[u8]) -> Option<Refrain> {
        if data.len() > LONGEST {
            return None;
        }
        let lead = if lead.len() > LONGEST_LEAD { &[] } else { lead };
        let mut holes = [(Hole::Words, u16::MAX, u16::MAX); MOST_HOLES];
        let mut count = 0;
        for (name, hole) in &*VARYING {
            let Some(at) = name.find(data) else { continue };
            let start = at + name.needle().len();
            let rest = &data[start..];
            if name.find(rest).is_some() {
                continue;
            }
            let (length, _) = filled(*hole, rest)?;
            let start = lead.len() + start;
            holes[count] = (*hole, u16::try_from(start).ok()?, u16::try_from(start + length).ok()?);
            count += 1;
        }
        let found = &mut holes[..count];
        found.sort_unstable_by_key(|(_, start, _)| *start);
        // So it is in everything that a reader takes for a flat object. To take words for something else must not depend on
        // that alone.
        let apart = found.windows(2).all(|pair| pair[0].2 < pair[1].1);
        let has_words = found.iter().any(|(hole, _, _)| *hole == Hole::Words);
        (apart && has_words).then(|| {
            let event = [lead, data, END].concat().into_boxed_slice();
            Refrain { event, data: lead.len()..lead.len() + data.len(), holes, count }
        })
    }

    /// The words of the event that a text begins with, and how long that is, if it is the same otherwise.
    pub(super) fn again<'a>(&self, text: &'a [u8]) -> Option<(Cow<'a, str>, usize)> {
        // Data alone is no event.
        if self.data.start == 0 {
            return None;
        }
        self.compare(text, 0..self.event.len())
    }

    /// Whether less is known of what stands before the data. The first event may have come in pieces.
    pub(super) fn knows_less_than(&self, lead: &[u8]) -> bool {
        self.data.start < lead.len().min(LONGEST_LEAD)
    }

    /// The words of data that are the same otherwise, whatever stood before them.
    pub(super) fn words<'a>(&self, data: &'a [u8]) -> Option<Cow<'a, str>> {
        let (words, length) = self.compare(data, self.data.clone())?;
        (length == data.len()).then_some(words)
    }

    /// Compares the beginning of a text with a part of the event that has all of its holes.
    fn compare<'a>(&self, text: &'a [u8], part: Range<usize>) -> Option<(Cow<'a, str>, usize)> {
        let (mut kept, mut rest, mut words) = (part.start, text, None);
        for &(hole, start, end) in &self.holes[..self.count] {
            rest = rest.strip_prefix(self.event.get(kept..usize::from(start))?)?;
            let (length, escaped) = filled(hole, rest)?;
            let (inside, behind) = rest.split_at_checked(length)?;
            if hole == Hole::Words {
                words = Some((inside, escaped));
            }
            (kept, rest) = (usize::from(end), behind);
        }
        rest = rest.strip_prefix(self.event.get(kept..part.end)?)?;
        let (words, escaped) = words?;
        let words = std::str::from_utf8(words).ok()?;
        let words = if escaped { Cow::Owned(unescaped(words)?) } else { Cow::Borrowed(words) };
        Some((words, text.len() - rest.len()))
    }
}

/// How much of the bytes fills a hole, and whether that has escapes.
fn filled(hole: Hole, bytes: &[u8]) -> Option<(usize, bool)> {
    match hole {
        Hole::Words => {
            let plain = json_plain(bytes);
            if bytes.get(plain) == Some(&b'"') {
                return Some((plain, false));
            }
            let (mut end, mut escaped) = (plain + memchr2(b'"', b'\\', &bytes[plain..])?, false);
            while bytes[end] == b'\\' {
                // What follows belongs to the escape, whatever it means.
                let after = end + 2;
                end = after + memchr2(b'"', b'\\', bytes.get(after..)?)?;
                escaped = true;
            }
            // No exit: it compiles to wide steps. Whether it is text is seen when it is taken.
            let odd = bytes[plain..end].iter().fold(false, |odd, byte| odd | (*byte < b' '));
            (!odd).then_some((end, escaped))
        }
        Hole::Padding => {
            let end = bytes.iter().position(|byte| !byte.is_ascii_alphanumeric())?;
            (bytes[end] == b'"').then_some((end, false))
        }
        Hole::Number => {
            let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
            // Longer ones are no number to some readers; a leading zero is none to any.
            let plain = (1..=15).contains(&digits) && (digits == 1 || bytes[0] != b'0');
            plain.then_some((digits, false))
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

    const LEAD: &[u8] = b"event: t\ndata: ";

    /// The words of data, which are the same where the event is only a part of what came.
    fn words_of(kept: &Refrain, data: &[u8]) -> Option<String> {
        let words = kept.words(data).map(Cow::into_owned);
        let event = [LEAD, data, b"\n\n"].concat();
        let expected = words.clone().map(|words| (Cow::Owned(words), event.len()));
        assert_eq!(kept.again(&event), expected);
        assert_eq!(kept.again(&[&event, LEAD].concat()), expected);
        assert_eq!(kept.again(&event[..event.len() - 1]), None);
        assert_eq!(kept.again(&event[1..]), None);
        words
    }

    fn words(event: &str) -> Option<String> {
        words_of(&Refrain::of(LEAD, EVENT.as_bytes()).unwrap(), event.as_bytes())
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
        assert_eq!(words_of(&Refrain::of(LEAD, EVENT.as_bytes()).unwrap(), &broken), None);
    }

    #[test]
    fn what_has_no_words_or_too_many_is_not_kept() {
        for event in [
            r#"{"type":"t"}"#,
            r#"{"delta":"a","sequence_number":"7"}"#,
            &format!(r#"{{"delta":"{}"}}"#, "a".repeat(600)),
        ] {
            assert!(Refrain::of(LEAD, event.as_bytes()).is_none(), "{event}");
        }
    }

    #[test]
    fn a_text_that_looks_like_the_words_is_not_taken_for_them() {
        let event = r#"{"x":"\"delta\":\"b","delta":"a"}"#;
        let kept = Refrain::of(LEAD, event.as_bytes()).unwrap();
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
            if let Some(kept) = Refrain::of(LEAD, one.to_string().as_bytes())
                && let Some(words) = words_of(&kept, two.to_string().as_bytes())
            {
                prop_assert_eq!(Some(&*words), two["delta"].as_str());
            }
        }

        #[test]
        fn the_words_are_what_the_reader_reads(event in "[{}\\[\\]\":,a-z0-9\\\\ \u{0}-\u{9}]{0,60}", inside in "[a-z\"\\\\\u{1}\u{e9}\u{85}\u{2014},:]{0,19}") {
            let whole = EVENT.replace("a b", &inside);
            for event in [&event, &whole] {
                if let Some(found) = words(event) {
                    let value: Value = serde_json::from_str(event).unwrap();
                    prop_assert_eq!(Some(&*found), value["delta"].as_str());
                }
            }
        }
    }
}
