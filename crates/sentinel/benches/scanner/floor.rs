//! The least that finding calls can cost: both tags by a search for bytes, the body by a parser, nothing else.
//!
//! It is wrong as a scanner: it needs the whole text, ends a block at a tag inside a string, keeps no text.

use std::borrow::Cow;

use memchr::memmem;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Deserialize)]
pub(crate) struct Body<'a, A> {
    #[serde(borrow)]
    pub(crate) name: Cow<'a, str>,
    pub(crate) arguments: A,
}

/// The arguments are only stepped over, to find their end.
pub(crate) fn skipped<'a>(text: &'a str, found: &mut impl FnMut(Body<'a, &'a RawValue>)) {
    calls(text, found);
}

/// The arguments are values, as a caller of tools needs them.
pub(crate) fn parsed<'a>(text: &'a str, found: &mut impl FnMut(Body<'a, Value>)) {
    calls(text, found);
}

fn calls<'a, A: Deserialize<'a>>(text: &'a str, found: &mut impl FnMut(Body<'a, A>)) {
    let (open, close) = (memmem::Finder::new("<tool_call>"), memmem::Finder::new("</tool_call>"));
    let mut rest = text;
    while let Some(at) = open.find(rest.as_bytes()) {
        let body = &rest[at + "<tool_call>".len()..];
        let Some(end) = close.find(body.as_bytes()) else { return };
        if let Ok(body) = serde_json::from_str(&body[..end]) {
            found(body);
        }
        rest = &body[end + "</tool_call>".len()..];
    }
}
