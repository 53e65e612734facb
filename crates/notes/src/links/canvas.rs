//! Finds the strings in a canvas that contain links.
//!
//! A canvas is JSON with keys that other programs add. It is read only for the positions of its strings; a
//! rewrite then replaces parts of strings, and every other byte stays.

use std::ops::Range;

use serde::de::IgnoredAny;

use super::quote_format::QuoteFormat;

/// A string of a node: its byte range, without the quotes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NodeString {
    /// The path of a file in the vault; `subpath` is the heading in it.
    File { span: Range<usize>, subpath: Option<String> },
    /// Markdown text.
    Text { span: Range<usize> },
}

/// Returns the strings of all nodes in order. Returns none for a file that is not JSON.
pub(super) fn node_strings(file: &str) -> Vec<NodeString> {
    let start = file.len() - file.strip_prefix('\u{feff}').unwrap_or(file).len();
    // The parser below relies on well-formed JSON of bounded depth.
    if serde_json::from_str::<IgnoredAny>(&file[start..]).is_err() {
        return Vec::new();
    }
    let mut walk =
        CanvasParser { file, at: start, stack: Vec::new(), node: CanvasNode::default(), found: Vec::new() };
    walk.run();
    walk.found
}

enum JsonLevel {
    /// With the key of the value that comes next.
    Object {
        key: Option<Range<usize>>,
    },
    Array,
}

#[derive(Default)]
struct CanvasNode {
    file: Option<Range<usize>>,
    background: Option<Range<usize>>,
    text: Option<Range<usize>>,
    subpath: Option<Range<usize>>,
}

struct CanvasParser<'a> {
    file: &'a str,
    at: usize,
    stack: Vec<JsonLevel>,
    node: CanvasNode,
    found: Vec<NodeString>,
}

impl CanvasParser<'_> {
    fn run(&mut self) {
        let bytes = self.file.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'{' => {
                    if self.in_nodes() {
                        self.node = CanvasNode::default();
                    }
                    self.stack.push(JsonLevel::Object { key: None });
                }
                b'[' => self.stack.push(JsonLevel::Array),
                b'}' | b']' => {
                    self.stack.pop();
                    if *byte == b'}' && self.in_nodes() {
                        self.end_of_node();
                    }
                }
                b',' => {
                    if let Some(JsonLevel::Object { key }) = self.stack.last_mut() {
                        *key = None;
                    }
                }
                b'"' => {
                    let span = self.string();
                    self.string_at(span);
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Skips a string and returns the byte range between its quotes.
    fn string(&mut self) -> Range<usize> {
        let bytes = self.file.as_bytes();
        let start = self.at + 1;
        let mut end = start;
        while let Some(byte) = bytes.get(end) {
            match byte {
                b'"' => break,
                b'\\' => end += 2,
                _ => end += 1,
            }
        }
        self.at = end + 1;
        start..end
    }

    fn string_at(&mut self, span: Range<usize>) {
        let in_node = self.stack.len() == 3 && self.is_nodes_array();
        let Some(JsonLevel::Object { key }) = self.stack.last_mut() else {
            return;
        };
        let Some(key) = key.clone() else {
            *key = Some(span);
            return;
        };
        if !in_node {
            return;
        }
        match &self.file[key] {
            "file" => self.node.file = Some(span),
            "background" => self.node.background = Some(span),
            "text" => self.node.text = Some(span),
            "subpath" => self.node.subpath = Some(span),
            _ => {}
        }
    }

    /// Whether the current value is an element of the root's `nodes`.
    fn in_nodes(&self) -> bool {
        self.stack.len() == 2 && self.is_nodes_array()
    }

    fn is_nodes_array(&self) -> bool {
        let [JsonLevel::Object { key: Some(key) }, JsonLevel::Array, ..] = self.stack.as_slice() else {
            return false;
        };
        &self.file[key.clone()] == "nodes"
    }

    fn end_of_node(&mut self) {
        let node = std::mem::take(&mut self.node);
        let subpath = node.subpath.and_then(|span| Some(QuoteFormat::Json.decode(self.file, span)?.text));
        let files = node.file.map(|span| NodeString::File { span, subpath });
        let background = node.background.map(|span| NodeString::File { span, subpath: None });
        let text = node.text.map(|span| NodeString::Text { span });
        self.found.extend(files.into_iter().chain(background).chain(text));
    }
}
