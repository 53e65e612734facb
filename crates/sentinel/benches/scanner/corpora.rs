//! The texts that are measured: made from a seed, so that every run reads the same ones.

use serde_json::{Value, json};

const WORDS: [&str; 24] = [
    "the", "note", "links", "to", "a", "second", "one", "and", "then", "Zürich", "plan", "for", "naïve",
    "東京", "is", "older", "than", "weekly", "review", "🙂", "of", "every", "project", "folder",
];
const ASIDES: [&str; 6] = ["a < b", "<b>bold</b>", "x<y", "i <= 9", "<https://example.com>", "`vec<u8>`"];
const TOOLS: [&str; 4] = ["vault_read", "vault_write", "vault_search", "editor_replace"];

/// How calls are written in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Arguments are an object, the tags are on lines of their own.
    Newline,
    /// Arguments are an object, no white space at all.
    Compact,
    /// Arguments are a string that holds an object.
    Seed,
    /// Without calls.
    Prose,
}

impl Form {
    pub(crate) const ALL: [Form; 4] = [Form::Newline, Form::Compact, Form::Seed, Form::Prose];
}

pub(crate) fn tools() -> impl Iterator<Item = &'static str> {
    TOOLS.into_iter()
}

/// An answer of so many bytes, give or take a sentence; two fifths of it are calls.
pub(crate) fn answer(form: Form, bytes: usize, calls: usize) -> String {
    let mut dice = Dice(7);
    let mut text = String::with_capacity(bytes + 4_000);
    for turn in 1..=calls {
        let until = bytes / calls * turn;
        let (prose, arguments) = match form {
            Form::Prose => (until, 0),
            Form::Newline | Form::Compact | Form::Seed => {
                (until - bytes / calls * 2 / 5, bytes / calls * 2 / 10)
            }
        };
        dice.prose(&mut text, prose);
        if form != Form::Prose {
            let content = dice.sentences(arguments);
            let tool = TOOLS[dice.below(TOOLS.len())];
            call(&mut text, form, tool, &content, dice.below(1_000));
        }
    }
    dice.prose(&mut text, bytes);
    text
}

/// So many calls, each of which writes another note of so many bytes.
pub(crate) fn notes(calls: usize, bytes: usize) -> String {
    let mut dice = Dice(7);
    let mut text = String::new();
    for line in 0..calls {
        text += "I write the note.\n";
        call(&mut text, Form::Newline, "vault_write", &dice.sentences(bytes), line);
    }
    text
}

fn call(text: &mut String, form: Form, tool: &str, content: &str, line: usize) {
    let edits: Vec<Value> = (line..line + 6)
        .map(|line| json!({ "line": line, "column": line % 80, "insert": format!("[[Note {line}]]"), "keep": true }))
        .collect();
    let arguments = json!({ "content": content, "path": "Projects/Plan.md", "edits": edits, "score": 0.75 });
    let object = match form {
        Form::Seed => json!({ "name": tool, "arguments": arguments.to_string() }),
        Form::Newline | Form::Compact | Form::Prose => json!({ "name": tool, "arguments": arguments }),
    };
    *text += &match form {
        Form::Newline => format!("\n<tool_call>\n{}\n</tool_call>\n", spaced(&object)),
        Form::Compact | Form::Seed | Form::Prose => format!("<tool_call>{object}</tool_call>"),
    };
}

/// With a space behind commas and colons, as the templates of many models write it.
fn spaced(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(key, value)| format!("{}: {}", json!(key), spaced(value))).collect();
            format!("{{{}}}", members.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

/// Random numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    fn sentences(&mut self, bytes: usize) -> String {
        let mut text = String::new();
        self.prose(&mut text, bytes);
        text
    }

    /// Adds prose until the text is so long.
    fn prose(&mut self, text: &mut String, until: usize) {
        while text.len() < until {
            match self.below(60) {
                0..=7 => *text += ASIDES[self.below(ASIDES.len())],
                8 => *text += "\"quoted\"",
                _ => *text += WORDS[self.below(WORDS.len())],
            }
            *text += match self.below(40) {
                0 => ".\n\n",
                1 => ",\n",
                2..=4 => ". ",
                _ => " ",
            };
        }
    }
}
