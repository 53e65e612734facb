//! Phase 4: makes what hooks, prompts and logs will see of the input.

use envelope::Fault;
use toolkit::{DecodedArgs, Entry};

use crate::call::Flight;
use crate::inputs::{Described, Inputs, visible_text};

/// Ends in `input_mutation_failed` when the tool cannot say what the call is about.
pub(crate) fn prepare_observable_input(
    entry: &Entry,
    flight: &Flight,
    decoded: DecodedArgs,
) -> Result<Inputs, Fault> {
    let Described { paths, command, preview, dry_run } = Described::of(entry, &decoded)?;
    // The author of the plan may have said it better than the tool does.
    let preview = visible_text(flight.call.preview.as_deref().unwrap_or(&preview));
    Ok(Inputs {
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
