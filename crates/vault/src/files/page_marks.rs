//! End of recent listing pages, so that the next page starts there.
//!
//! An offset shifts when files are created or removed between two pages. So the last path of each page is
//! stored with the offset that follows it, and a page with that offset starts after that path: no file that
//! exists all the time is returned twice or skipped. Only the latest pages are stored; any other offset is
//! counted.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use envelope::VaultPath;

/// Stored pages. One client needs one; the others are for clients that page at the same time.
const MAX_MARKS: usize = 64;

#[derive(Default)]
pub(crate) struct PageMarks(Mutex<VecDeque<(PageStart, VaultPath)>>);

/// A listing, with the number of entries before a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageStart {
    pub(super) folder: Option<VaultPath>,
    pub(super) recursive: bool,
    pub(super) extensions: Vec<String>,
    pub(super) offset: u64,
}

impl PageMarks {
    /// Returns the path after which a page starts, if the page before it is stored.
    pub(super) fn find(&self, page: &PageStart) -> Option<VaultPath> {
        let page_marks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        page_marks.iter().rev().find(|(known, _)| known == page).map(|(_, last)| last.clone())
    }

    pub(super) fn remember(&self, page: PageStart, last: VaultPath) {
        let mut page_marks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        page_marks.retain(|(known, _)| *known != page);
        if page_marks.len() >= MAX_MARKS {
            page_marks.pop_front();
        }
        page_marks.push_back((page, last));
    }
}

#[cfg(test)]
mod tests {
    use envelope::VaultPath;

    use super::{MAX_MARKS, PageMarks, PageStart};

    #[test]
    fn the_latest_pages_are_remembered_and_no_more() {
        let page =
            |offset| PageStart { folder: None, recursive: true, extensions: vec!["md".to_owned()], offset };
        let path = |n: u64| VaultPath::parse(&format!("{n}.md")).unwrap();
        let page_marks = PageMarks::default();
        for n in 0..=MAX_MARKS as u64 {
            page_marks.remember(page(n), path(n));
        }
        page_marks.remember(page(7), path(1_000));
        assert_eq!(page_marks.find(&page(0)), None);
        assert_eq!(page_marks.find(&page(7)), Some(path(1_000)));
        assert_eq!(page_marks.find(&page(8)), Some(path(8)));
        assert_eq!(page_marks.find(&PageStart { recursive: false, ..page(8) }), None);
        assert_eq!(page_marks.0.lock().unwrap().len(), MAX_MARKS);
    }
}
