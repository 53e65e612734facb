//! What is known about names while changes are followed: where things are, and where they are no more.
//!
//! Only what changes touched is kept. A name about which nothing is known is found through the nearest
//! folder above it that something is known about, or nowhere.

use std::collections::BTreeMap;
use std::ops::Bound;

/// Knowledge about names, by path. `None` in the map: nothing is there.
pub(super) struct Names<T>(BTreeMap<String, Option<T>>);

/// What is known about one path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Known<'a, T> {
    Here(&'a T),
    Gone,
    /// Nothing about the name itself, but about a folder above it; and the path from there.
    Below(&'a T, &'a str),
    Nothing,
}

impl<T> Default for Names<T> {
    fn default() -> Names<T> {
        Names(BTreeMap::new())
    }
}

impl<T> Names<T> {
    pub(super) fn get<'a>(&'a self, path: &'a str) -> Known<'a, T> {
        match self.0.get(path) {
            Some(Some(here)) => return Known::Here(here),
            Some(None) => return Known::Gone,
            None => {}
        }
        let above = path.rmatch_indices('/').map(|(slash, _)| (&path[..slash], &path[slash + 1..]));
        for (folder, rest) in above {
            match self.0.get(folder) {
                Some(Some(known)) => return Known::Below(known, rest),
                Some(None) => return Known::Gone,
                None => {}
            }
        }
        Known::Nothing
    }

    /// Something is there now, and nothing of what was below the name before.
    pub(super) fn put(&mut self, path: &str, what: T) {
        self.take_below(path);
        self.0.insert(path.to_owned(), Some(what));
    }

    /// Something was there all the time, with all that is known to be below it.
    pub(super) fn know(&mut self, path: &str, what: T) {
        self.0.insert(path.to_owned(), Some(what));
    }

    /// Nothing is there any more.
    pub(super) fn remove(&mut self, path: &str) {
        self.take_below(path);
        self.0.insert(path.to_owned(), None);
    }

    /// Moves what is known about a name, and about everything below it. `what` is what was moved.
    pub(super) fn rename(&mut self, from: &str, to: &str, what: T) {
        let below = self.take_below(from);
        self.remove(from);
        self.put(to, what);
        self.0.extend(below.into_iter().map(|(rest, known)| (format!("{to}/{rest}"), known)));
    }

    /// Everything that is known to be below a folder, with its path from there.
    pub(super) fn below<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = (&'a str, &'a T)> {
        self.range(folder).filter_map(|(rest, known)| known.as_ref().map(|known| (rest, known)))
    }

    /// Whether anything is known about a name below a folder, or that nothing is there.
    pub(super) fn knows_below(&self, folder: &str) -> bool {
        self.range(folder).next().is_some()
    }

    fn range<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = (&'a str, &'a Option<T>)> {
        let first = format!("{folder}/");
        let from_there = (Bound::Included(first.clone()), Bound::Unbounded);
        let length = first.len();
        self.0
            .range::<String, _>(from_there)
            .take_while(move |(path, _)| path.starts_with(&first))
            .map(move |(path, known)| (&path[length..], known))
    }

    fn take_below(&mut self, folder: &str) -> Vec<(String, Option<T>)> {
        let paths: Vec<String> = self.range(folder).map(|(rest, _)| rest.to_owned()).collect();
        let take = |rest: String| {
            let known = self.0.remove(&format!("{folder}/{rest}"))?;
            Some((rest, known))
        };
        paths.into_iter().filter_map(take).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Known, Names};

    #[test]
    fn a_name_is_found_through_the_nearest_folder_that_is_known() {
        let mut names = Names::default();
        names.put("a", 1);
        names.put("a/b", 2);
        names.remove("a/c");
        assert_eq!(names.get("a"), Known::Here(&1));
        assert_eq!(names.get("a/x/y"), Known::Below(&1, "x/y"));
        assert_eq!(names.get("a/b/y"), Known::Below(&2, "y"));
        assert_eq!(names.get("a/c/y"), Known::Gone);
        assert_eq!(names.get("ab"), Known::Nothing);
    }

    #[test]
    fn a_folder_moves_with_all_that_is_known_below_it_and_leaves_nothing() {
        let mut names = Names::default();
        names.put("a/b", 1);
        names.remove("a/c");
        names.put("ab", 2);
        names.remove("z/old");
        names.rename("a", "z", 3);
        assert_eq!(names.get("a/b"), Known::Gone);
        assert_eq!(names.get("z/b"), Known::Here(&1));
        assert_eq!(names.get("z/c"), Known::Gone);
        assert_eq!(names.get("z/old"), Known::Below(&3, "old"));
        assert_eq!(names.get("ab"), Known::Here(&2));
        assert_eq!(names.below("z").collect::<Vec<_>>(), [("b", &1)]);
    }
}
