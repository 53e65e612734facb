//! Tests that the published schema for planners agrees with the checker.

use std::fs;
use std::path::Path;

use expect_test::expect_file;
use plan::FindingCode;
use serde_json::Value;

use super::{check, plan_files};

#[test]
fn the_published_schema_is_up_to_date() {
    let mut text = serde_json::to_string_pretty(&envelope::action_plan_schema()).unwrap();
    text.push('\n');
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/action-plan.json");
    expect_file![path].assert_eq(&text);
}

fn is_valid(text: &str) -> Option<bool> {
    let plan: Value = serde_json::from_str(text).ok()?;
    let schema = jsonschema::validator_for(&envelope::action_plan_schema()).unwrap();
    Some(schema.is_valid(&plan))
}

// Conformance: envelope 2.1
//     A plan step has an id, a tool, arguments and, if it repeats, a list to repeat over.
//     In: envelope/plan.rs
#[test]
fn the_schema_accepts_every_plan_that_the_checker_accepts() {
    for folder in ["good_plans", "odd_plans"] {
        for path in plan_files::plans(folder) {
            assert_eq!(is_valid(&fs::read_to_string(&path).unwrap()), Some(true), "{}", path.display());
        }
    }
}

// Conformance: envelope 2.1
#[test]
fn what_the_schema_refuses_the_checker_refuses_for_its_shape() {
    let mut refused = 0;
    for path in plan_files::plans("wrong_plans") {
        let text = fs::read_to_string(&path).unwrap();
        if is_valid(&text) != Some(false) {
            continue;
        }
        refused += 1;
        let shape = |code: FindingCode| {
            matches!(
                code,
                FindingCode::WrappedPlan
                    | FindingCode::UnknownField
                    | FindingCode::MissingField
                    | FindingCode::WrongType
                    | FindingCode::BadValue
                    // For the checker, an invalid `dependsOn` entry is a step that does not exist.
                    | FindingCode::UnknownStep
            )
        };
        assert!(check(&text).findings.iter().any(|finding| shape(finding.code)), "{}", path.display());
    }
    assert!(refused >= 20, "the schema refused only {refused} wrong plans");
}
