//! Search patterns, compiled once and within limits.
//!
//! Search time is linear in the text. A hostile expression could still need a large program or large tables, so
//! both are limited. A match never crosses a line: line breaks are removed from every class, and an expression
//! that requires one is refused.

use envelope::{Failure, Fault};
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};

/// Enough for any expression that a user writes, but not for large repetitions of large classes.
const PROGRAM_BYTES: usize = 1 << 20;
/// Limit of the tables that are built while searching, per thread.
const TABLE_BYTES: usize = 4 << 20;

/// Syntax of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuerySyntax {
    /// Literal text.
    Plain,
    /// A regular expression in the syntax of the `regex` crate.
    Regex,
}

/// A compiled query.
#[derive(Debug, Clone)]
pub struct SearchPattern {
    pub(super) matcher: RegexMatcher,
}

impl SearchPattern {
    pub fn compile(query: &str, reading: QuerySyntax, case_sensitive: bool) -> Result<SearchPattern, Fault> {
        if query.is_empty() {
            return Err(invalid_query("the query is empty").hint("give the text to look for"));
        }
        if query.contains(['\n', '\r']) {
            return Err(invalid_query("the query contains a line break, and a match never crosses lines")
                .hint("look for one of the lines"));
        }
        RegexMatcherBuilder::new()
            .fixed_strings(reading == QuerySyntax::Plain)
            .case_insensitive(!case_sensitive)
            .multi_line(true)
            .crlf(true)
            .size_limit(PROGRAM_BYTES)
            .dfa_size_limit(TABLE_BYTES)
            .build(query)
            .map(|matcher| SearchPattern { matcher })
            .map_err(|error| compile_error(query, reading, &error))
    }
}

fn invalid_query(message: impl Into<String>) -> Fault {
    Fault::new(Failure::InvalidArguments, message)
}

/// Returns the error with the position of the mistake, if there is one.
fn compile_error(query: &str, reading: QuerySyntax, error: &grep_regex::Error) -> Fault {
    let located = match (reading, regex_syntax::Parser::new().parse(query)) {
        (QuerySyntax::Regex, Err(regex_syntax::Error::Parse(wrong))) => {
            Some((wrong.kind().to_string(), wrong.span().start.offset))
        }
        (QuerySyntax::Regex, Err(regex_syntax::Error::Translate(wrong))) => {
            Some((wrong.kind().to_string(), wrong.span().start.offset))
        }
        (QuerySyntax::Plain | QuerySyntax::Regex, Ok(_) | Err(_)) => None,
    };
    if let Some((what, at)) = located {
        // Offsets are in bytes, the message counts characters.
        let at = query.get(..at).map_or(at, |before| before.chars().count());
        return invalid_query(format!("the regular expression is wrong at character {}: {what}", at + 1))
            .detail("position", at)
            .hint("fix it there, or search for the literal text with mode: \"plain\"");
    }
    if matches!(error.kind(), ErrorKind::NotAllowed(_)) {
        return invalid_query("the expression asks for a line break, and a match never crosses lines")
            .hint("leave out \\n and \\r; `^` and `$` are the ends of a line");
    }
    // The compiler reports this only in its message.
    if error.to_string().contains("size limit") {
        return invalid_query("the query is too large once it is compiled")
            .hint("use smaller repetition counts, or a shorter text");
    }
    invalid_query(format!("the query cannot be used: {error}"))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::expect;

    use super::{QuerySyntax, SearchPattern};

    #[test]
    fn a_wrong_expression_is_told_with_its_place() {
        let mut output = String::new();
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
            match SearchPattern::compile(query, QuerySyntax::Regex, true) {
                Ok(_) => writeln!(output, "{query:?}: fine").unwrap(),
                Err(fault) => {
                    writeln!(output, "{query:?}: {} | {}", fault.message, fault.recovery_hint()).unwrap();
                }
            }
        }
        expect![[r#"
            "": the query is empty | give the text to look for
            "a\nb": the query contains a line break, and a match never crosses lines | look for one of the lines
            "foo(bar": the regular expression is wrong at character 4: unclosed group | fix it there, or search for the literal text with mode: "plain"
            "ü(": the regular expression is wrong at character 2: unclosed group | fix it there, or search for the literal text with mode: "plain"
            "a{2,1}": the regular expression is wrong at character 2: invalid repetition count range, the start must be <= the end | fix it there, or search for the literal text with mode: "plain"
            "[z-a]": the regular expression is wrong at character 2: invalid character class range, the start must be <= the end | fix it there, or search for the literal text with mode: "plain"
            "(?P<n>a)(?P<n>b)": the regular expression is wrong at character 13: duplicate capture group name | fix it there, or search for the literal text with mode: "plain"
            "\\p{Nope}": the regular expression is wrong at character 1: Unicode property not found | fix it there, or search for the literal text with mode: "plain"
            "(?=a)": the regular expression is wrong at character 1: look-around, including look-ahead and look-behind, is not supported | fix it there, or search for the literal text with mode: "plain"
            "(a)\\1": the regular expression is wrong at character 4: backreferences are not supported | fix it there, or search for the literal text with mode: "plain"
            "a\\nb": the expression asks for a line break, and a match never crosses lines | leave out \n and \r; `^` and `$` are the ends of a line
            "a[\\r\\n]": the expression asks for a line break, and a match never crosses lines | leave out \n and \r; `^` and `$` are the ends of a line
            "(\\w{100}){100}": the query is too large once it is compiled | use smaller repetition counts, or a shorter text
            "((((a{50}){50}){50}){50}){50}": the query is too large once it is compiled | use smaller repetition counts, or a shorter text
        "#]].assert_eq(&output);
    }

    #[test]
    fn plain_text_needs_no_escaping() {
        for query in ["foo(bar", "a.b*c", "[[link]]", r"\n", "(?=", "^$"] {
            SearchPattern::compile(query, QuerySyntax::Plain, false).unwrap();
        }
        let long = "ſ".repeat(100_000);
        let fault = SearchPattern::compile(&long, QuerySyntax::Plain, false).unwrap_err();
        assert_eq!(fault.message, "the query is too large once it is compiled");
    }
}
