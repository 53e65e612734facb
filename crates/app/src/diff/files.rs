//! All files that a plan would touch: the first ones with their differences, the others counted.

use serde::Serialize;

use super::body::DiffBody;
use super::compare::compare;
use super::limits::DiffLimits;
use crate::display_text::{count, escape_line};
use crate::text_style::TextStyle;

/// One file before and after. `None`: the file does not exist.
#[derive(Debug, Clone, Copy)]
pub struct FileDiff<'a> {
    pub path: &'a str,
    /// Current path, if the file would be moved.
    pub moved_from: Option<&'a str>,
    pub before: Option<&'a [u8]>,
    pub after: Option<&'a [u8]>,
}

/// Differences of several files, up to the limits.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiffSet {
    files: Vec<FileChange>,
    /// Files that were not compared, because enough was shown.
    files_left_out: usize,
    #[serde(skip)]
    limits: DiffLimits,
    /// Lines on the screen so far.
    #[serde(skip)]
    lines: usize,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct FileChange {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    kind: FileChangeKind,
    #[serde(flatten)]
    body: DiffBody,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum FileChangeKind {
    Created,
    Changed,
    Moved,
    Deleted,
}

impl DiffSet {
    pub fn new(limits: DiffLimits) -> DiffSet {
        DiffSet { files: Vec::new(), files_left_out: 0, limits, lines: 0 }
    }

    /// Returns true if the next file would be shown. If not, its content need not be read.
    pub fn has_room(&self) -> bool {
        self.files.len() < self.limits.files && self.lines < self.limits.lines
    }

    /// Compares a file, or counts it when the limit is reached.
    pub fn add(&mut self, file: &FileDiff<'_>) {
        if !self.has_room() {
            self.leave_out();
            return;
        }
        let body = compare(file.before, file.after, &self.limits);
        let kind = match (file.moved_from, file.before, file.after) {
            (Some(_), _, _) => FileChangeKind::Moved,
            (None, None, Some(_)) => FileChangeKind::Created,
            (None, Some(_), None) => FileChangeKind::Deleted,
            (None, Some(_), Some(_)) | (None, None, None) => FileChangeKind::Changed,
        };
        let from = file.moved_from.map(str::to_owned);
        let change = FileChange { path: file.path.to_owned(), from, kind, body };
        self.lines += change.render(TextStyle::plain()).len();
        self.files.push(change);
    }

    /// Counts a file that is not shown.
    pub fn leave_out(&mut self) {
        self.files_left_out += 1;
    }

    /// Returns the lines for the user.
    pub fn render(&self, style: TextStyle) -> Vec<String> {
        let mut lines: Vec<String> = self.files.iter().flat_map(|file| file.render(style)).collect();
        if self.files_left_out > 0 {
            let more = count(self.files_left_out as u64, "more file");
            lines.push(style.dim(format_args!("… {more}; --full shows all")));
        }
        lines
    }

    /// Returns the same without colours, as one text.
    #[cfg(test)]
    pub fn plain(&self) -> String {
        self.render(TextStyle::plain()).join("\n")
    }
}

impl FileChange {
    fn render(&self, style: TextStyle) -> Vec<String> {
        let path = escape_line(&self.path);
        let head = match (self.kind, &self.from) {
            (FileChangeKind::Created, _) => format!("{} {path}", style.good("created")),
            (FileChangeKind::Changed, _) => format!("{} {path}", style.odd("changed")),
            (FileChangeKind::Deleted, _) => format!("{} {path}", style.bad("deleted")),
            (FileChangeKind::Moved, Some(from)) => {
                format!("{} {} to {path}", style.odd("moved"), escape_line(from))
            }
            (FileChangeKind::Moved, None) => format!("{} {path}", style.odd("moved")),
        };
        let counts = match &self.body {
            DiffBody::Text(text) => format!(" (+{} -{})", text.added_lines, text.removed_lines),
            DiffBody::Same if self.kind == FileChangeKind::Changed => {
                " (the content stays the same)".to_owned()
            }
            DiffBody::Same | DiffBody::Binary(_) | DiffBody::Large(_) => String::new(),
        };
        let aside = |line: String| if line.is_empty() { line } else { format!("  {line}") };
        let body = self.body.render(style).into_iter().map(aside);
        std::iter::once(format!("{head}{counts}")).chain(body).collect()
    }
}
