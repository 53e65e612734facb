//! Reads the text of a shell: words, quotes and the separators between simple commands, nothing else.
//!
//! Whatever a shell would do beyond that (expand, redirect, branch, define) is a doubt. After a doubt the
//! reading goes on as well as it can, so that a command behind it can still be forbidden by name; nobody may
//! take what is listed then for what is run.

use std::iter::Peekable;
use std::str::Chars;

use super::shown::acts_on_a_screen;

/// What was read.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) commands: Vec<ReadCommand>,
    /// The first thing that was not understood.
    pub(super) doubt: Option<String>,
}

/// One simple command of the text.
#[derive(Default)]
pub(super) struct ReadCommand {
    pub(super) argv: Vec<String>,
    /// It reads what the command before it prints.
    pub(super) piped: bool,
}

/// Words that a shell takes for its own where a command begins.
const KEYWORDS: [&str; 21] = [
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "in",
    "select", "function", "coproc", "!", "[[", "]]", "{", "}",
];

/// Reads no further than `most` commands.
pub(super) fn read(text: &str, most: usize) -> Reading {
    let mut reader = Reader::new(text, most);
    if let Some(odd) = text.chars().find(|c| acts_on_a_screen(*c) && !matches!(c, '\n' | '\t')) {
        reader.doubt(format!("the character U+{:04X}", u32::from(odd)));
    }
    reader.read();
    // What stands in an expansion between double quotes is run as well.
    for inside in std::mem::take(&mut reader.expansions) {
        let mut inner = Reader::new(&inside, most.saturating_sub(reader.reading.commands.len()));
        inner.read();
        reader.reading.commands.append(&mut inner.reading.commands);
    }
    reader.reading
}

struct Reader<'t> {
    rest: Peekable<Chars<'t>>,
    most: usize,
    reading: Reading,
    /// The command that is being read.
    command: ReadCommand,
    word: Option<Partial>,
    /// The next word belongs to a redirection, not to the command.
    skips_word: bool,
    /// The command has a redirection, so it is one even without words.
    redirects: bool,
    /// `&&`, `||` or `|` was read, and the command after it is still to come.
    waits: bool,
    /// The contents of double quotes that hold an expansion.
    expansions: Vec<String>,
}

/// A word that is being read.
#[derive(Default)]
struct Partial {
    text: String,
    /// Some of it was quoted, so it is none of the shell's own words.
    quoted: bool,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str, most: usize) -> Reader<'t> {
        Reader {
            rest: text.chars().peekable(),
            most,
            reading: Reading::default(),
            command: ReadCommand::default(),
            word: None,
            skips_word: false,
            redirects: false,
            waits: false,
            expansions: Vec::new(),
        }
    }

    fn doubt(&mut self, why: impl Into<String>) {
        self.reading.doubt.get_or_insert_with(|| why.into());
    }

    fn read(&mut self) {
        while self.reading.commands.len() < self.most {
            let Some(c) = self.rest.next() else {
                break;
            };
            self.character(c);
        }
        self.end_command();
        if self.waits {
            self.doubt("an operator without a command behind it");
        }
    }

    fn character(&mut self, c: char) {
        match c {
            ' ' | '\t' => self.end_word(),
            '\n' => self.end_command(),
            ';' | '&' | '|' | '(' | ')' => self.separator(c),
            '<' | '>' => self.redirection(c),
            '\'' => self.single_quotes(),
            '"' => self.double_quotes(),
            '\\' => self.backslash(),
            '#' if self.word.is_none() => self.comment(),
            '$' | '`' => {
                self.doubt(if c == '$' { "an expansion ($)" } else { "a command substitution (`)" });
                // What follows a backtick is a command of its own.
                if c == '`' { self.end_command() } else { self.push(c) }
            }
            '*' | '?' | '[' => {
                self.doubt(format!("a pattern ({c}) that the shell would expand"));
                self.push(c);
            }
            '~' => {
                let is_literal = self.word.as_ref().is_some_and(|word| word.text.ends_with(is_name));
                if !is_literal {
                    self.doubt("a home folder (~) that the shell would expand");
                }
                self.push(c);
            }
            '{' | '}' => self.brace(c),
            c if acts_on_a_screen(c) => self.end_command(),
            c => {
                if !c.is_ascii() && !c.is_alphanumeric() {
                    self.doubt(format!("the character U+{:04X} outside of quotes", u32::from(c)));
                }
                self.push(c);
            }
        }
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().text.push(c);
    }

    fn quoted(&mut self) -> &mut Partial {
        let word = self.word.get_or_insert_default();
        word.quoted = true;
        word
    }

    fn separator(&mut self, c: char) {
        let twice = matches!(c, '&' | '|') && self.rest.next_if_eq(&c).is_some();
        match c {
            '(' | ')' => self.doubt("parentheses: a subshell or a function"),
            '&' if !twice => self.doubt("a command in the background (&)"),
            ';' if matches!(self.rest.peek(), Some(';' | '&')) => self.doubt("a separator without a command"),
            _ => {}
        }
        self.end_word();
        if self.command.argv.is_empty() && !self.redirects {
            self.doubt("a separator without a command");
        }
        self.end_command();
        self.waits = twice || c == '|';
        self.command.piped = c == '|' && !twice;
    }

    /// `2>&1`, `>/dev/null` and `2>/dev/null` move output and nothing else. Every other redirection reads or
    /// writes a file.
    fn redirection(&mut self, c: char) {
        let is_number = |word: &Partial| {
            !word.quoted && !word.text.is_empty() && word.text.chars().all(|c| c.is_ascii_digit())
        };
        let number = self.word.take_if(|word| is_number(word)).map_or(String::new(), |word| word.text);
        self.end_word();
        self.redirects = true;
        let harmless = c == '>'
            && match number.as_str() {
                "2" => self.take_word("&1") || self.take_word("/dev/null"),
                "" | "1" => self.take_word("/dev/null"),
                _ => false,
            };
        if harmless {
            return;
        }
        let here = c == '<' && self.rest.peek() == Some(&'<');
        self.doubt(if here {
            "a here-document (<<)".to_owned()
        } else {
            format!("a redirection ({number}{c})")
        });
        while self.rest.next_if(|c| matches!(c, '<' | '>' | '&' | '|' | '-')).is_some() {}
        self.skips_word = true;
    }

    /// Takes exactly this word, if it comes next.
    fn take_word(&mut self, expected: &str) -> bool {
        let mut ahead = self.rest.clone();
        if !expected.starts_with('&') {
            while ahead.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        }
        let is_there = expected.chars().all(|c| ahead.next_if_eq(&c).is_some());
        let ends = ahead.peek().is_none_or(|c| " \t\n;&|<>()".contains(*c));
        if is_there && ends {
            self.rest = ahead;
        }
        is_there && ends
    }

    fn single_quotes(&mut self) {
        self.quoted();
        loop {
            match self.rest.next() {
                Some('\'') => return,
                Some(c) => self.push(c),
                None => return self.doubt("a quote without an end"),
            }
        }
    }

    fn double_quotes(&mut self) {
        let start = self.quoted().text.len();
        let mut expands = false;
        loop {
            match self.rest.next() {
                Some('"') => break,
                Some('\\') => match self.rest.next() {
                    Some('\n') => {}
                    Some(c @ ('$' | '`' | '"' | '\\')) => self.push(c),
                    Some(c) => {
                        self.push('\\');
                        self.push(c);
                    }
                    None => {
                        self.doubt("a quote without an end");
                        break;
                    }
                },
                Some(c @ ('$' | '`')) => {
                    self.doubt(if c == '$' { "an expansion ($)" } else { "a command substitution (`)" });
                    expands = true;
                    self.push(c);
                }
                Some(c) => self.push(c),
                None => {
                    self.doubt("a quote without an end");
                    break;
                }
            }
        }
        if expands && let Some(inside) = self.word.as_ref().and_then(|word| word.text.get(start..)) {
            self.expansions.push(inside.to_owned());
        }
    }

    fn backslash(&mut self) {
        match self.rest.next() {
            // The line goes on.
            Some('\n') => {}
            Some(c) => self.quoted().text.push(c),
            None => self.doubt("a backslash at the end"),
        }
    }

    fn comment(&mut self) {
        while self.rest.next_if(|c| *c != '\n').is_some() {}
    }

    /// `{}` by itself, behind a command, is what `find` replaces; every other brace means something to a shell.
    fn brace(&mut self, c: char) {
        if c == '{' && self.word.is_none() && !self.command.argv.is_empty() && self.take_word("}") {
            self.word = Some(Partial { text: "{}".to_owned(), quoted: false });
            return;
        }
        self.doubt(format!("a brace ({c})"));
        // By itself it begins or ends a group of commands.
        let ends = self.rest.peek().is_none_or(|next| " \t\n;".contains(*next));
        if self.word.is_none() && (ends || self.command.argv.is_empty()) {
            self.end_command();
        } else {
            self.push(c);
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else {
            return;
        };
        if std::mem::take(&mut self.skips_word) {
            return;
        }
        if self.is_at_command() {
            if !word.quoted && KEYWORDS.contains(&word.text.as_str()) {
                return self.doubt(format!("the shell's own word `{}`", word.text));
            }
            if is_assignment(&word.text) {
                return self.doubt("a variable that is set before a command");
            }
        }
        self.waits = false;
        self.command.argv.push(word.text);
    }

    /// Whether the next word would be the name of a program. Behind `time` it is again for some shells.
    fn is_at_command(&self) -> bool {
        match self.command.argv.split_first() {
            None => true,
            Some((first, options)) => first == "time" && options.iter().all(|word| word.starts_with('-')),
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        if self.redirects {
            self.waits = false;
        }
        (self.redirects, self.skips_word) = (false, false);
        if !self.command.argv.is_empty() {
            self.reading.commands.push(std::mem::take(&mut self.command));
        }
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// `NAME=…`, `NAME+=…`, and `NAME[…]=…`, however it was quoted.
pub(super) fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else {
        return false;
    };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    name.starts_with(|c: char| is_name(c) && !c.is_ascii_digit()) && name.chars().all(is_name)
}
