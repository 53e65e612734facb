//! Programs that print their words, or a fact, and open no file.

use super::{HarmlessArguments, OperandKind, program};

/// Deliberately omitted: `date -s` sets the clock, and so does a word that is not a format; `date -f` reads a file;
/// `printf -v` sets a variable.
pub(super) const PROGRAMS: [HarmlessArguments; 9] = [
    program(&["echo"], OperandKind::Anything, "", ""),
    program(&["printf"], OperandKind::Text, "", ""),
    program(&["true", "false", "whoami", "logname"], OperandKind::None, "", ""),
    program(&["pwd"], OperandKind::None, "LP", ""),
    program(&["seq"], OperandKind::Text, "w", "sf").long("equal-width", "separator format"),
    program(&["basename"], OperandKind::Text, "az", "s").long("multiple zero", "suffix"),
    program(&["dirname"], OperandKind::Text, "z", "").long("zero", ""),
    program(&["date"], OperandKind::DateFormat, "uRI", "d")
        .long("utc universal rfc-email rfc-3339 iso-8601", "date"),
    program(&["uname"], OperandKind::None, "asnrvmpio", "").long("all kernel-name machine", ""),
];
