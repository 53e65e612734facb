//! Parser of shell text: words, quotes and the separators between simple commands, nothing else.
//!
//! Everything else that a shell would do (expand, redirect, branch, define) is a doubt. After a doubt the parser
//! continues as well as it can, so that a later command can still be forbidden by name. The commands that it lists then
//! are not necessarily the commands that would run.

use std::iter::Peekable;
use std::str::Chars;

use super::display::needs_escape;

/// Result of the parser.
#[derive(Default)]
pub(super) struct ParsedText {
    pub(super) commands: Vec<ParsedCommand>,
    /// The first thing that was not understood.
    pub(super) doubt: Option<String>,
}

/// One simple command of the text.
#[derive(Default)]
pub(super) struct ParsedCommand {
    pub(super) argv: Vec<String>,
    /// It reads the output of the command before it.
    pub(super) piped: bool,
}

/// Reserved words at the beginning of a command.
const KEYWORDS: [&str; 21] = [
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "in",
    "select", "function", "coproc", "!", "[[", "]]", "{", "}",
];

/// Parses a text, up to `most` commands.
pub(super) fn parse_text(text: &str, most: usize) -> ParsedText {
    let mut reader = ShellParser::new(text, most);
    if let Some(odd) = text.chars().find(|c| needs_escape(*c) && !matches!(c, '\n' | '\t')) {
        reader.set_doubt(format!("the character U+{:04X}", u32::from(odd)));
    }
    reader.parse();
    // The contents of an expansion between double quotes run as well.
    for inside in std::mem::take(&mut reader.expansions) {
        let mut inner = ShellParser::new(&inside, most.saturating_sub(reader.reading.commands.len()));
        inner.parse();
        reader.reading.commands.append(&mut inner.reading.commands);
    }
    reader.reading
}

struct ShellParser<'t> {
    rest: Peekable<Chars<'t>>,
    most: usize,
    reading: ParsedText,
    /// The current command.
    command: ParsedCommand,
    word: Option<PartialWord>,
    /// The next word belongs to a redirection, not to the command.
    skips_word: bool,
    /// The command has a redirection, so it is a command even without words.
    redirects: bool,
    /// `&&`, `
    ///
    /// ` or `|` was read, and the command after it has not begun.
    waits: bool,
    /// The contents of double quotes with an expansion.
    expansions: Vec<String>,
}

/// An incomplete word.
#[derive(Default)]
struct PartialWord {
    text: String,
    /// Part of it was quoted, so it is not a reserved word.
    quoted: bool,
}

impl<'t> ShellParser<'t> {
    fn new(text: &'t str, most: usize) -> ShellParser<'t> {
        ShellParser {
            rest: text.chars().peekable(),
            most,
            reading: ParsedText::default(),
            command: ParsedCommand::default(),
            word: None,
            skips_word: false,
            redirects: false,
            waits: false,
            expansions: Vec::new(),
        }
    }

    fn set_doubt(&mut self, why: impl Into<String>) {
        self.reading.doubt.get_or_insert_with(|| why.into());
    }

    fn parse(&mut self) {
        while self.reading.commands.len() < self.most {
            let Some(c) = self.rest.next() else {
                break;
            };
            self.parse_character(c);
        }
        self.end_command();
        if self.waits {
            self.set_doubt("an operator without a command behind it");
        }
    }

    fn parse_character(&mut self, c: char) {
        match c {
            ' ' | '\t' => self.end_word(),
            '\n' => self.end_command(),
            ';' | '&' | '|' | '(' | ')' => self.parse_separator(c),
            '<' | '>' => self.parse_redirection(c),
            '\'' => self.parse_single_quotes(),
            '"' => self.parse_double_quotes(),
            '\\' => self.parse_backslash(),
            '#' if self.word.is_none() => self.skip_comment(),
            '$' | '`' => {
                self.set_doubt(if c == '$' { "an expansion ($)" } else { "a command substitution (`)" });
                // The text after a backtick is a command of its own.
                if c == '`' { self.end_command() } else { self.push(c) }
            }
            '*' | '?' | '[' => {
                self.set_doubt(format!("a pattern ({c}) that the shell would expand"));
                self.push(c);
            }
            '~' => {
                let is_literal = self.word.as_ref().is_some_and(|word| word.text.ends_with(is_name));
                if !is_literal {
                    self.set_doubt("a home folder (~) that the shell would expand");
                }
                self.push(c);
            }
            '{' | '}' => self.parse_brace(c),
            c if needs_escape(c) => self.end_command(),
            c => {
                if !c.is_ascii() && !c.is_alphanumeric() {
                    self.set_doubt(format!("the character U+{:04X} outside of quotes", u32::from(c)));
                }
                self.push(c);
            }
        }
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().text.push(c);
    }

    fn quoted_word(&mut self) -> &mut PartialWord {
        let word = self.word.get_or_insert_default();
        word.quoted = true;
        word
    }

    fn parse_separator(&mut self, c: char) {
        let twice = matches!(c, '&' | '|') && self.rest.next_if_eq(&c).is_some();
        match c {
            '(' | ')' => self.set_doubt("parentheses: a subshell or a function"),
            '&' if !twice => self.set_doubt("a command in the background (&)"),
            ';' if matches!(self.rest.peek(), Some(';' | '&')) => {
                self.set_doubt("a separator without a command");
            }
            _ => {}
        }
        self.end_word();
        if self.command.argv.is_empty() && !self.redirects {
            self.set_doubt("a separator without a command");
        }
        self.end_command();
        self.waits = twice || c == '|';
        self.command.piped = c == '|' && !twice;
    }

    /// `2>&1`, `>/dev/null` and `2>/dev/null` only redirect output. Every other redirection reads or writes a file.
    fn parse_redirection(&mut self, c: char) {
        let is_number = |word: &PartialWord| {
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
        self.set_doubt(if here {
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

    fn parse_single_quotes(&mut self) {
        self.quoted_word();
        loop {
            match self.rest.next() {
                Some('\'') => return,
                Some(c) => self.push(c),
                None => return self.set_doubt("a quote without an end"),
            }
        }
    }

    fn parse_double_quotes(&mut self) {
        let start = self.quoted_word().text.len();
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
                        self.set_doubt("a quote without an end");
                        break;
                    }
                },
                Some(c @ ('$' | '`')) => {
                    self.set_doubt(if c == '$' { "an expansion ($)" } else { "a command substitution (`)" });
                    expands = true;
                    self.push(c);
                }
                Some(c) => self.push(c),
                None => {
                    self.set_doubt("a quote without an end");
                    break;
                }
            }
        }
        if expands && let Some(inside) = self.word.as_ref().and_then(|word| word.text.get(start..)) {
            self.expansions.push(inside.to_owned());
        }
    }

    fn parse_backslash(&mut self) {
        match self.rest.next() {
            // The line continues.
            Some('\n') => {}
            Some(c) => self.quoted_word().text.push(c),
            None => self.set_doubt("a backslash at the end"),
        }
    }

    fn skip_comment(&mut self) {
        while self.rest.next_if(|c| *c != '\n').is_some() {}
    }

    /// A separate `{}` after a command is what `find` replaces; every other brace has a meaning to a shell.
    fn parse_brace(&mut self, c: char) {
        if c == '{' && self.word.is_none() && !self.command.argv.is_empty() && self.take_word("}") {
            self.word = Some(PartialWord { text: "{}".to_owned(), quoted: false });
            return;
        }
        self.set_doubt(format!("a brace ({c})"));
        // A separate brace begins or ends a group of commands.
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
                return self.set_doubt(format!("the shell's own word `{}`", word.text));
            }
            if is_assignment(&word.text) {
                return self.set_doubt("a variable that is set before a command");
            }
        }
        self.waits = false;
        self.command.argv.push(word.text);
    }

    /// Whether the next word would be the name of a program. In some shells that is also the case after `time`.
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

/// Whether a word is `NAME=…`, `NAME+=…` or `NAME[…]=…`, in any quoting.
pub(super) fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else {
        return false;
    };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    name.starts_with(|c: char| is_name(c) && !c.is_ascii_digit()) && name.chars().all(is_name)
}
