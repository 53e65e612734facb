//! Map from paths to entries while the changes are followed: present, absent or unknown.
//!
//! Only changed paths are stored. Any other path is found through the nearest stored folder above it, or is
//! unknown.

use std::collections::BTreeMap;
use std::ops::Bound;

/// Entries by path. `None` in the map: the path is absent.
pub(super) struct PathMap<T>(BTreeMap<String, Option<T>>);

/// Result of a lookup.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MapLookup<'a, T> {
    Present(&'a T),
    Absent,
    /// The path itself is not stored, but a folder above it; with the path from there.
    Below(&'a T, &'a str),
    Unknown,
}

impl<T> Default for PathMap<T> {
    fn default() -> PathMap<T> {
        PathMap(BTreeMap::new())
    }
}

impl<T> PathMap<T> {
    pub(super) fn get<'a>(&'a self, path: &'a str) -> MapLookup<'a, T> {
        match self.0.get(path) {
            Some(Some(here)) => return MapLookup::Present(here),
            Some(None) => return MapLookup::Absent,
            None => {}
        }
        let above = path.rmatch_indices('/').map(|(slash, _)| (&path[..slash], &path[slash + 1..]));
        for (folder, rest) in above {
            match self.0.get(folder) {
                Some(Some(known)) => return MapLookup::Below(known, rest),
                Some(None) => return MapLookup::Absent,
                None => {}
            }
        }
        MapLookup::Unknown
    }

    /// Stores an entry that is new at this path; entries below it are removed from the map.
    pub(super) fn insert(&mut self, path: &str, what: T) {
        self.take_below(path);
        self.0.insert(path.to_owned(), Some(what));
    }

    /// Stores an entry that was there all the time, with the entries below it.
    pub(super) fn insert_existing(&mut self, path: &str, what: T) {
        self.0.insert(path.to_owned(), Some(what));
    }

    /// Marks a path as absent.
    pub(super) fn remove(&mut self, path: &str) {
        self.take_below(path);
        self.0.insert(path.to_owned(), None);
    }

    /// Moves a path with everything stored below it. `what` is the moved entry.
    pub(super) fn rename(&mut self, from: &str, to: &str, what: T) {
        let below = self.take_below(from);
        self.remove(from);
        self.insert(to, what);
        self.0.extend(below.into_iter().map(|(rest, known)| (format!("{to}/{rest}"), known)));
    }

    /// Returns the present entries below a folder, with their paths from there.
    pub(super) fn below<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = (&'a str, &'a T)> {
        self.range(folder).filter_map(|(rest, known)| known.as_ref().map(|known| (rest, known)))
    }

    /// Returns true if any path below a folder is stored, present or absent.
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
    use super::{MapLookup, PathMap};

    #[test]
    fn a_name_is_found_through_the_nearest_folder_that_is_known() {
        let mut names = PathMap::default();
        names.insert("a", 1);
        names.insert("a/b", 2);
        names.remove("a/c");
        assert_eq!(names.get("a"), MapLookup::Present(&1));
        assert_eq!(names.get("a/x/y"), MapLookup::Below(&1, "x/y"));
        assert_eq!(names.get("a/b/y"), MapLookup::Below(&2, "y"));
        assert_eq!(names.get("a/c/y"), MapLookup::Absent);
        assert_eq!(names.get("ab"), MapLookup::Unknown);
    }

    #[test]
    fn a_folder_moves_with_all_that_is_known_below_it_and_leaves_nothing() {
        let mut names = PathMap::default();
        names.insert("a/b", 1);
        names.remove("a/c");
        names.insert("ab", 2);
        names.remove("z/old");
        names.rename("a", "z", 3);
        assert_eq!(names.get("a/b"), MapLookup::Absent);
        assert_eq!(names.get("z/b"), MapLookup::Present(&1));
        assert_eq!(names.get("z/c"), MapLookup::Absent);
        assert_eq!(names.get("z/old"), MapLookup::Below(&3, "old"));
        assert_eq!(names.get("ab"), MapLookup::Present(&2));
        assert_eq!(names.below("z").collect::<Vec<_>>(), [("b", &1)]);
    }
}
