//! The path of a value in a request, for errors: `input[2].content[0].image_url`.

use std::fmt;

/// A path, linked to its parent. The text is made only for an error.
#[derive(Debug, Clone, Copy)]
pub(super) enum FieldPath<'p> {
    Root,
    Key(&'p FieldPath<'p>, &'p str),
    Index(&'p FieldPath<'p>, usize),
}

impl<'p> FieldPath<'p> {
    pub(super) fn key(&'p self, key: &'p str) -> FieldPath<'p> {
        FieldPath::Key(self, key)
    }

    pub(super) fn index(&'p self, index: usize) -> FieldPath<'p> {
        FieldPath::Index(self, index)
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldPath::Root => Ok(()),
            FieldPath::Key(FieldPath::Root, key) => f.write_str(key),
            FieldPath::Key(around, key) => write!(f, "{around}.{key}"),
            FieldPath::Index(around, index) => write!(f, "{around}[{index}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FieldPath;

    #[test]
    fn a_place_is_written_with_dots_and_brackets() {
        let input = FieldPath::Root.key("input");
        let item = input.index(2);
        let content = item.key("content");
        let part = content.index(0);
        assert_eq!(part.key("image_url").to_string(), "input[2].content[0].image_url");
    }
}
