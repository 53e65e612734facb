//! Reads the closed list of failures out of its source: the doc comment of each variant, and what each total
//! function answers for it.
//!
//! The source is formatted by rustfmt and each answer is one `match self` over our own variants without a
//! wildcard, so lines are enough. Whatever does not fit that shape is an error, never a silent gap.

use std::collections::BTreeMap;

/// One failure, as the document shows it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) cause: String,
    pub(crate) code: String,
    pub(crate) status: String,
    pub(crate) retryable: String,
    pub(crate) remedy: String,
    pub(crate) exit_code: String,
}

pub(crate) fn parse(source: &str) -> Result<Vec<Entry>, String> {
    let answers = |function: &str| answers(source, function);
    let names = answers("name")?;
    let codes = answers("code")?;
    let statuses = answers("status")?;
    let retryable = answers("retryable")?;
    let remedies = answers("recovery_hint")?;
    let exit_codes = answers("exit_code")?;
    let of = |table: &BTreeMap<String, String>, variant: &str, function: &str| {
        table.get(variant).cloned().ok_or_else(|| format!("`{function}` has no arm for `{variant}`"))
    };
    variants(source)?
        .into_iter()
        .map(|(variant, cause)| {
            Ok(Entry {
                name: of(&names, &variant, "name")?,
                cause,
                code: of(&codes, &variant, "code")?,
                status: of(&statuses, &variant, "status")?.replace("Status::", "").to_lowercase(),
                retryable: of(&retryable, &variant, "retryable")?,
                remedy: of(&remedies, &variant, "recovery_hint")?,
                exit_code: of(&exit_codes, &variant, "exit_code")?,
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

/// What `const fn <function>` answers for each variant, without quotes.
fn answers(source: &str, function: &str) -> Result<BTreeMap<String, String>, String> {
    let start = format!("pub const fn {function}(self)");
    let (_, body) = source.split_once(&start).ok_or_else(|| format!("no `{start}`"))?;
    let (body, _) = body.split_once("\n    }\n").ok_or_else(|| format!("`{function}` has no end"))?;
    let (_, arms) =
        body.split_once("match self {").ok_or_else(|| format!("`{function}` has no `match self`"))?;
    let arms = arms.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut waiting: Vec<&str> = Vec::new();
    let mut table = BTreeMap::new();
    for arm in arms.split("Failure::").skip(1) {
        // `UnknownTool |` waits for the answer of the arm it is part of; `UnknownTool => "…",` has it.
        waiting.extend(arm.split([' ', '|']).next());
        if let Some((_, answer)) = arm.split_once(" => ") {
            table.extend(waiting.drain(..).map(|variant| (variant.to_owned(), literal(answer))));
        }
    }
    match waiting.first() {
        Some(variant) => Err(format!("`{function}` has no answer for `{variant}`")),
        None => Ok(table),
    }
}

/// `"text",` or `{ "text" }` without its marks.
fn literal(answer: &str) -> String {
    answer.trim_matches(|mark: char| mark.is_whitespace() || "{},\"|".contains(mark)).to_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Entry, parse};

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
    pub const fn exit_code(self) -> u8 {
        match self {
            Failure::UnknownTool => 2,
            Failure::PermissionDenied => 3,
        }
    }
}
"#;

    fn entry(parts: [&str; 7]) -> Entry {
        let [name, cause, code, status, retryable, remedy, exit_code] = parts.map(str::to_owned);
        Entry { name, cause, code, status, retryable, remedy, exit_code }
    }

    #[test]
    fn every_variant_comes_with_its_cause_and_its_answers() {
        assert_eq!(
            parse(SOURCE).unwrap(),
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
        assert_eq!(parse(&undocumented).unwrap_err(), "`UnknownTool` has no doc comment that says its cause");
        let unanswered = SOURCE.replace("            Failure::PermissionDenied => 3,\n", "");
        assert_eq!(parse(&unanswered).unwrap_err(), "`exit_code` has no arm for `PermissionDenied`");
    }
}
