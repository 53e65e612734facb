//! Checks literal arguments against the tool's input schema, and by what the tool can judge of them, before the run.

use std::collections::{BTreeSet, HashMap};

use envelope::{SchemaProblem, ToolCatalog};
use serde_json::Value;

use super::template_context::TemplateContext;
use crate::{FindingCode, PlanFinding, Template};

/// Reports schema problems of the parts that contain no reference.
pub(super) fn check(
    place: &TemplateContext<'_, '_>,
    tool: &str,
    template: &Template,
    raw: &Value,
    catalog: &dyn ToolCatalog,
    findings: &mut Vec<PlanFinding>,
) {
    let mut open = BTreeSet::new();
    template.references(&mut |at, _, _| {
        open.insert(at.to_owned());
    });
    let args = as_written(template, raw);
    for problem in catalog.check_input(tool, &args).into_iter().chain(catalog.check_values(tool, &args)) {
        if depends_on_reference(&problem, &open) {
            continue;
        }
        let mut finding = PlanFinding::error(
            FindingCode::Schema,
            format!("{}{}", place.pointer, problem.pointer),
            problem.message,
        );
        finding.hint = problem.hint.or_else(|| Some(format!("see the arguments of `{tool}`")));
        findings.push(finding.in_step(place.label));
    }
}

/// Whether a problem may disappear once a reference has its value.
fn depends_on_reference(problem: &SchemaProblem, references: &BTreeSet<String>) -> bool {
    let at = problem.pointer.as_str();
    let ends = at.match_indices('/').map(|(end, _)| end).chain([at.len()]);
    if ends.filter_map(|end| at.get(..end)).any(|ancestor| references.contains(ancestor)) {
        return true;
    }
    // A choice (`anyOf`) fails as a whole, even if only a reference below it prevents a match.
    let below = format!("{at}/");
    let first = references.range(below.clone()..).next();
    problem.from_choice && first.is_some_and(|reference| reference.starts_with(&below))
}

/// Returns the arguments with escapes resolved and references unchanged.
fn as_written(template: &Template, raw: &Value) -> Value {
    match (template, raw) {
        (Template::Literal(value), _) => value.clone(),
        (Template::List(parts), Value::Array(items)) => {
            Value::Array(parts.iter().zip(items).map(|(part, item)| as_written(part, item)).collect())
        }
        (Template::Object(parts), Value::Object(map)) => {
            let parts: HashMap<&str, &Template> =
                parts.iter().map(|(key, part)| (key.as_str(), part)).collect();
            let written = |(key, value): (&String, &Value)| {
                let value =
                    parts.get(key.as_str()).map_or_else(|| value.clone(), |part| as_written(part, value));
                (key.clone(), value)
            };
            Value::Object(map.iter().map(written).collect())
        }
        (Template::Whole(_) | Template::Text(_) | Template::List(_) | Template::Object(_), _) => raw.clone(),
    }
}
