//! Hints for fields that the plan format does not have.

use envelope::nearest;

use super::object_fields::KnownField;
use crate::{FindingCode, PlanFinding};

/// Returns the field that a wrong name most likely stands for.
pub(super) fn intended_field(key: &str, known: &'static [KnownField]) -> Option<&'static str> {
    if absent_feature_hint(key).is_some() {
        return None;
    }
    let same = |word: &&str| word.eq_ignore_ascii_case(key);
    known
        .iter()
        .find(|field| same(&field.name) || field.synonyms.iter().any(same))
        .map(|field| field.name)
        .or_else(|| nearest(key, known.iter().map(|field| field.name)))
}

/// Returns a hint for a feature that plans do not have.
fn absent_feature_hint(key: &str) -> Option<&'static str> {
    match key {
        "if" | "when" | "condition" | "unless" => {
            Some("remove it: a plan has no conditions; plan for what you know, or read first and plan then")
        }
        "steps" | "do" | "body" => Some(
            "remove it: a foreach repeats the `tool` and `args` of its own step; use one step for each tool",
        ),
        "policy" | "confirmationId" | "riskLevel" | "approved" | "sandbox" | "permissions" => {
            Some("remove it: a plan cannot grant itself anything")
        }
        _ => None,
    }
}

pub(super) fn finding(
    key: &str,
    pointer: &str,
    meant: Option<&str>,
    rename: bool,
    known: &'static [KnownField],
) -> PlanFinding {
    let hint = match (absent_feature_hint(key), meant) {
        (Some(hint), _) => hint.to_owned(),
        (None, Some(name)) if rename => format!("rename it to `{name}`"),
        (None, Some(name)) => format!("remove it; `{name}` is already there"),
        (None, None) => {
            let names = known.iter().map(|field| format!("`{}`", field.name)).collect::<Vec<_>>().join(", ");
            format!("remove it; the known fields are {names}")
        }
    };
    PlanFinding::error(
        FindingCode::UnknownField,
        pointer,
        format!("`{key}` is not a field of the plan format"),
    )
    .hint(hint)
}
