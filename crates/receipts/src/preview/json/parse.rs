//! Parses JSON into a tree that keeps the source: the digits of numbers, the order of names, and duplicate names. A
//! common value type would change the first and drop the last.

use std::borrow::Cow;

/// A value as written.
pub(super) enum JsonNode<'a> {
    /// A number, `true`, `false` or `null`.
    Word(&'a str),
    Text(Cow<'a, str>),
    List(Vec<JsonNode<'a>>),
    Object(Vec<(Cow<'a, str>, JsonNode<'a>)>),
}

/// Deepest nesting that is parsed: no handwritten output is deeper, and the parser recurses.
const DEEPEST: usize = 96;

/// Parses the text as one object or array, or as JSON Lines, which become the items of a list.
pub(super) fn document(text: &str) -> Option<JsonNode<'_>> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    if let Some(node) = whole(text) {
        return Some(node);
    }
    let lines: Option<Vec<JsonNode<'_>>> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| if line.starts_with(['{', '[']) { whole(line) } else { None })
        .collect();
    lines.map(JsonNode::List)
}

fn whole(text: &str) -> Option<JsonNode<'_>> {
    let mut reader = JsonParser { text, at: 0 };
    let node = reader.value(0)?;
    reader.skip_space();
    (reader.at == text.len()).then_some(node)
}

struct JsonParser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> JsonParser<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Skips white space, and then `sign` if it is next.
    fn take(&mut self, sign: u8) -> bool {
        self.skip_space();
        let found = self.peek() == Some(sign);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> Option<JsonNode<'a>> {
        if depth > DEEPEST {
            return None;
        }
        self.skip_space();
        match self.peek()? {
            b'{' => self.object(depth),
            b'[' => self.list(depth),
            b'"' => self.string().map(JsonNode::Text),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<JsonNode<'a>> {
        self.at += 1;
        let mut members = Vec::new();
        if self.take(b'}') {
            return Some(JsonNode::Object(members));
        }
        loop {
            self.skip_space();
            let name = self.string()?;
            if !self.take(b':') {
                return None;
            }
            members.push((name, self.value(depth + 1)?));
            if self.take(b'}') {
                return Some(JsonNode::Object(members));
            }
            if !self.take(b',') {
                return None;
            }
        }
    }

    fn list(&mut self, depth: usize) -> Option<JsonNode<'a>> {
        self.at += 1;
        let mut items = Vec::new();
        if self.take(b']') {
            return Some(JsonNode::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.take(b']') {
                return Some(JsonNode::List(items));
            }
            if !self.take(b',') {
                return None;
            }
        }
    }

    fn string(&mut self) -> Option<Cow<'a, str>> {
        let start = self.at;
        if self.peek() != Some(b'"') {
            return None;
        }
        self.at += 1;
        let mut escaped = false;
        loop {
            let byte = self.peek()?;
            self.at += 1;
            match byte {
                b'"' => break,
                b'\\' => {
                    escaped = true;
                    self.at += 1;
                }
                0..0x20 => return None,
                _ => {}
            }
        }
        if escaped {
            serde_json::from_str::<String>(self.text.get(start..self.at)?).ok().map(Cow::Owned)
        } else {
            self.text.get(start + 1..self.at - 1).map(Cow::Borrowed)
        }
    }

    fn word(&mut self) -> Option<JsonNode<'a>> {
        let start = self.at;
        while self
            .peek()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
        {
            self.at += 1;
        }
        let word = &self.text[start..self.at];
        super::scalar::is_word(word).then_some(JsonNode::Word(word))
    }
}
