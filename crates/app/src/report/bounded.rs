//! A bounded list of a run's items: the first, the last, and the notable ones.

use std::collections::VecDeque;

const KEPT_FIRST: usize = 5;
const KEPT_LAST: usize = 3;
const KEPT_NOTABLE: usize = 50;

/// Keeps the first, the last and the notable items, and counts the rest.
#[derive(Debug)]
pub(super) struct BoundedList<T> {
    whole: bool,
    head: Vec<T>,
    notable: Vec<T>,
    tail: VecDeque<T>,
    left_out: u64,
}

impl<T> BoundedList<T> {
    /// Creates a list; `whole` keeps everything.
    pub(super) fn new(whole: bool) -> BoundedList<T> {
        BoundedList { whole, head: Vec::new(), notable: Vec::new(), tail: VecDeque::new(), left_out: 0 }
    }

    pub(super) fn push(&mut self, item: T, notable: bool) {
        if self.whole || self.head.len() < KEPT_FIRST {
            self.head.push(item);
        } else if notable && self.notable.len() < KEPT_NOTABLE {
            self.notable.push(item);
        } else {
            self.tail.push_back(item);
            if self.tail.len() > KEPT_LAST {
                self.tail.pop_front();
                self.left_out += 1;
            }
        }
    }

    /// Returns the kept items, and the number of the others.
    pub(super) fn end(self) -> (Vec<T>, u64) {
        let kept = self.head.into_iter().chain(self.notable).chain(self.tail).collect();
        (kept, self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::BoundedList;

    #[test]
    fn a_thousand_items_leave_the_ends_and_what_stands_out() {
        let mut list = BoundedList::new(false);
        (0..1000).for_each(|n| list.push(n, n == 500));
        assert_eq!(list.end(), (vec![0, 1, 2, 3, 4, 500, 997, 998, 999], 991));
    }

    #[test]
    fn nothing_is_left_out_when_all_is_wanted() {
        let mut list = BoundedList::new(true);
        (0..1000).for_each(|n| list.push(n, false));
        assert_eq!(list.end(), ((0..1000).collect(), 0));
    }
}
