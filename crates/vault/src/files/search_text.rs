//! `vault.searchText`: finds a text or a pattern in the notes.

use envelope::{Fault, Idempotency, ReceiptFamily, Requirement, Risk, SideEffect};
use receipts::families::search;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{PathKeys, PathScope, ProjectedResult, Projection, StagedTool, ToolCx};

use super::blocking::run_blocking;
use super::first_names::first_names;
use super::maybe_vault::MaybeVault;
use super::path_arg::FolderArg;
use crate::file_layer::{QuerySyntax, SearchPattern, SearchQuery, SearchResults, TextMatch};

const DEFAULT_LIMIT: u32 = 50;
const MAX_LIMIT: u32 = 50_000;
const DEFAULT_SNIPPET: u32 = 120;
const MAX_SNIPPET: u32 = 2_000;
/// Files between two progress reports.
const REPORT_EVERY: u64 = 2_000;
/// Most matches that can be skipped.
const MAX_OFFSET: u64 = 100_000;

pub(crate) struct SearchText {
    pub(crate) vault: MaybeVault,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// A match never crosses a line.
    #[schemars(length(min = 1, max = 10_000))]
    query: String,
    /// `regex`: Rust syntax.
    #[serde(default)]
    mode: SearchMode,
    /// Files and folders. Default: the whole vault.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    paths: Vec<FolderArg>,
    /// Only these, such as `["md"]`.
    #[serde(default)]
    extensions: Vec<String>,
    /// Match case.
    #[serde(default)]
    case_sensitive: bool,
    /// Up to 50000.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 50_000))]
    limit: u32,
    /// Skip this many matches, up to 100000.
    #[serde(default)]
    #[schemars(range(max = 100_000))]
    offset: u64,
    /// 10 to 2000 characters.
    #[serde(default = "default_snippet")]
    #[schemars(range(min = 10, max = 2_000))]
    snippet_length: u32,
}

fn default_limit() -> u32 {
    DEFAULT_LIMIT
}

fn default_snippet() -> u32 {
    DEFAULT_SNIPPET
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SearchMode {
    #[default]
    Plain,
    Regex,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Output {
    /// Ordered by path, part by part, then by place; several on one line are several matches. All text
    /// files are searched, whatever their extension; hidden names (starting with a dot) are left out, and
    /// links are not followed.
    matches: Vec<SearchMatch>,
    /// True when there are more matches after these.
    truncated: bool,
    /// How many files were searched, up to the last match if there are more.
    files_searched: u64,
    /// How many files were passed over because they are no text (they contain a NUL byte) or cannot be read.
    #[serde(default, skip_serializing_if = "is_zero")]
    files_skipped: u64,
    /// How many folders were passed over because they cannot be opened; so nothing in them was searched.
    #[serde(default, skip_serializing_if = "is_zero")]
    folders_skipped: u64,
    /// These folders, each with a `/` at its end; at most 100 of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    not_looked_into: Vec<String>,
    /// How many matches were passed over before these.
    #[serde(default, skip_serializing_if = "is_zero")]
    offset: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct SearchMatch {
    /// Relative to the vault, with `/` between parts. `a\x3Ab.md` is the file `a:b.md`.
    path: String,
    /// The line of the match, counted from 1.
    line: u64,
    /// First byte of the match in the file, counted from 0: the unit of `vault.readFile` and
    /// `vault.patchFile`.
    start: u64,
    /// The byte after the last one of the match.
    end: u64,
    /// The match with what stands around it on its line; `…` where the line goes on.
    snippet: String,
}

impl Args {
    fn pattern(&self) -> Result<SearchPattern, Fault> {
        let syntax = match self.mode {
            SearchMode::Plain => QuerySyntax::Plain,
            SearchMode::Regex => QuerySyntax::Regex,
        };
        SearchPattern::compile(&self.query, syntax, self.case_sensitive)
    }

    fn offset(&self) -> u64 {
        self.offset.min(MAX_OFFSET)
    }

    fn search_query(&self) -> Result<SearchQuery, Fault> {
        let scopes =
            self.paths.iter().map(|path| Ok(path.existing()?.cloned())).collect::<Result<_, Fault>>()?;
        Ok(SearchQuery {
            pattern: self.pattern()?,
            scopes,
            extensions: self
                .extensions
                .iter()
                .map(|given| given.strip_prefix('.').unwrap_or(given).to_lowercase())
                .collect(),
            limit: (self.limit.clamp(1, MAX_LIMIT) as usize).saturating_add(self.offset() as usize),
            snippet_length: self.snippet_length.clamp(1, MAX_SNIPPET) as usize,
        })
    }
}

impl StagedTool for SearchText {
    const NAME: &'static str = "vault.searchText";
    const SUMMARY: &'static str = "Find a text or a regular expression in the files of the vault.";
    const CATEGORY: &'static str = "vault";
    const FAMILY: ReceiptFamily = ReceiptFamily::Search;
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;
    const REQUIRES: &'static [Requirement] = &[Requirement::Vault];

    type Args = Args;
    type Output = Output;
    /// The compiled query.
    type Prepared = Option<SearchQuery>;

    async fn validate(
        &self,
        _cx: &ToolCx,
        args: &Args,
        prepared: &mut Option<SearchQuery>,
    ) -> Result<(), Fault> {
        *prepared = Some(args.search_query()?);
        Ok(())
    }

    fn paths(&self, args: &Args, _prepared: &Option<SearchQuery>) -> PathKeys {
        let reads = if args.paths.is_empty() {
            vec![PathScope::Vault]
        } else {
            args.paths.iter().flat_map(|path| path.path_scopes(&self.vault)).collect()
        };
        PathKeys { reads, writes: Vec::new() }
    }

    fn preview(&self, args: &Args, _prepared: &Option<SearchQuery>) -> String {
        let query = args.query.escape_debug();
        let scope = match args.paths.as_slice() {
            [] => "the vault".to_owned(),
            [one] => one.display(),
            [first, rest @ ..] => format!("{} and {} more", first.display(), rest.len()),
        };
        match args.mode {
            SearchMode::Plain => format!("Search {scope} for \"{query}\""),
            SearchMode::Regex => format!("Search {scope} for the pattern \"{query}\""),
        }
    }

    async fn run(&self, cx: &ToolCx, args: Args, prepared: Option<SearchQuery>) -> Result<Output, Fault> {
        let query = prepared.map_or_else(|| args.search_query(), Ok)?;
        let offset = args.offset();
        let vault = self.vault.get()?;
        let reporter = cx.clone();
        let finds = run_blocking(cx, move |io| {
            let mut found_any = false;
            let mut report = |finds: &SearchResults| {
                let done = finds.searched + finds.skipped;
                let first = !found_any && !finds.matches.is_empty();
                found_any |= first;
                if first || done.is_multiple_of(REPORT_EVERY) {
                    reporter.progress(done, None, progress_text(finds));
                }
            };
            vault.search(&query, &mut report, io)
        })
        .await?;
        Ok(Output {
            matches: finds.matches.into_iter().skip(offset as usize).map(SearchMatch::from).collect(),
            truncated: finds.more,
            files_searched: finds.searched,
            files_skipped: finds.skipped,
            folders_skipped: finds.not_looked_into.len() as u64,
            not_looked_into: first_names(&finds.not_looked_into),
            offset,
        })
    }

    fn summary(&self, output: &Output) -> String {
        let matches = match (output.matches.len(), output.offset, output.truncated) {
            (0, 0, _) => "Found nothing".to_owned(),
            (0, before, _) => format!("Found nothing after the first {before} matches"),
            (1, 0, false) => "Found 1 match".to_owned(),
            (count, 0, false) => format!("Found {count} matches"),
            (count, 0, true) => format!("Found the first {count} matches; there are more"),
            (count, before, false) => format!("Found matches {} to {}", before + 1, before + count as u64),
            (count, before, true) => {
                format!("Found matches {} to {}; there are more", before + 1, before + count as u64)
            }
        };
        match (output.files_searched, output.truncated) {
            (_, true) => matches,
            (1, false) => format!("{matches}; 1 file searched"),
            (files, false) => format!("{matches}; {files} files searched"),
        }
    }

    fn project(&self, output: &Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        let matches = output.matches.iter().map(|found| search::MatchEntry {
            path: found.path.as_str(),
            line: found.line,
            start: found.start,
            end: found.end,
            snippet: found.snippet.as_str(),
        });
        let complete = search::SearchOutput {
            matches,
            offset: output.offset,
            more: output.truncated,
            files_searched: output.files_searched,
            files_skipped: output.files_skipped,
            folders_skipped: output.folders_skipped,
            not_looked_into: output.not_looked_into.iter().map(String::as_str).collect(),
        };
        search::project(complete, with)
    }
}

/// Returns the progress so far with the latest match.
fn progress_text(finds: &SearchResults) -> String {
    match finds.matches.as_slice() {
        [] => "no match so far".to_owned(),
        [one] => format!("1 match so far, in {}", one.path),
        [.., last] => format!("{} matches so far, the last in {}", finds.matches.len(), last.path),
    }
}

impl From<TextMatch> for SearchMatch {
    fn from(found: TextMatch) -> SearchMatch {
        let TextMatch { path, line, start, end, snippet } = found;
        SearchMatch { path: path.as_ref().to_owned(), line, start, end, snippet }
    }
}
