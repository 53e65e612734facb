//! Programs that print their words, or a fact, and open no file.

use super::{HarmlessArguments, Operands, program};

/// Left out on purpose: `date -s` sets the clock, and so does a word that is no format; `date -f` reads a file;
/// `printf -v` sets a variable.
pub(super) const PROGRAMS: [HarmlessArguments; 9] = [
    program(&["echo"], Operands::Anything, "", ""),
    program(&["printf"], Operands::Text, "", ""),
    program(&["true", "false", "whoami", "logname"], Operands::None, "", ""),
    program(&["pwd"], Operands::None, "LP", ""),
    program(&["seq"], Operands::Text, "w", "sf").long("equal-width", "separator format"),
    program(&["basename"], Operands::Text, "az", "s").long("multiple zero", "suffix"),
    program(&["dirname"], Operands::Text, "z", "").long("zero", ""),
    program(&["date"], Operands::DateFormat, "uRI", "d")
        .long("utc universal rfc-email rfc-3339 iso-8601", "date"),
    program(&["uname"], Operands::None, "asnrvmpio", "").long("all kernel-name machine", ""),
];
