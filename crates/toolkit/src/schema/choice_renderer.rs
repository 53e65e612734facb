//! Messages for a value that matches none, or too many, of several alternatives.
//!
//! "Does not match any schema" is not helpful. If one alternative is clearly the intended one, its problems are
//! reported; otherwise the alternatives are listed. The pointer is that of the choice, whichever part below it is
//! wrong: while a part is still a reference, another alternative may turn out to be the intended one.

use envelope::SchemaProblem;
use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::error_renderer::{ErrorRenderer, nearest_option, not_an_option};
use super::formatter::{alternatives, described, found, name};
use super::reference_resolver::follow;

pub(super) fn none_fits(
    renderer: &ErrorRenderer<'_>,
    error: &ValidationError<'_>,
    branches: &[Vec<ValidationError<'static>>],
    problems: &mut Vec<SchemaProblem>,
) {
    let schemas = branch_schemas(renderer, error);
    if let Some(only) = the_one_beside_null(renderer, &schemas, branches) {
        // An optional value is not a choice: its problems are reported as they are.
        for inner in only {
            renderer.explain(inner, problems);
        }
        return;
    }
    if let Some(problem) = one_list_of_options(error, branches) {
        problems.push(problem);
        return;
    }
    match best(error, branches) {
        Some(best) => {
            let mut inner = Vec::new();
            for error in best {
                renderer.explain(error, &mut inner);
            }
            problems.extend(inner.into_iter().map(|problem| at_choice(error, problem)));
        }
        None => {
            let expected = alternatives(schemas.iter().map(|schema| described(schema, renderer.root)));
            problems.push(SchemaProblem {
                pointer: error.instance_path().as_str().to_owned(),
                message: format!("expected {expected}, found {}", found(error.instance())),
                hint: None,
                from_choice: true,
            });
        }
    }
}

pub(super) fn several_fit(
    renderer: &ErrorRenderer<'_>,
    error: &ValidationError<'_>,
    branches: &[Vec<ValidationError<'static>>],
) -> SchemaProblem {
    let fitting: Vec<String> = branch_schemas(renderer, error)
        .into_iter()
        .zip(branches)
        .filter(|(_, errors)| errors.is_empty())
        .map(|(schema, _)| described(schema, renderer.root))
        .collect();
    SchemaProblem {
        pointer: error.instance_path().as_str().to_owned(),
        message: format!("fits more than one alternative: {}", alternatives(fitting.into_iter())),
        hint: Some("keep the fields of one alternative only".to_owned()),
        from_choice: true,
    }
}

fn branch_schemas<'s>(renderer: &ErrorRenderer<'s>, error: &ValidationError<'_>) -> Vec<&'s Value> {
    let list = renderer.root.pointer(error.schema_path().as_str()).and_then(Value::as_array);
    list.into_iter().flatten().collect()
}

fn the_one_beside_null<'e>(
    renderer: &ErrorRenderer<'_>,
    schemas: &[&Value],
    branches: &'e [Vec<ValidationError<'static>>],
) -> Option<&'e [ValidationError<'static>]> {
    let is_null = |schema: &Value| {
        let schema = follow(schema, renderer.root);
        schema.get("type").is_some_and(|name| name == "null")
            || schema.get("const").is_some_and(Value::is_null)
    };
    if schemas.len() != branches.len() {
        return None;
    }
    let mut others = schemas.iter().zip(branches).filter(|(schema, _)| !is_null(schema));
    let (_, only) = others.next()?;
    (others.next().is_none() && !only.is_empty()).then_some(only.as_slice())
}

/// If every alternative fails at the same location because of its fixed values, those values are the real choice:
/// an enum with a description for each variant, or the tag of a tagged union.
fn one_list_of_options(
    error: &ValidationError<'_>,
    branches: &[Vec<ValidationError<'static>>],
) -> Option<SchemaProblem> {
    let mut place: Option<&ValidationError<'static>> = None;
    let mut allowed: Vec<&Value> = Vec::new();
    for errors in branches {
        let (tag, values) = errors.iter().find_map(fixed_values)?;
        match place {
            None => place = Some(tag),
            Some(first) if first.instance_path() == tag.instance_path() => {}
            Some(_) => return None,
        }
        for value in values {
            if !allowed.contains(&value) {
                allowed.push(value);
            }
        }
    }
    let tag = place?;
    let problem = SchemaProblem {
        pointer: tag.instance_path().as_str().to_owned(),
        message: not_an_option(tag.instance(), &allowed),
        hint: nearest_option(tag.instance(), &allowed),
        from_choice: true,
    };
    Some(at_choice(error, problem))
}

fn fixed_values<'e>(
    error: &'e ValidationError<'static>,
) -> Option<(&'e ValidationError<'static>, Vec<&'e Value>)> {
    if let ValidationErrorKind::Constant { expected_value } = error.kind() {
        Some((error, vec![expected_value]))
    } else if let ValidationErrorKind::Enum { options } = error.kind() {
        Some((error, options.as_array().into_iter().flatten().collect()))
    } else {
        None
    }
}

/// Returns the alternative that was clearly intended: right type and tag, fewest errors, and no tie.
fn best<'e>(
    error: &ValidationError<'_>,
    branches: &'e [Vec<ValidationError<'static>>],
) -> Option<&'e [ValidationError<'static>]> {
    let here = error.instance_path();
    let mut ranked: Vec<((usize, usize), &Vec<ValidationError<'static>>)> = branches
        .iter()
        .filter(|errors| !errors.iter().any(|inner| inner.instance_path() == here && is_type(inner)))
        .map(|errors| {
            let tags = errors.iter().filter(|inner| fixed_values(inner).is_some()).count();
            ((tags, errors.len()), errors)
        })
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    match ranked.as_slice() {
        [] => None,
        [(_, only)] => Some(only),
        [(first, best), (second, _), ..] => (first < second).then_some(best.as_slice()),
    }
}

fn is_type(error: &ValidationError<'_>) -> bool {
    matches!(error.kind(), ValidationErrorKind::Type { .. })
}

/// Moves a problem up to its choice and keeps its location in the message.
fn at_choice(choice: &ValidationError<'_>, problem: SchemaProblem) -> SchemaProblem {
    let pointer = choice.instance_path().as_str();
    let message = if problem.pointer == pointer {
        problem.message
    } else {
        format!("at {}: {}", name(&problem.pointer), problem.message)
    };
    SchemaProblem { pointer: pointer.to_owned(), message, hint: problem.hint, from_choice: true }
}
