//! Programs that search files for a pattern, or apply a script to them.

use super::{HarmlessArguments, OperandKind, program};

/// Deliberately omitted: `rg --pre`, `--hostname-bin` and `-z` start programs, `-f` and `-e` make the first operand a
/// file, `jq -f` and `-L` load a script. A script of `sed` must also be plain to the parser of interpreters.
pub(super) const PROGRAMS: [HarmlessArguments; 4] = [
    program(
        &["grep", "egrep", "fgrep"],
        OperandKind::TextThenFiles,
        "abcEFGhHilLnoPqrRsTuUvwxzZyI0123456789",
        "ABCmdD",
    )
    .long(
        "extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case word-regexp \
         line-regexp invert-match count color colour files-with-matches files-without-match only-matching quiet \
         silent no-messages with-filename no-filename line-number null text recursive dereference-recursive",
        "after-context before-context context max-count include exclude exclude-dir",
    ),
    program(&["rg"], OperandKind::TextThenFiles, "abcFHhiIlLNnopPqsSuUvwx0.", "ABCgjmMtTrE").long(
        "text case-sensitive color column count count-matches crlf files-with-matches files-without-match \
         fixed-strings follow glob-case-insensitive heading hidden ignore-case invert-match json line-number \
         line-regexp multiline multiline-dotall no-config no-filename no-heading no-ignore no-ignore-vcs \
         no-line-number null only-matching pcre2 pretty quiet smart-case stats trim unrestricted vimgrep \
         with-filename word-regexp",
        "after-context before-context context colors encoding glob iglob max-columns max-count max-depth \
         max-filesize replace sort sortr threads type type-not",
    ),
    program(&["jq"], OperandKind::TextThenFiles, "acCejMnrsSR", "").long(
        "ascii-output compact-output color-output exit-status join-output monochrome-output null-input \
         raw-output raw-input slurp sort-keys tab",
        "indent",
    ),
    program(&["sed"], OperandKind::TextThenFiles, "nErsuz", "")
        .long("quiet silent regexp-extended separate", ""),
];
