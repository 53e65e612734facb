//! Renders a JSON tree as readable text. Each value takes the shortest of its forms: on one line, as a table, or
//! line by line.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

use super::parse::JsonNode;
use super::scalar::{ScalarPosition, needs_escapes, safe, text_at};
use crate::preview::line_formatter::group_digits;
use crate::preview::outliers::outliers;

/// Items of a longer list are not compared: that would be repeated for each length that is tried.
const MOST_COMPARED: usize = 20_000;

/// Chooses `most` items of a list: the ones that are unlike the others, the first and the last. Returns them as
/// ranges in order.
fn choose_items(items: &[JsonNode<'_>], most: usize) -> Vec<Range<usize>> {
    if items.len() <= most {
        return std::iter::once(0..items.len()).collect();
    }
    let rare = match items.len() <= MOST_COMPARED {
        true => {
            let texts: Vec<String> = items.iter().map(comparable_text).collect();
            outliers(&texts.iter().map(String::as_str).collect::<Vec<_>>())
        }
        false => vec![0; items.len()],
    };
    let mut unusual: Vec<usize> = (0..items.len()).filter(|&at| rare[at] > 0).collect();
    unusual.sort_by_key(|&at| (Reverse(rare[at]), at));
    unusual.truncate(most.div_ceil(2));
    let mut chosen: BTreeSet<usize> = unusual.into_iter().collect();
    if chosen.len() + 2 < most {
        chosen.insert(items.len() - 1);
    }
    for at in 0..items.len() {
        if chosen.len() >= most {
            break;
        }
        chosen.insert(at);
    }
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for at in chosen {
        match ranges.last_mut() {
            Some(last) if last.end == at => last.end += 1,
            Some(_) | None => ranges.push(at..at + 1),
        }
    }
    ranges
}

/// Returns the values of an item on one line, without its structure.
fn comparable_text(item: &JsonNode<'_>) -> String {
    let mut text = String::new();
    write_comparable(item, &mut text);
    text
}

fn write_comparable(item: &JsonNode<'_>, text: &mut String) {
    /// Longer items are compared by their beginning.
    const LONGEST: usize = 2_000;
    if text.len() > LONGEST {
        return;
    }
    match item {
        JsonNode::Word(word) => {
            text.push_str(word);
            text.push(',');
        }
        // A text is one field, whatever it contains.
        JsonNode::Text(value) => {
            let one = |c: char| if c.is_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' };
            text.extend(value.chars().take(120).map(one));
            text.push_str(if value.is_empty() { "_," } else { "," });
        }
        JsonNode::List(items) => items.iter().for_each(|item| write_comparable(item, text)),
        JsonNode::Object(members) => members.iter().for_each(|(_, value)| write_comparable(value, text)),
    }
}

/// Limits of a rendered value.
#[derive(Clone, Copy)]
pub(super) struct RenderLimits {
    /// Items of one list, and members of one object.
    pub items: usize,
    /// Characters of one string.
    pub characters: usize,
    /// Nesting depth.
    pub depth: usize,
}

pub(super) struct RenderedJson {
    pub text: String,
    pub shortened: bool,
}

/// Longest list or object on one line.
const ONE_LINE: usize = 90;

/// Returns `None` as soon as the text exceeds `longest` bytes.
pub(super) fn render(node: &JsonNode<'_>, limits: RenderLimits, longest: usize) -> Option<RenderedJson> {
    let mut writer = JsonRenderer { text: String::new(), limits, shortened: false, longest };
    match node {
        JsonNode::List(items) => writer.list("", items, 0)?,
        JsonNode::Object(members) if members.is_empty() => writer.text.push_str("{}"),
        JsonNode::Object(members) => writer.members(members, 0)?,
        JsonNode::Word(_) | JsonNode::Text(_) => return None,
    }
    let text = writer.text.trim_end_matches('\n').to_owned();
    Some(RenderedJson { text, shortened: writer.shortened })
}

struct JsonRenderer {
    text: String,
    limits: RenderLimits,
    shortened: bool,
    longest: usize,
}

impl JsonRenderer {
    fn line(&mut self, indent: usize, text: &str) -> Option<()> {
        self.line_at(2 * indent, text)
    }

    fn line_at(&mut self, column: usize, text: &str) -> Option<()> {
        self.text.extend(std::iter::repeat_n(' ', if text.is_empty() { 0 } else { column }));
        self.text.push_str(text);
        self.text.push('\n');
        (self.text.len() <= self.longest).then_some(())
    }

    fn members(
        &mut self,
        members: &[(std::borrow::Cow<'_, str>, JsonNode<'_>)],
        indent: usize,
    ) -> Option<()> {
        let shown = members.len().min(self.limits.items);
        for (name, value) in &members[..shown] {
            let name = text_at(name, ScalarPosition::Name);
            self.value(&format!("{name}:"), value, indent)?;
        }
        self.left_out(members.len() - shown, "members", 2 * indent)
    }

    /// Writes a value after its head, which is `name:` or `-`.
    fn value(&mut self, head: &str, value: &JsonNode<'_>, indent: usize) -> Option<()> {
        if let Some(short) = self.one_line(value, ScalarPosition::Line) {
            return self.line(indent, &format!("{head} {short}"));
        }
        match value {
            JsonNode::Word(word) => self.line(indent, &format!("{head} {word}")),
            JsonNode::Text(text) => self.block(head, text, indent),
            JsonNode::List(items) if self.too_deep(indent) => {
                self.line(indent, &format!("{head} [... {} items]", group_digits(items.len() as u64)))
            }
            JsonNode::Object(members) if self.too_deep(indent) => {
                self.line(indent, &format!("{head} {{... {} members}}", group_digits(members.len() as u64)))
            }
            JsonNode::List(items) => self.list(head, items, indent),
            JsonNode::Object(members) if head == "-" => self.item(members, indent),
            JsonNode::Object(members) => {
                self.line(indent, head)?;
                self.members(members, indent + 1)
            }
        }
    }

    /// Writes an object in a list: its first line after the dash, the others below it.
    fn item(&mut self, members: &[(std::borrow::Cow<'_, str>, JsonNode<'_>)], indent: usize) -> Option<()> {
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

    /// Writes a text with several lines, or a long one, below its head.
    fn block(&mut self, head: &str, text: &str, indent: usize) -> Option<()> {
        let text = safe(text);
        let (shown, hidden) = cut(&text, self.limits.characters);
        self.shortened |= hidden > 0;
        if !shown.contains('\n') && !needs_escapes(shown, ScalarPosition::Line) {
            let shown = text_at(shown, ScalarPosition::Line);
            let rest = if hidden > 0 { more(hidden) } else { String::new() };
            return self.line(indent, &format!("{head} {shown}{rest}"));
        }
        // As in YAML: the dash means that the last line has no line end.
        let mark = if shown.ends_with('\n') { "|" } else { "|-" };
        self.line(indent, &format!("{head} {mark}"))?;
        for line in shown.split_terminator('\n') {
            self.line(indent + 1, line)?;
        }
        if hidden > 0 { self.line(indent + 1, &more(hidden)) } else { Some(()) }
    }

    fn list(&mut self, head: &str, items: &[JsonNode<'_>], indent: usize) -> Option<()> {
        if items.iter().all(|item| matches!(item, JsonNode::Word(_) | JsonNode::Text(_)))
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
        let mut next = 0;
        for chosen in choose_items(items, self.limits.items) {
            self.left_out(chosen.start - next, "items", 2 * below)?;
            self.items(&items[chosen.clone()], below)?;
            next = chosen.end;
        }
        self.left_out(items.len() - next, "items", 2 * below)
    }

    /// Writes items one by one. Consecutive items of the same shape become a table, without a dash because it is
    /// not one item.
    fn items(&mut self, items: &[JsonNode<'_>], indent: usize) -> Option<()> {
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

    /// Returns the items for a comma-separated list, if each of them fits on one line.
    fn parts(&self, items: &[JsonNode<'_>]) -> Option<Vec<String>> {
        items.iter().map(|item| self.one_line(item, ScalarPosition::Between)).collect()
    }

    /// Writes items side by side, on as many lines as needed.
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
            row.push_str(&format!("... {} more items", group_digits(hidden as u64)));
        }
        row.push(']');
        self.line(indent_now, &row)
    }

    fn table(&mut self, head: &str, names: &[&str], items: &[JsonNode<'_>], indent: usize) -> Option<()> {
        let columns: Vec<_> = names.iter().map(|name| text_at(name, ScalarPosition::Name)).collect();
        let head = head.trim_end_matches(':');
        let dash = if head == "-" { " " } else { "" };
        self.line(indent, &format!("{head}{dash}[{}]{{{}}}:", items.len(), columns.join(",")))?;
        // One space, not two: a space before a word is part of its token, and there are many rows.
        let column = 2 * indent + 1;
        let mut next = 0;
        for at in choose_items(items, self.limits.items).into_iter().flatten() {
            self.left_out(at - next, "rows", column)?;
            next = at + 1;
            let JsonNode::Object(members) = &items[at] else { continue };
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
        self.left_out(items.len() - next, "rows", column)
    }

    fn cell(&mut self, value: &JsonNode<'_>) -> String {
        match value {
            JsonNode::Word(word) => (*word).to_owned(),
            JsonNode::Text(text) => {
                let text = safe(text);
                let (shown, hidden) = cut(&text, self.limits.characters);
                self.shortened |= hidden > 0;
                let rest = if hidden > 0 { more(hidden) } else { String::new() };
                format!("{}{rest}", text_at(shown, ScalarPosition::Cell))
            }
            JsonNode::List(_) => "[]".to_owned(),
            JsonNode::Object(_) => "{}".to_owned(),
        }
    }

    fn left_out(&mut self, count: usize, what: &str, column: usize) -> Option<()> {
        if count == 0 {
            return Some(());
        }
        self.shortened = true;
        self.line_at(column, &format!("[... {} more {what}]", group_digits(count as u64)))
    }

    /// Returns the complete value on one line, if it is short enough.
    fn one_line(&self, value: &JsonNode<'_>, place: ScalarPosition) -> Option<String> {
        let text = match value {
            JsonNode::Word(word) => (*word).to_owned(),
            JsonNode::Text(text) if cut(text, self.limits.characters).1 > 0 || text.contains('\n') => {
                return None;
            }
            JsonNode::Text(text) if needs_escapes(text, place) => return None,
            JsonNode::Text(text) if place == ScalarPosition::Between && text.len() > ONE_LINE => return None,
            // A text alone on its line can have any length.
            JsonNode::Text(text) if place == ScalarPosition::Line => {
                return Some(text_at(text, place).into_owned());
            }
            JsonNode::Text(text) => text_at(text, place).into_owned(),
            JsonNode::List(items) => {
                // Each item takes at least two characters, so a longer list cannot be short.
                if items.len() > self.limits.items.min(ONE_LINE) {
                    return None;
                }
                format!("[{}]", self.parts(items)?.join(", "))
            }
            JsonNode::Object(members) => {
                if members.len() > self.limits.items.min(ONE_LINE) {
                    return None;
                }
                let parts: Option<Vec<_>> = members
                    .iter()
                    .map(|(name, value)| {
                        let value = self.one_line(value, ScalarPosition::Between)?;
                        Some(format!("{}: {value}", text_at(name, ScalarPosition::Name)))
                    })
                    .collect();
                format!("{{{}}}", parts?.join(", "))
            }
        };
        (text.len() <= ONE_LINE).then_some(text)
    }
}

/// Returns the column names, if all items are objects with the same names and values that fit into cells.
fn table_columns<'a>(items: &'a [JsonNode<'_>]) -> Option<Vec<&'a str>> {
    let (names, rows) = rows_alike(items);
    (rows == items.len() && rows >= 2).then_some(names)
}

/// Returns the number of leading items that can be rows of one table, and its column names.
fn rows_alike<'a>(items: &'a [JsonNode<'_>]) -> (Vec<&'a str>, usize) {
    let none = (Vec::new(), 0);
    let Some(JsonNode::Object(first)) = items.first() else { return none };
    if first.is_empty() || first.len() > MOST_COLUMNS {
        return none;
    }
    let names: Vec<&str> = first.iter().map(|(name, _)| name.as_ref()).collect();
    if names.iter().enumerate().any(|(at, name)| names[..at].contains(name)) {
        return none;
    }
    let is_row = |item: &&JsonNode<'_>| match item {
        JsonNode::Object(members) => {
            members.len() == names.len()
                && members.iter().all(|(_, value)| fits_cell(value))
                && names.iter().all(|column| members.iter().any(|(name, _)| name == column))
        }
        JsonNode::Word(_) | JsonNode::Text(_) | JsonNode::List(_) => false,
    };
    let rows = items.iter().take_while(is_row).count();
    (names, rows)
}

/// Number of similar items of a list that become a table.
const ROWS_IN_A_LIST: usize = 4;
/// Largest number of columns of a readable table.
const MOST_COLUMNS: usize = 24;

fn fits_cell(value: &JsonNode<'_>) -> bool {
    match value {
        JsonNode::Word(_) => true,
        JsonNode::Text(text) => !text.contains('\n') && !needs_escapes(text, ScalarPosition::Cell),
        JsonNode::List(items) => items.is_empty(),
        JsonNode::Object(members) => members.is_empty(),
    }
}

/// Splits off the first characters, and counts the rest. A few more characters are shown rather than counted,
/// because the count is not shorter.
fn cut(text: &str, characters: usize) -> (&str, usize) {
    const A_FEW: usize = 30;
    match text.char_indices().nth(characters) {
        Some((at, _)) if text[at..].chars().nth(A_FEW).is_some() => (&text[..at], text[at..].chars().count()),
        Some(_) | None => (text, 0),
    }
}

fn more(characters: usize) -> String {
    format!("...[{} more characters]", group_digits(characters as u64))
}
