//! The programs of one call, as far as they can be told from its text.

/// What one call runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// Every command that was found, in the order of the text. All of them when the line is not opaque.
    pub commands: Vec<SimpleCommand>,
    /// Why the line is not understood in full.
    pub opaque: Option<String>,
    /// The line is larger than anyone can be expected to judge.
    pub over_limit: bool,
    /// Exactly what is run, for people: control characters escaped, never shortened.
    pub shown: String,
    /// Names of the variables that the call sets.
    pub env: Vec<String>,
}

/// One program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimpleCommand {
    pub argv: Vec<String>,
    /// The wrappers it was found behind, outermost first, such as `bash -c`.
    pub through: Vec<String>,
}
