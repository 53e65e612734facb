//! Opens an artifact of the call's own run, or of a run that the call names.

use std::fs::File;
use std::sync::Arc;

use envelope::{Failure, Fault, nearest};
use toolkit::ToolCx;

use super::args::FOLDER;

/// Names in a hint; more are counted.
const MAX_NAMES: usize = 10;

/// Access to the recorded runs.
pub trait PastRuns: Send + Sync {
    /// Finds a run by its id, by the beginning of its id, or by `last`: the newest that left artifacts.
    fn find(&self, run: &str) -> Result<String, Fault>;

    /// Opens `artifacts/<name>` of the run with this id.
    fn open(&self, id: &str, path: &str) -> Result<File, Fault>;

    /// Returns the artifacts of the run with this id, in order.
    fn names(&self, id: &str) -> Vec<String>;
}

/// An open artifact.
pub(super) struct OpenedArtifact {
    pub(super) file: File,
    /// The run that was named; `None` for the call's own.
    pub(super) run: Option<String>,
}

pub(super) fn open(
    cx: &ToolCx,
    past: Option<&Arc<dyn PastRuns>>,
    run: Option<&str>,
    path: &str,
) -> Result<OpenedArtifact, Fault> {
    let Some(wanted) = run else {
        let Some(own) = cx.artifacts() else { return Err(artifact_not_found(path, &[], None)) };
        return match own.open(path) {
            Ok(file) => Ok(OpenedArtifact { file, run: None }),
            Err(fault) if fault.failure == Failure::NotFound => {
                Err(artifact_not_found(path, &own.names(), None))
            }
            Err(fault) => Err(fault),
        };
    };
    let past = past.ok_or_else(|| {
        Fault::new(Failure::SetupRequired, "past runs cannot be read here")
            .hint("leave out `run` to read what this run left")
    })?;
    let id = past.find(wanted)?;
    match past.open(&id, path) {
        Ok(file) => Ok(OpenedArtifact { file, run: Some(id) }),
        Err(fault) if fault.failure == Failure::NotFound => {
            Err(artifact_not_found(path, &past.names(&id), Some(&id)))
        }
        Err(fault) => Err(fault),
    }
}

fn artifact_not_found(path: &str, names: &[String], run: Option<&str>) -> Fault {
    let place = run.map_or_else(|| "this run".to_owned(), |id| format!("run {id}"));
    let fault = Fault::new(Failure::NotFound, format!("there is no artifact `{path}` in {place}"));
    // The folder is the same for all of them, and would make any two look similar.
    let name = path.strip_prefix(FOLDER).unwrap_or(path);
    let known = names.iter().filter_map(|name| name.strip_prefix(FOLDER));
    match (nearest(name, known), names) {
        (Some(near), _) => fault.hint(format!("did you mean `{FOLDER}{near}`?")),
        (None, []) if run.is_none() => {
            fault.hint("this run has left no artifacts so far; name another run with `run`, such as \"last\"")
        }
        (None, []) => fault.hint("that run has left no artifacts; `tollgate runs` lists the runs"),
        (None, names) => {
            let more = names.len().saturating_sub(MAX_NAMES);
            let named = names[..names.len() - more].join("`, `");
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            fault.hint(format!("there is `{named}`{more}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::artifact_not_found;

    #[test]
    fn a_wrong_name_is_answered_with_the_right_one_or_with_all_of_them() {
        let names: Vec<String> = (1..=12).map(|n| format!("artifacts/step{n}-stdout.log")).collect();
        let shown: Vec<String> = [
            artifact_not_found("artifacts/step1-stdout.lgo", &names[..2], None),
            artifact_not_found("artifacts/zzz", &names, Some("0193")),
            artifact_not_found("build.log", &[], None),
            artifact_not_found("build.log", &[], Some("0193")),
        ]
        .iter()
        .map(|fault| format!("{}: {} | {}", fault.failure, fault.message, fault.recovery_hint()))
        .collect();
        expect![[r#"
            not_found: there is no artifact `artifacts/step1-stdout.lgo` in this run | did you mean `artifacts/step1-stdout.log`?
            not_found: there is no artifact `artifacts/zzz` in run 0193 | there is `artifacts/step1-stdout.log`, `artifacts/step2-stdout.log`, `artifacts/step3-stdout.log`, `artifacts/step4-stdout.log`, `artifacts/step5-stdout.log`, `artifacts/step6-stdout.log`, `artifacts/step7-stdout.log`, `artifacts/step8-stdout.log`, `artifacts/step9-stdout.log`, `artifacts/step10-stdout.log` and 2 more
            not_found: there is no artifact `build.log` in this run | this run has left no artifacts so far; name another run with `run`, such as "last"
            not_found: there is no artifact `build.log` in run 0193 | that run has left no artifacts; `tollgate runs` lists the runs"#]].assert_eq(&shown.join("\n"));
    }
}
