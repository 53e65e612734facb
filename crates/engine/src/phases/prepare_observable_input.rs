//! Phase 4: prepares the description of the call for hooks, prompts and logs.

use envelope::Fault;
use toolkit::{DecodedArgs, RegisteredTool};

use crate::call::CallState;
use crate::call_inputs::{ArgsDescription, CallInputs, visible_text};

/// Fails with `input_mutation_failed` if the tool cannot describe the call.
pub(crate) fn prepare_observable_input(
    entry: &RegisteredTool,
    state: &CallState,
    decoded: DecodedArgs,
) -> Result<CallInputs, Fault> {
    let ArgsDescription { paths, command, preview, dry_run } = ArgsDescription::of(entry, &decoded)?;
    // The plan's preview, if there is one, is more specific than the tool's.
    let preview = visible_text(state.call.preview.as_deref().unwrap_or(&preview));
    Ok(CallInputs {
        changed: None,
        decoded,
        first_paths: paths.clone(),
        paths,
        first_command: command.clone(),
        command,
        preview,
        dry_run,
    })
}
