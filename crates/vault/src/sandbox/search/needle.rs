//! What a search looks for, compiled once and within bounds.
//!
//! The engine finds in time that grows with the text and never explodes; what a hostile expression could
//! still blow up is the compiled program and the tables made while searching, so both are limited. Matches
//! never cross a line: the line break is taken out of every class, and an expression that insists on one is
//! refused.

use envelope::{Failure, Fault};
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};

/// Enough for every expression that a person writes; large counted repetitions of large classes are not.
const PROGRAM_BYTES: usize = 1 << 20;
/// For the tables that are built while searching, for each thread.
const TABLE_BYTES: usize = 4 << 20;

/// How a query is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// As it stands.
    Plain,
    /// As a regular expression, in the syntax of the `regex` crate.
    Regex,
}

/// A compiled query.
#[derive(Debug, Clone)]
pub struct Needle {
    pub(super) matcher: RegexMatcher,
}

impl Needle {
    pub fn compile(query: &str, reading: Reading, case_sensitive: bool) -> Result<Needle, Fault> {
        if query.is_empty() {
            return Err(bad("the query is empty").hint("give the text to look for"));
        }
        if query.contains(['\n', '\r']) {
            return Err(bad("the query contains a line break, and a match never crosses lines")
                .hint("look for one of the lines"));
        }
        RegexMatcherBuilder::new()
            .fixed_strings(reading == Reading::Plain)
            .case_insensitive(!case_sensitive)
            .multi_line(true)
            .crlf(true)
            .size_limit(PROGRAM_BYTES)
            .dfa_size_limit(TABLE_BYTES)
            .build(query)
            .map(|matcher| Needle { matcher })
            .map_err(|error| refused(query, reading, &error))
    }
}

fn bad(message: impl Into<String>) -> Fault {
    Fault::new(Failure::InvalidArguments, message)
}

/// Says where the mistake is, if there is a place.
fn refused(query: &str, reading: Reading, error: &grep_regex::Error) -> Fault {
    let place = match (reading, regex_syntax::Parser::new().parse(query)) {
        (Reading::Regex, Err(regex_syntax::Error::Parse(wrong))) => {
            Some((wrong.kind().to_string(), wrong.span().start.offset))
        }
        (Reading::Regex, Err(regex_syntax::Error::Translate(wrong))) => {
            Some((wrong.kind().to_string(), wrong.span().start.offset))
        }
        (Reading::Plain | Reading::Regex, Ok(_) | Err(_)) => None,
    };
    if let Some((what, at)) = place {
        // Offsets count bytes; a person counts characters.
        let at = query.get(..at).map_or(at, |before| before.chars().count());
        return bad(format!("the regular expression is wrong at character {}: {what}", at + 1))
            .detail("position", at)
            .hint("mend it there, or look for the text as it stands with mode: \"plain\"");
    }
    if matches!(error.kind(), ErrorKind::NotAllowed(_)) {
        return bad("the expression asks for a line break, and a match never crosses lines")
            .hint("leave out \\n and \\r; `^` and `$` are the ends of a line");
    }
    // The compiler of expressions says so only in words.
    if error.to_string().contains("size limit") {
        return bad("the query is too large once it is compiled")
            .hint("use smaller repetition counts, or a shorter text");
    }
    bad(format!("the query cannot be used: {error}"))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::expect;

    use super::{Needle, Reading};

    #[test]
    fn a_wrong_expression_is_told_with_its_place() {
        let mut told = String::new();
        for query in [
            "",
            "a\nb",
            "foo(bar",
            "ü(",
            "a{2,1}",
            "[z-a]",
            r"(?P<n>a)(?P<n>b)",
            r"\p{Nope}",
            r"(?=a)",
            r"(a)\1",
            r"a\nb",
            r"a[\r\n]",
            r"(\w{100}){100}",
            r"((((a{50}){50}){50}){50}){50}",
        ] {
            match Needle::compile(query, Reading::Regex, true) {
                Ok(_) => writeln!(told, "{query:?}: fine").unwrap(),
                Err(fault) => {
                    writeln!(told, "{query:?}: {} | {}", fault.message, fault.recovery_hint()).unwrap();
                }
            }
        }
        expect![[r#"
            "": the query is empty | give the text to look for
            "a\nb": the query contains a line break, and a match never crosses lines | look for one of the lines
            "foo(bar": the regular expression is wrong at character 4: unclosed group | mend it there, or look for the text as it stands with mode: "plain"
            "ü(": the regular expression is wrong at character 2: unclosed group | mend it there, or look for the text as it stands with mode: "plain"
            "a{2,1}": the regular expression is wrong at character 2: invalid repetition count range, the start must be <= the end | mend it there, or look for the text as it stands with mode: "plain"
            "[z-a]": the regular expression is wrong at character 2: invalid character class range, the start must be <= the end | mend it there, or look for the text as it stands with mode: "plain"
            "(?P<n>a)(?P<n>b)": the regular expression is wrong at character 13: duplicate capture group name | mend it there, or look for the text as it stands with mode: "plain"
            "\\p{Nope}": the regular expression is wrong at character 1: Unicode property not found | mend it there, or look for the text as it stands with mode: "plain"
            "(?=a)": the regular expression is wrong at character 1: look-around, including look-ahead and look-behind, is not supported | mend it there, or look for the text as it stands with mode: "plain"
            "(a)\\1": the regular expression is wrong at character 4: backreferences are not supported | mend it there, or look for the text as it stands with mode: "plain"
            "a\\nb": the expression asks for a line break, and a match never crosses lines | leave out \n and \r; `^` and `$` are the ends of a line
            "a[\\r\\n]": the expression asks for a line break, and a match never crosses lines | leave out \n and \r; `^` and `$` are the ends of a line
            "(\\w{100}){100}": the query is too large once it is compiled | use smaller repetition counts, or a shorter text
            "((((a{50}){50}){50}){50}){50}": the query is too large once it is compiled | use smaller repetition counts, or a shorter text
        "#]].assert_eq(&told);
    }

    #[test]
    fn plain_text_needs_no_escaping() {
        for query in ["foo(bar", "a.b*c", "[[link]]", r"\n", "(?=", "^$"] {
            Needle::compile(query, Reading::Plain, false).unwrap();
        }
        let long = "ſ".repeat(100_000);
        let fault = Needle::compile(&long, Reading::Plain, false).unwrap_err();
        assert_eq!(fault.message, "the query is too large once it is compiled");
    }
}
