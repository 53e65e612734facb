//! Phase 2: validates the model's arguments against the schema that the model was shown.

use envelope::{Failure, Fault, SchemaProblem};
use serde_json::Value;
use toolkit::{DecodedArgs, RegisteredTool};

/// Fails with `schema_validation_failed`, with every problem at once.
pub(crate) fn parse_schema(entry: &RegisteredTool, input: &Value) -> Result<DecodedArgs, Fault> {
    let problems = entry.check_args(input);
    if !problems.is_empty() {
        return Err(schema_fault(entry, &problems));
    }
    entry.tool.decode(input)
}

fn schema_fault(entry: &RegisteredTool, problems: &[SchemaProblem]) -> Fault {
    let messages: Vec<String> = problems
        .iter()
        .map(|problem| match problem.pointer.as_str() {
            "" => problem.message.clone(),
            pointer => format!("{pointer}: {}", problem.message),
        })
        .collect();
    let fault = Fault::new(
        Failure::SchemaValidationFailed,
        format!("the arguments do not match the schema of {}: {}", entry.decl.name, messages.join("; ")),
    )
    .detail("problems", serde_json::to_value(problems).unwrap_or_default());
    match problems.iter().find_map(|problem| problem.hint.clone()) {
        Some(hint) => fault.hint(hint),
        None => fault,
    }
}
