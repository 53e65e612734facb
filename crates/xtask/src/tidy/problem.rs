//! What a check found: where, what, and how to mend it.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) file: String,
    /// Counted from 1; none when the problem is the file itself.
    pub(crate) line: Option<usize>,
    pub(crate) what: String,
    pub(crate) mend: String,
}

impl Problem {
    /// A problem of a whole file.
    pub(crate) fn file(file: &str, what: impl Into<String>, mend: impl Into<String>) -> Problem {
        Problem { file: file.to_owned(), line: None, what: what.into(), mend: mend.into() }
    }

    /// A problem of one line, counted from 1.
    pub(crate) fn line(file: &str, line: usize, what: impl Into<String>, mend: impl Into<String>) -> Problem {
        Problem { file: file.to_owned(), line: Some(line), what: what.into(), mend: mend.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}: {}", self.what, self.mend)
    }
}

/// Every problem on a line of its own, as the tests of the checks compare them.
#[cfg(test)]
pub(crate) fn listed(problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("{problem}\n")).collect()
}
