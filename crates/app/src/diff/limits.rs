//! Limits of a difference: how much is shown, and how much work is done to find it.

/// Limits of the output and of the work behind it. The work is bounded by sizes rather than by time, so that the output
/// is the same on every machine.
#[derive(Debug, Clone)]
pub struct DiffLimits {
    /// Unchanged lines around a change.
    pub context: usize,
    /// Screen lines of one file, including the heads of hunks.
    pub lines_per_file: usize,
    /// Screen lines after which no further file is begun.
    pub lines: usize,
    /// Files that are shown.
    pub files: usize,
    /// A longer line is narrowed to its changed words; an unchanged one is cut there.
    pub line_chars: usize,
    /// Characters kept on each side of a changed word in a narrowed line.
    pub around: usize,
    /// Characters shown of one changed, added or removed line.
    pub shown_chars: usize,
    /// Bytes of both contents; beyond this only sizes are shown.
    pub bytes: usize,
    /// Lines between the first and the last change, on either side; beyond this lines are only counted.
    pub compared_lines: usize,
    /// Words between the first and the last change, in all lines of a file. Later lines are marked from their first to their
    /// last changed character.
    pub compared_words: usize,
}

impl DiffLimits {
    /// Returns limits that fit a screen and a decision.
    pub fn screen() -> DiffLimits {
        DiffLimits {
            context: 3,
            lines_per_file: 40,
            lines: 400,
            files: 20,
            line_chars: 160,
            around: 40,
            shown_chars: 480,
            bytes: 16 << 20,
            compared_lines: 20_000,
            compared_words: 40_000,
        }
    }

    /// Returns true if everything is shown.
    pub fn is_full(&self) -> bool {
        self.lines == usize::MAX
    }

    /// Returns the limits of `--full`: everything that can be compared.
    pub fn full() -> DiffLimits {
        DiffLimits {
            lines_per_file: usize::MAX,
            lines: usize::MAX,
            files: usize::MAX,
            line_chars: usize::MAX,
            shown_chars: usize::MAX,
            ..DiffLimits::screen()
        }
    }
}
