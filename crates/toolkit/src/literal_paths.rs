//! Judges paths in the arguments of a tool without reading the vault, so that a plan with one that can never work is
//! refused before it runs.

use envelope::{SchemaProblem, ToolDecl, VaultPath};
use serde_json::Value;

/// Category of the tools whose string arguments with the schema of [`VaultPath`] are paths in the vault.
const CATEGORY: &str = "vault";

/// Returns a problem for each argument that is a path and that the tool refuses whatever the vault contains: outside of
/// it, protected, hidden, or a name that some system cannot have.
pub(crate) fn path_problems(decl: &ToolDecl, args: &Value) -> Vec<SchemaProblem> {
    if decl.category != CATEGORY {
        return Vec::new();
    }
    let (Some(properties), Some(args)) = (decl.input_schema["properties"].as_object(), args.as_object())
    else {
        return Vec::new();
    };
    let paths = args.iter().filter(|(name, _)| properties.get(*name).is_some_and(is_path_schema));
    let judged = paths.filter_map(|(name, value)| Some((name, value.as_str().and_then(problem)?)));
    judged
        .map(|(name, (message, hint))| SchemaProblem {
            pointer: format!("/{name}"),
            message,
            hint: Some(hint),
            from_choice: false,
        })
        .collect()
}

fn is_path_schema(schema: &Value) -> bool {
    schema["type"] == "string" && schema["maxLength"] == VaultPath::MAX_BYTES
}

/// Returns the message and the hint for a text that is not a path which a tool may use.
fn problem(raw: &str) -> Option<(String, String)> {
    let other = || "use a path of a note inside the vault, such as `Notes/Idea.md`".to_owned();
    // A folder may end in a slash, and the empty one is the vault itself; where it is not allowed the schema says so.
    let raw = raw.strip_suffix('/').unwrap_or(raw);
    let path = match VaultPath::parse_escaped(raw) {
        Err(_) if raw.is_empty() => return None,
        Err(bad) => return Some((bad.to_string(), other())),
        Ok(path) => path,
    };
    if let Some(by) = path.protected_by() {
        return Some((format!("`{path}` is protected: no tool may use what is in `{by}`"), other()));
    }
    let hidden = path.segments().find(|name| name.starts_with('.'))?;
    let message = format!("`{path}` is hidden: `{hidden}` begins with a dot, so it is not one of the notes");
    Some((message, "use names that do not begin with a dot".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn a_path_that_can_never_work_is_named_with_its_reason() {
        for (raw, reason) in [
            ("../x.md", "`..`"),
            ("/etc/passwd", "absolute"),
            ("a:b.md", "`:`"),
            (".obsidian/app.json", "protected"),
            (".OBSIDIAN/app.json", "protected"),
            ("Notes/.hidden.md", "hidden"),
            ("Notes/a:b/", "`:`"),
            (r".obsidian\x20/app.json", "protected"),
            (r"\x2E\x2E/x.md", "`\\`"),
        ] {
            let (message, _) = problem(raw).unwrap_or_else(|| panic!("{raw} was accepted"));
            assert!(message.contains(reason), "{raw}: {message}");
        }
        for good in ["Note.md", r"a\x3Ab.md", "Tägliche Notizen/2026-11-15.md", "Notes/", ""] {
            assert_eq!(problem(good), None);
        }
    }
}
