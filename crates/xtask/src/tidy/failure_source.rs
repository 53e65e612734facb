//! Parses the closed list of failures from its source: the doc comment of each variant, and the answer of each total
//! function.
//!
//! The source is formatted by rustfmt and each answer is one `match self` over the variants without a wildcard, so
//! lines are enough. Any other shape is an error.

use std::collections::BTreeMap;

/// A failure, as the document shows it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FailureEntry {
    pub(crate) name: String,
    pub(crate) cause: String,
    pub(crate) code: String,
    pub(crate) status: String,
    pub(crate) retryable: String,
    pub(crate) remedy: String,
    pub(crate) exit_code: String,
}

/// The sources of the document. Each owns a part of the answers.
#[derive(Clone, Copy)]
pub(crate) struct FailureSources<'a> {
    /// The enum with its functions.
    pub(crate) failure: &'a str,
    /// The kind of error that the library makes of a failure.
    pub(crate) error_kind: &'a str,
    /// The exit code that the binary makes of a kind.
    pub(crate) exit: &'a str,
}

pub(crate) fn parse(sources: FailureSources<'_>) -> Result<Vec<FailureEntry>, String> {
    let source = sources.failure;
    let answers =
        |function: &str| arms(source, &format!("pub const fn {function}(self)"), "match self {", "Failure::");
    let names = answers("name")?;
    let codes = answers("code")?;
    let statuses = answers("status")?;
    let retryable = answers("retryable")?;
    let remedies = answers("recovery_hint")?;
    let kinds = arms(
        sources.error_kind,
        "pub const fn of_failure(failure: Failure)",
        "match failure {",
        "Failure::",
    )?;
    let exits =
        arms(sources.exit, "pub(crate) const fn of_kind(kind: ErrorKind)", "match kind {", "ErrorKind::")?;
    let exit_codes = arms(sources.exit, "pub(crate) const fn code(self)", "match self {", "Exit::")?;
    let of = |table: &BTreeMap<String, String>, variant: &str, function: &str| {
        table.get(variant).cloned().ok_or_else(|| format!("`{function}` has no arm for `{variant}`"))
    };
    variants(source)?
        .into_iter()
        .map(|(variant, cause)| {
            Ok(FailureEntry {
                name: of(&names, &variant, "name")?,
                cause,
                code: of(&codes, &variant, "code")?,
                status: of(&statuses, &variant, "status")?.replace("Status::", "").to_lowercase(),
                retryable: of(&retryable, &variant, "retryable")?,
                remedy: of(&remedies, &variant, "recovery_hint")?,
                exit_code: {
                    let kind = of(&kinds, &variant, "of_failure")?.replace("ErrorKind::", "");
                    let exit = of(&exits, &kind, "of_kind")?.replace("Exit::", "");
                    of(&exit_codes, &exit, "code")?
                },
            })
        })
        .collect()
}

/// Variants of the enum with their doc comments, in order.
fn variants(source: &str) -> Result<Vec<(String, String)>, String> {
    let (_, body) = source.split_once("pub enum Failure {\n").ok_or("no `pub enum Failure`")?;
    let (body, _) = body.split_once("\n}").ok_or("the enum has no end")?;
    let mut found = Vec::new();
    let mut doc: Vec<&str> = Vec::new();
    for line in body.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            doc.push(text.trim());
        } else if let Some(variant) = line.strip_suffix(',') {
            if doc.is_empty() {
                return Err(format!("`{variant}` has no doc comment that says its cause"));
            }
            found.push((variant.to_owned(), doc.join(" ")));
            doc.clear();
        }
    }
    Ok(found)
}

/// Returns the answer of a function for each variant, without quotes. `start` begins the function, `subject` its
/// `match`, and `prefix` each of its patterns.
fn arms(source: &str, start: &str, subject: &str, prefix: &str) -> Result<BTreeMap<String, String>, String> {
    let (_, body) = source.split_once(start).ok_or_else(|| format!("no `{start}`"))?;
    let (body, _) = body.split_once("\n    }\n").ok_or_else(|| format!("`{start}` has no end"))?;
    let (_, arms) = body.split_once(subject).ok_or_else(|| format!("`{start}` has no `{subject}`"))?;
    let arms = arms.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut waiting: Vec<&str> = Vec::new();
    let mut table = BTreeMap::new();
    for arm in arms.split(prefix).skip(1) {
        // `UnknownTool |` waits for the answer of the arm it is part of; `UnknownTool => "…",` has it.
        waiting.extend(arm.split([' ', '|']).next());
        if let Some((_, answer)) = arm.split_once(" => ") {
            table.extend(waiting.drain(..).map(|variant| (variant.to_owned(), literal(answer))));
        }
    }
    match waiting.first() {
        Some(variant) => Err(format!("`{start}` has no answer for `{variant}`")),
        None => Ok(table),
    }
}

/// `"text",` or `{ "text" }` without its marks.
fn literal(answer: &str) -> String {
    answer.trim_matches(|mark: char| mark.is_whitespace() || "{},\"|".contains(mark)).to_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{FailureEntry, FailureSources, parse};

    pub(crate) const SOURCE: &str = r#"
pub enum Failure {
    /// No tool has that name.
    UnknownTool,
    /// A rule denies the call,
    /// and nobody is asked.
    PermissionDenied,
}
impl Failure {
    pub const fn name(self) -> &'static str {
        match self {
            Failure::UnknownTool => "unknown_tool",
            Failure::PermissionDenied => "permission_denied",
        }
    }
    pub const fn code(self) -> &'static str {
        match self {
            Failure::UnknownTool => "NOT_FOUND",
            Failure::PermissionDenied => "POLICY_DENIED",
        }
    }
    pub const fn status(self) -> Status {
        match self {
            Failure::UnknownTool
            | Failure::PermissionDenied => Status::Error,
        }
    }
    pub const fn retryable(self) -> bool {
        match self {
            Failure::UnknownTool | Failure::PermissionDenied => false,
        }
    }
    pub const fn recovery_hint(self) -> &'static str {
        match self {
            Failure::UnknownTool => "use `tollgate tools`",
            Failure::PermissionDenied => {
                "ask the person"
            }
        }
    }
}
"#;

    pub(crate) const ERROR_KIND: &str = r#"
impl ErrorKind {
    pub const fn of_failure(failure: Failure) -> ErrorKind {
        match failure {
            Failure::UnknownTool => ErrorKind::BadInput,
            Failure::PermissionDenied => ErrorKind::Denied,
        }
    }
}
"#;

    pub(crate) const EXIT: &str = r#"
impl Exit {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Exit::BadInput => 2,
            Exit::Denied => 3,
        }
    }
    pub(crate) const fn of_kind(kind: ErrorKind) -> Exit {
        match kind {
            ErrorKind::BadInput => Exit::BadInput,
            ErrorKind::Denied => Exit::Denied,
        }
    }
}
"#;

    fn parse_failure(failure: &str) -> Result<Vec<FailureEntry>, String> {
        parse(FailureSources { failure, error_kind: ERROR_KIND, exit: EXIT })
    }

    fn entry(parts: [&str; 7]) -> FailureEntry {
        let [name, cause, code, status, retryable, remedy, exit_code] = parts.map(str::to_owned);
        FailureEntry { name, cause, code, status, retryable, remedy, exit_code }
    }

    #[test]
    fn every_variant_comes_with_its_cause_and_its_answers() {
        assert_eq!(
            parse_failure(SOURCE).unwrap(),
            [
                entry([
                    "unknown_tool",
                    "No tool has that name.",
                    "NOT_FOUND",
                    "error",
                    "false",
                    "use `tollgate tools`",
                    "2",
                ]),
                entry([
                    "permission_denied",
                    "A rule denies the call, and nobody is asked.",
                    "POLICY_DENIED",
                    "error",
                    "false",
                    "ask the person",
                    "3",
                ]),
            ]
        );
    }

    #[test]
    fn a_gap_is_an_error() {
        let undocumented = SOURCE.replace("    /// No tool has that name.\n", "");
        assert_eq!(
            parse_failure(&undocumented).unwrap_err(),
            "`UnknownTool` has no doc comment that says its cause"
        );
        let without = ERROR_KIND.replace("            Failure::PermissionDenied => ErrorKind::Denied,\n", "");
        let sources = FailureSources { failure: SOURCE, error_kind: &without, exit: EXIT };
        assert_eq!(parse(sources).unwrap_err(), "`of_failure` has no arm for `PermissionDenied`");
        let without = SOURCE.replace("            Failure::PermissionDenied => \"POLICY_DENIED\",\n", "");
        assert_eq!(parse_failure(&without).unwrap_err(), "`code` has no arm for `PermissionDenied`");
    }
}
