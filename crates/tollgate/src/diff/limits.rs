//! How much of a difference is shown, and how much work is done to find it.

/// Limits of what is shown, and of the work behind it. The work is bounded by sizes rather than by time, so
/// that a slow machine shows what a fast one shows.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    /// Unchanged lines around a change.
    pub(crate) context: usize,
    /// Lines on the screen for one file. The heads of hunks count.
    pub(crate) lines_per_file: usize,
    /// Lines on the screen after which no further file is begun.
    pub(crate) lines: usize,
    /// Files that are shown at all.
    pub(crate) files: usize,
    /// A line with more characters is narrowed to its changed words; an unchanged one is cut there.
    pub(crate) line_chars: usize,
    /// Characters that stay on each side of a changed word in a narrowed line.
    pub(crate) around: usize,
    /// Characters shown of one changed, added or removed line.
    pub(crate) shown_chars: usize,
    /// Both contents together; beyond this only sizes are told.
    pub(crate) bytes: usize,
    /// Lines between the first and the last change, on either side; beyond this lines are only counted.
    pub(crate) compared_lines: usize,
    /// Words between the first and the last change, in all lines of a file together. What comes after is
    /// marked from its first to its last changed character.
    pub(crate) compared_words: usize,
}

impl Limits {
    /// What fits a screen and a decision.
    pub(crate) fn screen() -> Limits {
        Limits {
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

    /// Whether everything is shown.
    pub(crate) fn is_full(&self) -> bool {
        self.lines == usize::MAX
    }

    /// Everything that can be compared at all (`--full`).
    pub(crate) fn full() -> Limits {
        Limits {
            lines_per_file: usize::MAX,
            lines: usize::MAX,
            files: usize::MAX,
            line_chars: usize::MAX,
            shown_chars: usize::MAX,
            ..Limits::screen()
        }
    }
}
