//! A preview in one sentence.

use envelope::EntryKind;
use serde::Serialize;

use super::paths::{PathFate, PathOutlook};
use super::recording::RewrittenLinks;
use crate::display_text::count;

#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ForecastTotals {
    created: ForecastCount,
    changed: ForecastCount,
    moved: ForecastCount,
    trashed: ForecastCount,
    /// Removed permanently.
    removed: ForecastCount,
    /// Links that moves of notes would rewrite, and the number of notes that contain them.
    links: u64,
    linked_notes: u64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
struct ForecastCount {
    notes: u64,
    /// Files other than notes.
    files: u64,
    folders: u64,
}

impl ForecastTotals {
    pub(super) fn of(paths: &[PathOutlook], links: RewrittenLinks) -> ForecastTotals {
        let mut totals =
            ForecastTotals { links: links.links, linked_notes: links.notes, ..ForecastTotals::default() };
        for path in paths {
            let number = match path.fate {
                PathFate::Created => &mut totals.created,
                PathFate::Changed => &mut totals.changed,
                PathFate::Moved => &mut totals.moved,
                PathFate::Trashed => &mut totals.trashed,
                PathFate::Removed => &mut totals.removed,
            };
            match path.kind {
                EntryKind::Folder => number.folders += 1,
                EntryKind::File if path.is_note() => number.notes += 1,
                EntryKind::File => number.files += 1,
            }
        }
        totals
    }

    /// Returns a sentence such as `creates 7 notes and 1 folder, changes 2 notes; 12 links in 9 notes updated`.
    pub(super) fn sentence(&self) -> String {
        let parts: Vec<String> = [
            ("creates", self.created),
            ("changes", self.changed),
            ("moves", self.moved),
            ("trashes", self.trashed),
            ("deletes for good", self.removed),
        ]
        .into_iter()
        .filter_map(|(verb, number)| Some(format!("{verb} {}", number.words()?)))
        .collect();
        let links = match self.links {
            0 => String::new(),
            links => format!("; {} in {} updated", count(links, "link"), count(self.linked_notes, "note")),
        };
        match parts.is_empty() {
            true => format!("changes nothing{links}"),
            false => format!("{}{links}", parts.join(", ")),
        }
    }
}

impl ForecastCount {
    fn words(self) -> Option<String> {
        let parts: Vec<String> = [(self.notes, "note"), (self.files, "file"), (self.folders, "folder")]
            .into_iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, noun)| count(number, noun))
            .collect();
        match parts.split_last()? {
            (last, []) => Some(last.clone()),
            (last, others) => Some(format!("{} and {last}", others.join(", "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use envelope::EntryKind;

    use super::super::paths::{PathFate, PathOutlook};
    use super::super::recording::RewrittenLinks;
    use super::ForecastTotals;

    fn path(path: &str, fate: PathFate, kind: EntryKind) -> PathOutlook {
        PathOutlook { path: path.to_owned(), kind, fate, from: None, before: None, after: None }
    }

    #[test]
    fn the_sentence_counts_what_there_is_and_nothing_else() {
        assert_eq!(ForecastTotals::default().sentence(), "changes nothing");
        let paths = [
            path("a.md", PathFate::Created, EntryKind::File),
            path("b.MD", PathFate::Created, EntryKind::File),
            path("c.png", PathFate::Created, EntryKind::File),
            path("d", PathFate::Created, EntryKind::Folder),
            path("e.md", PathFate::Moved, EntryKind::File),
            path("f.md", PathFate::Trashed, EntryKind::File),
        ];
        assert_eq!(
            ForecastTotals::of(&paths, RewrittenLinks { links: 12, notes: 1 }).sentence(),
            "creates 2 notes, 1 file and 1 folder, moves 1 note, trashes 1 note; 12 links in 1 note updated"
        );
    }
}
