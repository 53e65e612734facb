//! All files that a plan would touch: the first ones with their differences, the others counted.

use serde::Serialize;

use super::body::Body;
use super::compare::compare;
use super::limits::Limits;
use crate::screen::Paint;
use crate::visible::{count, one_line};

/// One file as it is and as it would be. None: there is no such file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileDiff<'a> {
    pub(crate) path: &'a str,
    /// Where the file is now, if it would be moved.
    pub(crate) moved_from: Option<&'a str>,
    pub(crate) before: Option<&'a [u8]>,
    pub(crate) after: Option<&'a [u8]>,
}

/// What would change, as far as it is shown.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Changes {
    files: Vec<FileChange>,
    /// Files that were not compared, since enough was shown already.
    files_left_out: usize,
    #[serde(skip)]
    limits: Limits,
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
    kind: Kind,
    #[serde(flatten)]
    body: Body,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum Kind {
    Created,
    Changed,
    Moved,
    Deleted,
}

impl Changes {
    pub(crate) fn new(limits: Limits) -> Changes {
        Changes { files: Vec::new(), files_left_out: 0, limits, lines: 0 }
    }

    /// Whether the next file would be shown. If not, its content need not be read.
    pub(crate) fn has_room(&self) -> bool {
        self.files.len() < self.limits.files && self.lines < self.limits.lines
    }

    /// Compares a file, or counts it when there is no room.
    pub(crate) fn add(&mut self, file: &FileDiff<'_>) {
        if !self.has_room() {
            self.leave_out();
            return;
        }
        let body = compare(file.before, file.after, &self.limits);
        let kind = match (file.moved_from, file.before, file.after) {
            (Some(_), _, _) => Kind::Moved,
            (None, None, Some(_)) => Kind::Created,
            (None, Some(_), None) => Kind::Deleted,
            (None, Some(_), Some(_)) | (None, None, None) => Kind::Changed,
        };
        let from = file.moved_from.map(str::to_owned);
        let change = FileChange { path: file.path.to_owned(), from, kind, body };
        self.lines += change.render(Paint::plain()).len();
        self.files.push(change);
    }

    /// Counts a file that is not shown.
    pub(crate) fn leave_out(&mut self) {
        self.files_left_out += 1;
    }

    /// The lines that a person sees.
    pub(crate) fn render(&self, paint: Paint) -> Vec<String> {
        let mut lines: Vec<String> = self.files.iter().flat_map(|file| file.render(paint)).collect();
        if self.files_left_out > 0 {
            let more = count(self.files_left_out as u64, "more file");
            lines.push(paint.dim(format_args!("… {more}; --full shows all")));
        }
        lines
    }

    /// The same without colours, as one text.
    #[cfg(test)]
    pub(crate) fn plain(&self) -> String {
        self.render(Paint::plain()).join("\n")
    }
}

impl FileChange {
    fn render(&self, paint: Paint) -> Vec<String> {
        let path = one_line(&self.path);
        let head = match (self.kind, &self.from) {
            (Kind::Created, _) => format!("{} {path}", paint.good("created")),
            (Kind::Changed, _) => format!("{} {path}", paint.odd("changed")),
            (Kind::Deleted, _) => format!("{} {path}", paint.bad("deleted")),
            (Kind::Moved, Some(from)) => format!("{} {} to {path}", paint.odd("moved"), one_line(from)),
            (Kind::Moved, None) => format!("{} {path}", paint.odd("moved")),
        };
        let counts = match &self.body {
            Body::Text(text) => format!(" (+{} -{})", text.added_lines, text.removed_lines),
            Body::Same if self.kind == Kind::Changed => " (the content stays the same)".to_owned(),
            Body::Same | Body::Binary(_) | Body::Large(_) => String::new(),
        };
        let aside = |line: String| if line.is_empty() { line } else { format!("  {line}") };
        let body = self.body.render(paint).into_iter().map(aside);
        std::iter::once(format!("{head}{counts}")).chain(body).collect()
    }
}
