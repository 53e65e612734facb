//! Writes a tree of JSON as readable text. Each value takes the shortest of its forms: on one line, as a
//! table, or line by line.

use super::parse::Node;
use super::scalar::{Place, needs_escapes, safe, text_at};
use crate::preview::numbers::grouped;

/// How much of each value is shown.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Items of one list, and members of one object.
    pub items: usize,
    /// Characters of one string.
    pub characters: usize,
    /// Levels below the first.
    pub depth: usize,
}

pub(super) struct Rendered {
    pub text: String,
    pub shortened: bool,
}

/// A list or an object on one line is not longer than this.
const ONE_LINE: usize = 90;

/// `None` as soon as the text grows beyond `longest` bytes.
pub(super) fn render(node: &Node<'_>, limits: Limits, longest: usize) -> Option<Rendered> {
    let mut writer = Writer { text: String::new(), limits, shortened: false, longest };
    match node {
        Node::List(items) => writer.list("", items, 0)?,
        Node::Object(members) if members.is_empty() => writer.text.push_str("{}"),
        Node::Object(members) => writer.members(members, 0)?,
        Node::Word(_) | Node::Text(_) => return None,
    }
    let text = writer.text.trim_end_matches('\n').to_owned();
    Some(Rendered { text, shortened: writer.shortened })
}

struct Writer {
    text: String,
    limits: Limits,
    shortened: bool,
    longest: usize,
}

impl Writer {
    fn line(&mut self, indent: usize, text: &str) -> Option<()> {
        self.line_at(2 * indent, text)
    }

    fn line_at(&mut self, column: usize, text: &str) -> Option<()> {
        self.text.extend(std::iter::repeat_n(' ', if text.is_empty() { 0 } else { column }));
        self.text.push_str(text);
        self.text.push('\n');
        (self.text.len() <= self.longest).then_some(())
    }

    fn members(&mut self, members: &[(std::borrow::Cow<'_, str>, Node<'_>)], indent: usize) -> Option<()> {
        let shown = members.len().min(self.limits.items);
        for (name, value) in &members[..shown] {
            let name = text_at(name, Place::Name);
            self.value(&format!("{name}:"), value, indent)?;
        }
        self.left_out(members.len() - shown, "members", 2 * indent)
    }

    /// A value behind its head, which is `name:` or `-`.
    fn value(&mut self, head: &str, value: &Node<'_>, indent: usize) -> Option<()> {
        if let Some(short) = self.one_line(value, Place::Line) {
            return self.line(indent, &format!("{head} {short}"));
        }
        match value {
            Node::Word(word) => self.line(indent, &format!("{head} {word}")),
            Node::Text(text) => self.block(head, text, indent),
            Node::List(items) if self.too_deep(indent) => {
                self.line(indent, &format!("{head} [... {} items]", grouped(items.len() as u64)))
            }
            Node::Object(members) if self.too_deep(indent) => {
                self.line(indent, &format!("{head} {{... {} members}}", grouped(members.len() as u64)))
            }
            Node::List(items) => self.list(head, items, indent),
            Node::Object(members) if head == "-" => self.item(members, indent),
            Node::Object(members) => {
                self.line(indent, head)?;
                self.members(members, indent + 1)
            }
        }
    }

    /// An object in a list: its first line behind the dash, the others below it.
    fn item(&mut self, members: &[(std::borrow::Cow<'_, str>, Node<'_>)], indent: usize) -> Option<()> {
        let start = self.text.len();
        self.members(members, indent + 1)?;
        let dash = start + 2 * indent;
        self.text.replace_range(dash..=dash, "-");
        Some(())
    }

    fn too_deep(&mut self, indent: usize) -> bool {
        let deep = indent >= self.limits.depth;
        self.shortened |= deep;
        deep
    }

    /// A text of several lines, or one that is too long, below its head.
    fn block(&mut self, head: &str, text: &str, indent: usize) -> Option<()> {
        let text = safe(text);
        let (shown, hidden) = cut(&text, self.limits.characters);
        self.shortened |= hidden > 0;
        if !shown.contains('\n') && !needs_escapes(shown, Place::Line) {
            let shown = text_at(shown, Place::Line);
            let rest = if hidden > 0 { more(hidden) } else { String::new() };
            return self.line(indent, &format!("{head} {shown}{rest}"));
        }
        // As in YAML: the dash says that the last line has no end.
        let mark = if shown.ends_with('\n') { "|" } else { "|-" };
        self.line(indent, &format!("{head} {mark}"))?;
        for line in shown.split_terminator('\n') {
            self.line(indent + 1, line)?;
        }
        if hidden > 0 { self.line(indent + 1, &more(hidden)) } else { Some(()) }
    }

    fn list(&mut self, head: &str, items: &[Node<'_>], indent: usize) -> Option<()> {
        if items.iter().all(|item| matches!(item, Node::Word(_) | Node::Text(_)))
            && let Some(parts) = self.parts(&items[..items.len().min(self.limits.items)])
        {
            return self.wrapped(head, &parts, items.len() - parts.len(), indent);
        }
        if let Some(names) = table_columns(items) {
            return self.table(head, &names, items, indent);
        }
        let below = if head.is_empty() { indent } else { indent + 1 };
        if !head.is_empty() {
            self.line(indent, head)?;
        }
        let shown = items.len().min(self.limits.items);
        self.items(&items[..shown], below)?;
        self.left_out(items.len() - shown, "items", 2 * below)
    }

    /// Item by item. Those that are alike and follow each other are a table, which has no dash: it is not one item.
    fn items(&mut self, items: &[Node<'_>], indent: usize) -> Option<()> {
        let mut rest = items;
        while let Some((first, others)) = rest.split_first() {
            let (names, rows) = rows_alike(rest);
            if rows < ROWS_IN_A_LIST {
                self.value("-", first, indent)?;
                rest = others;
            } else {
                self.table("", &names, &rest[..rows], indent)?;
                rest = &rest[rows..];
            }
        }
        Some(())
    }

    /// The items as they stand between commas, if each of them can.
    fn parts(&self, items: &[Node<'_>]) -> Option<Vec<String>> {
        items.iter().map(|item| self.one_line(item, Place::Between)).collect()
    }

    /// Items side by side, on as many lines as it takes.
    fn wrapped(&mut self, head: &str, parts: &[String], hidden: usize, indent: usize) -> Option<()> {
        let mut row = format!("{head} [").trim_start().to_owned();
        let mut indent_now = indent;
        for (at, part) in parts.iter().enumerate() {
            if row.len() + part.len() > ONE_LINE && at > 0 {
                self.line(indent_now, row.trim_end())?;
                row.clear();
                indent_now = indent + 1;
            }
            row.push_str(part);
            if at + 1 < parts.len() || hidden > 0 {
                row.push_str(", ");
            }
        }
        if hidden > 0 {
            self.shortened = true;
            row.push_str(&format!("... {} more items", grouped(hidden as u64)));
        }
        row.push(']');
        self.line(indent_now, &row)
    }

    fn table(&mut self, head: &str, names: &[&str], items: &[Node<'_>], indent: usize) -> Option<()> {
        let columns: Vec<_> = names.iter().map(|name| text_at(name, Place::Name)).collect();
        let head = head.trim_end_matches(':');
        let dash = if head == "-" { " " } else { "" };
        self.line(indent, &format!("{head}{dash}[{}]{{{}}}:", items.len(), columns.join(",")))?;
        let shown = items.len().min(self.limits.items);
        // One blank, not two: a blank before a word is a part of it, and there are many rows.
        let column = 2 * indent + 1;
        for item in &items[..shown] {
            let Node::Object(members) = item else { continue };
            let mut row = String::new();
            for (column, name) in names.iter().enumerate() {
                if column > 0 {
                    row.push(',');
                }
                if let Some((_, value)) = members.iter().find(|(member, _)| member == name) {
                    row.push_str(&self.cell(value));
                }
            }
            self.line_at(column, &row)?;
        }
        self.left_out(items.len() - shown, "rows", column)
    }

    fn cell(&mut self, value: &Node<'_>) -> String {
        match value {
            Node::Word(word) => (*word).to_owned(),
            Node::Text(text) => {
                let text = safe(text);
                let (shown, hidden) = cut(&text, self.limits.characters);
                self.shortened |= hidden > 0;
                let rest = if hidden > 0 { more(hidden) } else { String::new() };
                format!("{}{rest}", text_at(shown, Place::Cell))
            }
            Node::List(_) => "[]".to_owned(),
            Node::Object(_) => "{}".to_owned(),
        }
    }

    fn left_out(&mut self, count: usize, what: &str, column: usize) -> Option<()> {
        if count == 0 {
            return Some(());
        }
        self.shortened = true;
        self.line_at(column, &format!("[... {} more {what}]", grouped(count as u64)))
    }

    /// The value on one line, if it is whole and short there.
    fn one_line(&self, value: &Node<'_>, place: Place) -> Option<String> {
        let text = match value {
            Node::Word(word) => (*word).to_owned(),
            Node::Text(text) if cut(text, self.limits.characters).1 > 0 || text.contains('\n') => {
                return None;
            }
            Node::Text(text) if needs_escapes(text, place) => return None,
            Node::Text(text) if place == Place::Between && text.len() > ONE_LINE => return None,
            // Alone on its line a text may be as long as it is.
            Node::Text(text) if place == Place::Line => return Some(text_at(text, place).into_owned()),
            Node::Text(text) => text_at(text, place).into_owned(),
            Node::List(items) => {
                // Each item takes at least two characters, so more of them cannot be short.
                if items.len() > self.limits.items.min(ONE_LINE) {
                    return None;
                }
                format!("[{}]", self.parts(items)?.join(", "))
            }
            Node::Object(members) => {
                if members.len() > self.limits.items.min(ONE_LINE) {
                    return None;
                }
                let parts: Option<Vec<_>> = members
                    .iter()
                    .map(|(name, value)| {
                        let value = self.one_line(value, Place::Between)?;
                        Some(format!("{}: {value}", text_at(name, Place::Name)))
                    })
                    .collect();
                format!("{{{}}}", parts?.join(", "))
            }
        };
        (text.len() <= ONE_LINE).then_some(text)
    }
}

/// The names of the columns, if all items are objects of the same names with values that fit into a cell.
fn table_columns<'a>(items: &'a [Node<'_>]) -> Option<Vec<&'a str>> {
    let (names, rows) = rows_alike(items);
    (rows == items.len() && rows >= 2).then_some(names)
}

/// How many of the first items can be rows of one table, and the names of its columns.
fn rows_alike<'a>(items: &'a [Node<'_>]) -> (Vec<&'a str>, usize) {
    let none = (Vec::new(), 0);
    let Some(Node::Object(first)) = items.first() else { return none };
    if first.is_empty() || first.len() > MOST_COLUMNS {
        return none;
    }
    let names: Vec<&str> = first.iter().map(|(name, _)| name.as_ref()).collect();
    if names.iter().enumerate().any(|(at, name)| names[..at].contains(name)) {
        return none;
    }
    let is_row = |item: &&Node<'_>| match item {
        Node::Object(members) => {
            members.len() == names.len()
                && members.iter().all(|(_, value)| fits_cell(value))
                && names.iter().all(|column| members.iter().any(|(name, _)| name == column))
        }
        Node::Word(_) | Node::Text(_) | Node::List(_) => false,
    };
    let rows = items.iter().take_while(is_row).count();
    (names, rows)
}

/// So many items of a list have to be alike before they are a table among others.
const ROWS_IN_A_LIST: usize = 4;
/// Rows of more columns are hard to follow.
const MOST_COLUMNS: usize = 24;

fn fits_cell(value: &Node<'_>) -> bool {
    match value {
        Node::Word(_) => true,
        Node::Text(text) => !text.contains('\n') && !needs_escapes(text, Place::Cell),
        Node::List(items) => items.is_empty(),
        Node::Object(members) => members.is_empty(),
    }
}

/// The first characters of `text`, and how many more it has. A few more are shown rather than counted, because
/// the count is not shorter.
fn cut(text: &str, characters: usize) -> (&str, usize) {
    const A_FEW: usize = 30;
    match text.char_indices().nth(characters) {
        Some((at, _)) if text[at..].chars().nth(A_FEW).is_some() => (&text[..at], text[at..].chars().count()),
        Some(_) | None => (text, 0),
    }
}

fn more(characters: usize) -> String {
    format!("...[{} more characters]", grouped(characters as u64))
}
