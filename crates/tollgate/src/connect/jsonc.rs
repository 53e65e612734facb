//! Reads JSON with comments and trailing commas, and remembers where everything stands.
//!
//! Made for small edits of other people's files: nothing is normalised, and what cannot be read for sure is refused
//! with its line.

use std::ops::Range;

use serde_json::{Map, Value};

/// Deeper nesting than any settings have.
const MOST_DEPTH: usize = 64;

/// A value and where it stands.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    /// A string, a number, true, false or null.
    Plain(Value),
}

#[derive(Debug)]
pub(super) struct Member {
    pub(super) key: String,
    pub(super) key_at: usize,
    pub(super) value: Node,
}

impl Node {
    pub(super) fn value(&self) -> Value {
        match &self.kind {
            Kind::Plain(value) => value.clone(),
            Kind::Array(items) => Value::Array(items.iter().map(Node::value).collect()),
            Kind::Object(members) => {
                let fields = members.iter().map(|member| (member.key.clone(), member.value.value()));
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }
}

/// Reads the whole text; `None` if nothing but space and comments is in it.
pub(super) fn read(text: &str) -> Result<Option<Node>, String> {
    let mut reader = Reader { text, at: if text.starts_with('\u{feff}') { 3 } else { 0 } };
    reader.skip_space()?;
    if reader.at == text.len() {
        return Ok(None);
    }
    let root = reader.value(0)?;
    reader.skip_space()?;
    if reader.at < text.len() {
        return Err(reader.wrong("nothing may follow"));
    }
    Ok(Some(root))
}

/// Where the last comment in this stretch of space ends. Commas count as space.
pub(super) fn end_of_comments(text: &str, stretch: Range<usize>) -> Option<usize> {
    let mut reader = Reader { text, at: stretch.start };
    let mut end = None;
    while reader.at < stretch.end {
        if reader.peek() == Some(b'/') {
            reader.skip_comment().ok()?;
            end = Some(reader.at);
        } else {
            reader.at += 1;
        }
    }
    end
}

/// Every comment of a text that can be read, in order.
pub(super) fn comments(text: &str) -> Vec<&str> {
    let mut reader = Reader { text, at: 0 };
    let mut comments = Vec::new();
    while let Some(byte) = reader.peek() {
        let start = reader.at;
        match byte {
            b'"' if reader.string().is_ok() => {}
            b'/' if reader.skip_comment().is_ok() => comments.extend(text.get(start..reader.at)),
            _ => reader.at = start + 1,
        }
    }
    comments
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn wrong(&self, what: &str) -> String {
        let before = self.text.get(..self.at).unwrap_or(self.text);
        format!("line {}: {what}", 1 + before.matches('\n').count())
    }

    fn skip_space(&mut self) -> Result<(), String> {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                b'/' => self.skip_comment()?,
                _ => break,
            }
        }
        Ok(())
    }

    /// The line break after a `//` is not part of it.
    fn skip_comment(&mut self) -> Result<(), String> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length = if rest.starts_with("//") {
            rest.find('\n').map_or(rest.len(), |end| if rest[..end].ends_with('\r') { end - 1 } else { end })
        } else if rest.starts_with("/*") {
            rest.find("*/").map(|end| end + 2).ok_or_else(|| self.wrong("a comment has no end"))?
        } else {
            return Err(self.wrong("a `/` that begins no comment"));
        };
        self.at += length;
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<Node, String> {
        if depth > MOST_DEPTH {
            return Err(self.wrong("too deeply nested"));
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => Kind::Object(self.object(depth)?),
            Some(b'[') => Kind::Array(self.array(depth)?),
            Some(b'"') => Kind::Plain(Value::String(self.string()?)),
            Some(_) => Kind::Plain(self.word()?),
            None => return Err(self.wrong("a value is missing")),
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn object(&mut self, depth: usize) -> Result<Vec<Member>, String> {
        let mut members: Vec<Member> = Vec::new();
        self.at += 1;
        loop {
            self.skip_space()?;
            match self.peek() {
                Some(b'}') => {
                    self.at += 1;
                    return Ok(members);
                }
                Some(b'"') => {}
                _ => return Err(self.wrong("a key in quotes or `}` is missing")),
            }
            let key_at = self.at;
            let key = self.string()?;
            if members.iter().any(|member| member.key == key) {
                return Err(self.wrong(&format!("`{key}` stands there twice")));
            }
            self.skip_space()?;
            if self.peek() != Some(b':') {
                return Err(self.wrong("a `:` is missing"));
            }
            self.at += 1;
            self.skip_space()?;
            let value = self.value(depth + 1)?;
            members.push(Member { key, key_at, value });
            self.comma_or(b'}')?;
        }
    }

    fn array(&mut self, depth: usize) -> Result<Vec<Node>, String> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.skip_space()?;
            if self.peek() == Some(b']') {
                self.at += 1;
                return Ok(items);
            }
            items.push(self.value(depth + 1)?);
            self.comma_or(b']')?;
        }
    }

    /// Goes past a comma, or up to the end of the list.
    fn comma_or(&mut self, end: u8) -> Result<(), String> {
        self.skip_space()?;
        match self.peek() {
            Some(b',') => self.at += 1,
            Some(byte) if byte == end => {}
            _ => return Err(self.wrong(&format!("a `,` or `{}` is missing", char::from(end)))),
        }
        Ok(())
    }

    fn string(&mut self) -> Result<String, String> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut at = start + 1;
        loop {
            match bytes.get(at) {
                Some(b'\\') => at += 2,
                Some(b'"') => break,
                Some(b'\n') | None => return Err(self.wrong("a string has no end")),
                Some(_) => at += 1,
            }
        }
        self.at = at + 1;
        let written = self.text.get(start..self.at).unwrap_or_default();
        serde_json::from_str(written).map_err(|_bad| self.wrong("a string is not as JSON has it"))
    }

    fn word(&mut self) -> Result<Value, String> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let ends = |c: char| c.is_whitespace() || matches!(c, ',' | '}' | ']' | '/' | ':' | '{' | '[' | '"');
        let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
        let value = serde_json::from_str(word).map_err(|_bad| self.wrong("this is no value"))?;
        self.at += word.len();
        Ok(value)
    }
}
