//! A problem that a check found: the place, what is wrong, and the fix.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TidyProblem {
    pub(crate) file: String,
    /// Counted from 1; `None` if the problem is the whole file.
    pub(crate) line: Option<usize>,
    pub(crate) what: String,
    pub(crate) fix: String,
}

impl TidyProblem {
    /// A problem of a whole file.
    pub(crate) fn file(file: &str, what: impl Into<String>, fix: impl Into<String>) -> TidyProblem {
        TidyProblem { file: file.to_owned(), line: None, what: what.into(), fix: fix.into() }
    }

    /// A problem of one line, counted from 1.
    pub(crate) fn line(
        file: &str,
        line: usize,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> TidyProblem {
        TidyProblem { file: file.to_owned(), line: Some(line), what: what.into(), fix: fix.into() }
    }
}

impl fmt::Display for TidyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}: {}", self.what, self.fix)
    }
}

/// The problems, one a line, for the tests of the checks.
#[cfg(test)]
pub(crate) fn listed(problems: &[TidyProblem]) -> String {
    problems.iter().map(|problem| format!("{problem}\n")).collect()
}
