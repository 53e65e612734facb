//! Where the pages of a listing ended, so that the next page goes on there.
//!
//! An offset is a count, and counts shift when files come and go between two pages. So the last path of
//! each page is remembered with the offset that follows it, and a page that asks for that offset begins
//! after that path: nothing that was there all the time is shown twice or left out. Only the latest pages
//! are remembered; any other offset is counted out anew.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use envelope::VaultPath;

/// Pages remembered. Whoever pages needs one; this is for several who page at the same time.
const MAX_MARKS: usize = 64;

#[derive(Default)]
pub(crate) struct Marks(Mutex<VecDeque<(PageStart, VaultPath)>>);

/// A listing, and how many of its entries come before a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageStart {
    pub(super) folder: Option<VaultPath>,
    pub(super) recursive: bool,
    pub(super) extensions: Vec<String>,
    pub(super) offset: u64,
}

impl Marks {
    /// The path after which a page begins, if the page before it is remembered.
    pub(super) fn find(&self, page: &PageStart) -> Option<VaultPath> {
        let marks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        marks.iter().rev().find(|(known, _)| known == page).map(|(_, last)| last.clone())
    }

    pub(super) fn remember(&self, page: PageStart, last: VaultPath) {
        let mut marks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        marks.retain(|(known, _)| *known != page);
        if marks.len() >= MAX_MARKS {
            marks.pop_front();
        }
        marks.push_back((page, last));
    }
}

#[cfg(test)]
mod tests {
    use envelope::VaultPath;

    use super::{MAX_MARKS, Marks, PageStart};

    #[test]
    fn the_latest_pages_are_remembered_and_no_more() {
        let page =
            |offset| PageStart { folder: None, recursive: true, extensions: vec!["md".to_owned()], offset };
        let path = |n: u64| VaultPath::parse(&format!("{n}.md")).unwrap();
        let marks = Marks::default();
        for n in 0..=MAX_MARKS as u64 {
            marks.remember(page(n), path(n));
        }
        marks.remember(page(7), path(1_000));
        assert_eq!(marks.find(&page(0)), None);
        assert_eq!(marks.find(&page(7)), Some(path(1_000)));
        assert_eq!(marks.find(&page(8)), Some(path(8)));
        assert_eq!(marks.find(&PageStart { recursive: false, ..page(8) }), None);
        assert_eq!(marks.0.lock().unwrap().len(), MAX_MARKS);
    }
}
