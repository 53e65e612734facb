//! Recorded runs as MCP resources: runs, their calls, and their artifacts.
//!
//! Only artifacts that a result names are served, opened below the folder of their run and without following links.
//! Reading takes no lock, runs on a blocking thread, and holds at most one response in memory.

mod address;
mod artifact;
mod run_json;

use envelope::{RunId, escape_value, is_invisible};
use journal::{JournalError, JournalRecord, RunFolder, RunState, RunSummary, RunsFolder};
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, CompleteRequestParams, CompleteResult, CompletionInfo, ListResourceTemplatesResult,
    ListResourcesResult, ReadResourceResult, Reference, Resource, ResourceContents, ResourceTemplate,
};
use serde_json::{Value, json};

pub(super) use self::address::ResourceAddress;

/// Runs on one page of the list.
const PAGE: usize = 50;
/// Runs that are examined for one page. If many of them are not for clients, the page is shorter.
const MOST_LOOKED_AT: usize = 1_000;
/// Artifacts of the current run on the list. The calls of a run name all of its artifacts.
const ARTIFACTS: usize = 50;
/// Longest goal on the list.
const GOAL_CHARS: usize = 120;
const JSON: &str = "application/json";

/// The runs of a vault.
#[derive(Debug, Clone)]
pub(super) struct RecordResources {
    pub(super) runs: RunsFolder,
}

impl RecordResources {
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

    /// Returns the run ids that begin with the typed text, to complete a template.
    pub(super) async fn complete(self, request: CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
        let Reference::Resource(template) = request.r#ref else { return Ok(CompleteResult::default()) };
        if !template.uri.starts_with(address::SCHEME) || request.argument.name != "run" {
            return Ok(CompleteResult::default());
        }
        blocking(move || {
            let mut fitting = self.runs.ids().map_err(|error| unreadable(&error))?;
            fitting.retain(|run| run.as_str().starts_with(&request.argument.value));
            // Reads the summaries only of these, so that a client learns no run id of another vault.
            fitting.truncate(MOST_LOOKED_AT);
            fitting.retain(|run| self.runs.summary(run.as_str()).is_some());
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

    /// Returns one page, newest runs first. The first page also has the artifacts of the current run. The cursor is
    /// the last run that was examined for the page before.
    fn page(&self, cursor: Option<&str>, current: Option<&RunId>) -> Result<ListResourcesResult, ErrorData> {
        let mut ids = self.runs.ids().map_err(|error| unreadable(&error))?;
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
            let of_client = self.client_run(run);
            // The list has another page only if there is a run for it.
            if looked_at == MOST_LOOKED_AT || (room == 0 && of_client.is_some()) {
                is_all = false;
                break;
            }
            if let Some(run) = of_client {
                resources.push(run_resource(&run));
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

    /// Returns the summary of a run if clients may see it. A damaged run is listed; reading it returns the error.
    fn client_run(&self, run: &RunId) -> Option<RunSummary> {
        match self.runs.open(run.as_str()) {
            Ok(folder) if !is_client_run(&folder) => None,
            Ok(_) | Err(_) => self.runs.summary(run.as_str()),
        }
    }

    /// Returns no artifacts for a run that cannot be read; reading the run returns the error.
    fn artifacts_of(&self, run: &RunId) -> Vec<Resource> {
        let Ok(folder) = self.runs.open(run.as_str()) else { return Vec::new() };
        let Ok(records) = folder.records() else { return Vec::new() };
        let results = records.map_while(Result::ok).filter_map(|entry| match entry.record {
            JournalRecord::Result(result) => Some(*result),
            JournalRecord::Call(_) | JournalRecord::Event(_) => None,
        });
        let listed = results.flat_map(|result| {
            let (tool, artifacts) = (result.tool, result.artifacts);
            artifacts.into_iter().map(move |artifact| {
                let uri = ResourceAddress::artifact_uri(run.as_str(), &artifact.path);
                Resource::new(uri, artifact.path)
                    .with_size(artifact.bytes)
                    .with_description(format!("Left by {tool} in this session"))
            })
        });
        listed.take(ARTIFACTS).collect()
    }

    fn resource(&self, uri: &str) -> Result<ReadResourceResult, ErrorData> {
        let address = ResourceAddress::parse(uri).ok_or_else(|| {
            not_found(uri, "unknown resource; resources/templates/list shows the available ones")
        })?;
        let run = address.run();
        let summary = self.runs.summary(run).ok_or_else(|| not_found(uri, "the run is not recorded"))?;
        let folder = self.runs.open(run).map_err(|error| unreadable(&error))?;
        if !is_client_run(&folder) {
            return Err(not_found(
                uri,
                "that run was not made for a client; `tollgate show` shows it to its owner",
            ));
        }
        let contents = match address {
            ResourceAddress::Run(_) => {
                vec![json_contents(uri, &run_json::run_json(&folder, &summary).map_err(|e| unreadable(&e))?)]
            }
            ResourceAddress::Call { call, .. } => {
                let report = run_json::call_json(&folder, call).map_err(|error| unreadable(&error))?;
                vec![json_contents(uri, &report.ok_or_else(|| not_found(uri, "the run has no such call"))?)]
            }
            ResourceAddress::Artifact { run, path } => {
                if !run_json::has_artifact(&folder, path).map_err(|error| unreadable(&error))? {
                    return Err(not_found(uri, "no result of the run names such an artifact"));
                }
                let file = folder.artifact(path).map_err(|error| {
                    let is_gone = matches!(error, JournalError::ArtifactMissing { .. });
                    if is_gone { not_found(uri, "the artifact was removed") } else { unreadable(&error) }
                })?;
                artifact::contents(uri, run, path, file)
                    .map_err(|error| ErrorData::internal_error(error.to_string(), None))?
            }
        };
        Ok(ReadResourceResult::new(contents).with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }
}

/// Runs of the vault's owner on the command line are not readable by clients: no rule was asked about them.
fn is_client_run(folder: &RunFolder) -> bool {
    folder.header().planner_version.is_some()
}

/// Returns the templates of resources that are not listed.
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
            "The goal of a run, its status, its calls and what they changed.",
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

fn run_resource(run: &RunSummary) -> Resource {
    let goal: String = run.goal.as_deref().unwrap_or("a run").chars().filter(|c| !is_invisible(*c)).collect();
    let shown: String = goal.chars().take(GOAL_CHARS).collect();
    let state = match &run.state {
        RunState::Running => "running".to_owned(),
        RunState::Interrupted => "interrupted".to_owned(),
        RunState::Finished(status) => status.clone().unwrap_or_else(|| "finished".to_owned()),
        RunState::Damaged(_) => "damaged".to_owned(),
    };
    Resource::new(ResourceAddress::run_uri(run.run_id.as_str()), run.run_id.as_str())
        .with_title(shown)
        .with_description(format!("{} of {}, {state}", kind_word(run), run.created_at))
        .with_mime_type(JSON)
}

fn kind_word(run: &RunSummary) -> &'static str {
    match run.kind {
        journal::RunKind::Plan => "Plan",
        journal::RunKind::Call => "Call",
        journal::RunKind::Undo => "Undo",
        journal::RunKind::PartialUndo => "Partial undo",
        journal::RunKind::Session => "Calls",
    }
}

fn json_contents(uri: &str, value: &Value) -> ResourceContents {
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
