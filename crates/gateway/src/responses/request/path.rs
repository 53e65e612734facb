//! Where in a request a value stands, as it is written in errors: `input[2].content[0].image_url`.

use std::fmt;

/// A place, linked to the place around it. Nothing is written down until an error needs it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Path<'p> {
    Root,
    Key(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
}

impl<'p> Path<'p> {
    pub(super) fn key(&'p self, key: &'p str) -> Path<'p> {
        Path::Key(self, key)
    }

    pub(super) fn index(&'p self, index: usize) -> Path<'p> {
        Path::Index(self, index)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Key(Path::Root, key) => f.write_str(key),
            Path::Key(around, key) => write!(f, "{around}.{key}"),
            Path::Index(around, index) => write!(f, "{around}[{index}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Path;

    #[test]
    fn a_place_is_written_with_dots_and_brackets() {
        let input = Path::Root.key("input");
        let item = input.index(2);
        let content = item.key("content");
        let part = content.index(0);
        assert_eq!(part.key("image_url").to_string(), "input[2].content[0].image_url");
    }
}
