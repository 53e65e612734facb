//! What is on record, as resources: runs, their calls, and what calls left beside them.
//!
//! Only what results name is given away, opened below the folder of its run and through no link. Reading takes no lock,
//! happens on a thread that may block, and keeps no more in memory than one answer may have.

mod address;
mod artifact;
mod story;

use std::path::PathBuf;

use envelope::{RunId, escape_value, is_invisible};
use journal::{JournalError, Record, RunFolder, RunState, RunSummary, run_ids, run_summary};
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, CompleteRequestParams, CompleteResult, CompletionInfo, ListResourceTemplatesResult,
    ListResourcesResult, ReadResourceResult, Reference, Resource, ResourceContents, ResourceTemplate,
};
use serde_json::{Value, json};

pub(super) use self::address::Address;

/// Runs on one page of the list.
const PAGE: usize = 50;
/// Runs that are looked at for one page. Where so many in a row are not for clients, it is shorter.
const MOST_LOOKED_AT: usize = 1_000;
/// Artifacts of the current run that the list shows. A run that left more names them in its calls.
const ARTIFACTS: usize = 50;
/// As much of a goal as a list has room for.
const GOAL_CHARS: usize = 120;
const JSON: &str = "application/json";

/// The runs in a folder.
#[derive(Debug, Clone)]
pub(super) struct Records {
    pub(super) runs: PathBuf,
}

impl Records {
    pub(super) async fn list(
        self,
        cursor: Option<String>,
        current: Option<RunId>,
    ) -> Result<ListResourcesResult, ErrorData> {
        blocking(move || self.page(cursor.as_deref(), current.as_ref())).await
    }

    pub(super) async fn read(self, uri: String) -> Result<ReadResourceResult, ErrorData> {
        blocking(move || self.resource(&uri)).await
    }

    /// The runs that begin as what was typed so far, for whoever fills in a template.
    pub(super) async fn complete(self, request: CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
        let Reference::Resource(template) = request.r#ref else { return Ok(CompleteResult::default()) };
        if !template.uri.starts_with(address::SCHEME) || request.argument.name != "run" {
            return Ok(CompleteResult::default());
        }
        blocking(move || {
            let mut fitting = run_ids(&self.runs).map_err(|error| unreadable(&error))?;
            fitting.retain(|run| run.as_str().starts_with(&request.argument.value));
            let total = u32::try_from(fitting.len()).ok();
            let has_more = fitting.len() > CompletionInfo::MAX_VALUES;
            fitting.truncate(CompletionInfo::MAX_VALUES);
            let values = fitting.iter().map(ToString::to_string).collect();
            let completion = CompletionInfo::with_pagination(values, total, has_more)
                .map_err(|error| ErrorData::internal_error(error, None))?;
            Ok(CompleteResult::new(completion))
        })
        .await
    }

    /// The newest runs first, and on the first page what the current run has left so far. The cursor is the last run
    /// that was looked at for the page before.
    fn page(&self, cursor: Option<&str>, current: Option<&RunId>) -> Result<ListResourcesResult, ErrorData> {
        let mut ids = run_ids(&self.runs).map_err(|error| unreadable(&error))?;
        ids.retain(|run| address::is_plain(run.as_str()));
        let start = match cursor {
            None => 0,
            Some(last) if address::is_plain(last) => ids.partition_point(|run| run.as_str() >= last),
            Some(_) => {
                let what = "this cursor is not one of ours; list again without one";
                return Err(ErrorData::invalid_params(what, None));
            }
        };
        let mut resources = Vec::new();
        if let (None, Some(current)) = (cursor, current) {
            resources.extend(self.artifacts_of(current));
        }
        let mut last_looked_at: Option<&RunId> = None;
        let (mut room, mut is_all) = (PAGE, true);
        for (looked_at, run) in ids.iter().skip(start).enumerate() {
            let of_client = self.of_a_client(run);
            // Whether there is another page is known only once there is something for it.
            if looked_at == MOST_LOOKED_AT || (room == 0 && of_client.is_some()) {
                is_all = false;
                break;
            }
            if let Some(run) = of_client {
                resources.push(listed(&run));
                room -= 1;
            }
            last_looked_at = Some(run);
        }
        let mut result = ListResourcesResult::with_all_items(resources);
        if !is_all {
            result.next_cursor = last_looked_at.map(ToString::to_string);
        }
        (result.ttl_ms, result.cache_scope) = (Some(0), Some(CacheScope::Private));
        Ok(result)
    }

    /// The run, if clients may know of it. One that is damaged is listed, and reading it says so.
    fn of_a_client(&self, run: &RunId) -> Option<RunSummary> {
        let dir = self.runs.join(run.as_str());
        match RunFolder::open(&dir) {
            Ok(folder) if !is_of_a_client(&folder) => None,
            Ok(_) | Err(_) => run_summary(&dir),
        }
    }

    /// A run that cannot be read has none, and reading it says why.
    fn artifacts_of(&self, run: &RunId) -> Vec<Resource> {
        let Ok(folder) = RunFolder::open(&self.runs.join(run.as_str())) else { return Vec::new() };
        let Ok(records) = folder.records() else { return Vec::new() };
        let results = records.map_while(Result::ok).filter_map(|entry| match entry.record {
            Record::Result(result) => Some(*result),
            Record::Call(_) | Record::Event(_) => None,
        });
        let listed = results.flat_map(|result| {
            let (tool, artifacts) = (result.tool, result.artifacts);
            artifacts.into_iter().map(move |artifact| {
                let uri = Address::artifact_uri(run.as_str(), &artifact.path);
                Resource::new(uri, artifact.path)
                    .with_size(artifact.bytes)
                    .with_description(format!("Left by {tool} in this session"))
            })
        });
        listed.take(ARTIFACTS).collect()
    }

    fn resource(&self, uri: &str) -> Result<ReadResourceResult, ErrorData> {
        let address = Address::parse(uri).ok_or_else(|| {
            not_found(uri, "there is no such resource; resources/templates/list shows what there is")
        })?;
        let dir = self.runs.join(address.run());
        let summary = run_summary(&dir).ok_or_else(|| not_found(uri, "no such run is on record"))?;
        let folder = RunFolder::open(&dir).map_err(|error| unreadable(&error))?;
        if !is_of_a_client(&folder) {
            return Err(not_found(
                uri,
                "that run was not made for a client; `tollgate show` shows it to its owner",
            ));
        }
        let contents = match address {
            Address::Run(_) => {
                vec![as_json(uri, &story::run(&folder, &summary).map_err(|e| unreadable(&e))?)]
            }
            Address::Call { call, .. } => {
                let told = story::call(&folder, call).map_err(|error| unreadable(&error))?;
                vec![as_json(uri, &told.ok_or_else(|| not_found(uri, "the run has no such call"))?)]
            }
            Address::Artifact { run, path } => {
                if !story::has_artifact(&folder, path).map_err(|error| unreadable(&error))? {
                    return Err(not_found(uri, "no result of the run names such an artifact"));
                }
                let file = folder.artifact(path).map_err(|error| {
                    let is_gone = matches!(error, JournalError::ArtifactMissing { .. });
                    if is_gone { not_found(uri, "the artifact is gone") } else { unreadable(&error) }
                })?;
                artifact::contents(uri, run, path, file)
                    .map_err(|error| ErrorData::internal_error(error.to_string(), None))?
            }
        };
        Ok(ReadResourceResult::new(contents).with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }
}

/// What the owner of the vault did at the command line is not for clients to read: no rule was asked about that.
fn is_of_a_client(folder: &RunFolder) -> bool {
    folder.header().planner_version.is_some()
}

/// How to name what is not listed.
pub(super) fn templates() -> ListResourceTemplatesResult {
    let template = |uri: &str, name: &str, title: &str, description: &str, kind: Option<&str>| {
        let template = ResourceTemplate::new(uri, name).with_title(title).with_description(description);
        match kind {
            Some(kind) => template.with_mime_type(kind),
            None => template,
        }
    };
    let mut all = ListResourceTemplatesResult::with_all_items(vec![
        template(
            "tollgate://runs/{run}",
            "run",
            "Run",
            "What a run was for, how it stands, its calls and what they changed.",
            Some(JSON),
        ),
        template(
            "tollgate://runs/{run}/calls/{call}",
            "call",
            "Call",
            "One call: what it was called with, how it was decided, its receipt and its result.",
            Some(JSON),
        ),
        template(
            "tollgate://runs/{run}/artifacts/{name}",
            "artifact",
            "Artifact",
            "Output that was too long for a result, as a receipt names it.",
            None,
        ),
    ]);
    (all.ttl_ms, all.cache_scope) = (Some(3_600_000), Some(CacheScope::Private));
    all
}

fn listed(run: &RunSummary) -> Resource {
    let goal: String = run.goal.as_deref().unwrap_or("a run").chars().filter(|c| !is_invisible(*c)).collect();
    let shown: String = goal.chars().take(GOAL_CHARS).collect();
    let state = match &run.state {
        RunState::Running => "running".to_owned(),
        RunState::Interrupted => "interrupted".to_owned(),
        RunState::Finished(status) => status.clone().unwrap_or_else(|| "finished".to_owned()),
        RunState::Damaged(_) => "damaged".to_owned(),
    };
    Resource::new(Address::run_uri(run.run_id.as_str()), run.run_id.as_str())
        .with_title(shown)
        .with_description(format!("{} of {}, {state}", kind_word(run), run.created_at))
        .with_mime_type(JSON)
}

fn kind_word(run: &RunSummary) -> &'static str {
    match run.kind {
        journal::RunKind::Plan => "Plan",
        journal::RunKind::Call => "Call",
        journal::RunKind::Undo => "Undo",
        journal::RunKind::Session => "Calls",
    }
}

fn as_json(uri: &str, value: &Value) -> ResourceContents {
    ResourceContents::text(escape_value(value).to_string(), uri).with_mime_type(JSON)
}

fn not_found(uri: &str, what: &'static str) -> ErrorData {
    let shown: String = uri.chars().take(200).collect();
    ErrorData::resource_not_found(what, Some(json!({ "uri": shown })))
}

fn unreadable(error: &JournalError) -> ErrorData {
    ErrorData::internal_error(format!("the record cannot be read: {error}"), None)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ErrorData> + Send + 'static,
) -> Result<T, ErrorData> {
    let crashed = |_| Err(ErrorData::internal_error("reading the record crashed", None));
    tokio::task::spawn_blocking(work).await.unwrap_or_else(crashed)
}
