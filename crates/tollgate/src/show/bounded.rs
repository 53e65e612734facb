//! A list that stays short however long the run was: the first, the last, and what stands out.

use std::collections::VecDeque;

const FIRST: usize = 5;
const LAST: usize = 3;
const NOTABLE: usize = 50;

/// Keeps the beginning, the end and the notable of what is pushed, and counts the rest.
#[derive(Debug)]
pub(super) struct Bounded<T> {
    whole: bool,
    head: Vec<T>,
    notable: Vec<T>,
    tail: VecDeque<T>,
    left_out: u64,
}

impl<T> Bounded<T> {
    /// `whole` keeps everything.
    pub(super) fn new(whole: bool) -> Bounded<T> {
        Bounded { whole, head: Vec::new(), notable: Vec::new(), tail: VecDeque::new(), left_out: 0 }
    }

    pub(super) fn push(&mut self, item: T, notable: bool) {
        if self.whole || self.head.len() < FIRST {
            self.head.push(item);
        } else if notable && self.notable.len() < NOTABLE {
            self.notable.push(item);
        } else {
            self.tail.push_back(item);
            if self.tail.len() > LAST {
                self.tail.pop_front();
                self.left_out += 1;
            }
        }
    }

    /// What was kept, and how many were not.
    pub(super) fn end(self) -> (Vec<T>, u64) {
        let kept = self.head.into_iter().chain(self.notable).chain(self.tail).collect();
        (kept, self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::Bounded;

    #[test]
    fn a_thousand_items_leave_the_ends_and_what_stands_out() {
        let mut list = Bounded::new(false);
        (0..1000).for_each(|n| list.push(n, n == 500));
        assert_eq!(list.end(), (vec![0, 1, 2, 3, 4, 500, 997, 998, 999], 991));
    }

    #[test]
    fn nothing_is_left_out_when_all_is_wanted() {
        let mut list = Bounded::new(true);
        (0..1000).for_each(|n| list.push(n, false));
        assert_eq!(list.end(), ((0..1000).collect(), 0));
    }
}
