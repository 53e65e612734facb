//! `vault.listFiles`: lists a folder, page by page.

use std::sync::Arc;

use envelope::{EntryKind, Failure, Fault, Idempotency, ReceiptFamily, Requirement, Risk, SideEffect};
use receipts::families::listing;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{PathKeys, ProjectedResult, Projection, Tool, ToolCx};

use super::blocking::run_blocking;
use super::first_names::first_names;
use super::maybe_vault::MaybeVault;
use super::page_marks::{PageMarks, PageStart};
use super::path_arg::{FolderArg, PathArg};
use crate::file_layer::{ListEntry, ListStart, ListingQuery};

const DEFAULT_LIMIT: u32 = 1_000;
const MAX_LIMIT: u32 = 100_000;

pub(crate) struct ListFiles {
    vault: MaybeVault,
    page_marks: Arc<PageMarks>,
}

impl ListFiles {
    pub(crate) fn new(vault: MaybeVault) -> ListFiles {
        ListFiles { vault, page_marks: Arc::default() }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// Folder. Default: the whole vault.
    #[serde(default)]
    #[schemars(default = "String::new")]
    prefix: FolderArg,
    /// List everything below it.
    #[serde(default)]
    recursive: bool,
    /// Only these, such as `["md"]`.
    #[serde(default)]
    extensions: Vec<String>,
    /// Up to 100000.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100_000))]
    limit: u32,
    /// `nextOffset` of the page before.
    #[serde(default)]
    offset: u64,
    /// Begin after this path, in place of `offset`.
    #[serde(default)]
    after: Option<PathArg>,
    /// Show sizes and times.
    #[serde(default)]
    details: bool,
}

fn default_limit() -> u32 {
    DEFAULT_LIMIT
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Output {
    /// Ordered by path, part by part; a folder comes before what is in it. Hidden names (starting with a
    /// dot) are left out.
    items: Vec<FileEntry>,
    /// The `offset` of the next page, when there is one. Absent after a page that was asked for with `after`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    next_offset: Option<u64>,
    /// True when there are more entries after these.
    truncated: bool,
    /// How many names were passed over because their paths are too long for a tool.
    #[serde(default, skip_serializing_if = "is_zero")]
    unusable: u64,
    /// These names, as far as they match; folders end in `/`. At most 100 of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unusable_names: Vec<String>,
    /// How many folders cannot be opened, so that their content is missing here.
    #[serde(default, skip_serializing_if = "is_zero")]
    folders_skipped: u64,
    /// These folders, each with a `/` at its end; at most 100 of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    not_looked_into: Vec<String>,
    /// True when sizes and times were asked to be shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    details: bool,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct FileEntry {
    /// Relative to the vault, with `/` between parts. `a\x3Ab.md` is the file `a:b.md`.
    path: String,
    kind: EntryKind,
    /// Files only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    size_bytes: Option<u64>,
    /// When the file was last changed, in milliseconds since 1970 UTC. Files only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    mtime_ms: Option<i64>,
}

impl Args {
    fn query(&self) -> Result<ListingQuery, Fault> {
        let start = match &self.after {
            None => ListStart::Offset(self.offset),
            Some(after) if self.offset == 0 => ListStart::After(after.existing()?.clone()),
            Some(_) => {
                return Err(Fault::new(
                    Failure::InvalidArguments,
                    "`offset` and `after` are two ways to say where a page begins",
                )
                .hint("give one of them"));
            }
        };
        Ok(ListingQuery {
            folder: self.prefix.existing()?.cloned(),
            recursive: self.recursive,
            extensions: self
                .extensions
                .iter()
                .map(|given| given.strip_prefix('.').unwrap_or(given).to_lowercase())
                .collect(),
            start,
            limit: self.limit.clamp(1, MAX_LIMIT) as usize,
        })
    }
}

/// Returns the query for a page that follows a recently listed one: it starts after the last path of that page.
fn marked(page_marks: &PageMarks, query: &ListingQuery) -> Option<ListingQuery> {
    match query.start {
        // The first page never uses a mark.
        ListStart::Offset(0) | ListStart::After(_) => None,
        ListStart::Offset(offset) => page_marks
            .find(&page(query, offset))
            .map(|last| ListingQuery { start: ListStart::After(last), ..query.clone() }),
    }
}

fn page(query: &ListingQuery, offset: u64) -> PageStart {
    PageStart {
        folder: query.folder.clone(),
        recursive: query.recursive,
        extensions: query.extensions.clone(),
        offset,
    }
}

impl Tool for ListFiles {
    const NAME: &'static str = "vault.listFiles";
    const SUMMARY: &'static str = "List the files and folders of a folder, or of everything below it.";
    const CATEGORY: &'static str = "vault";
    const FAMILY: ReceiptFamily = ReceiptFamily::Listing;
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;
    const REQUIRES: &'static [Requirement] = &[Requirement::Vault];

    type Args = Args;
    type Output = Output;

    async fn validate(&self, _cx: &ToolCx, args: &Args) -> Result<(), Fault> {
        args.query().map(drop)
    }

    fn paths(&self, args: &Args) -> PathKeys {
        PathKeys { reads: args.prefix.path_scopes(&self.vault), writes: Vec::new() }
    }

    fn preview(&self, args: &Args) -> String {
        let what = if args.recursive { "everything below" } else { "what is in" };
        format!("List {what} {}", args.prefix.display())
    }

    async fn run(&self, cx: &ToolCx, args: Args) -> Result<Output, Fault> {
        let (query, vault, page_marks) = (args.query()?, self.vault.get()?, self.page_marks.clone());
        let (listing, next_offset) = run_blocking(cx, move |io| {
            let listing = match marked(&page_marks, &query).map(|marked| vault.list(&marked, io)) {
                // A mark can become invalid: a link on its path may lead to another folder.
                None | Some(Err(Fault { failure: Failure::InvalidArguments, .. })) => {
                    vault.list(&query, io)?
                }
                Some(listing) => listing?,
            };
            let mut next_offset = None;
            if let (ListStart::Offset(offset), true, Some(last)) =
                (&query.start, listing.more, listing.entries.last())
            {
                let end = offset.saturating_add(listing.entries.len() as u64);
                page_marks.remember(page(&query, end), last.path.clone());
                next_offset = Some(end);
            }
            Ok((listing, next_offset))
        })
        .await?;
        Ok(Output {
            items: listing.entries.into_iter().map(FileEntry::from).collect(),
            next_offset,
            truncated: listing.more,
            unusable: listing.unusable,
            unusable_names: first_names(&listing.unusable_names),
            folders_skipped: listing.not_looked_into.len() as u64,
            not_looked_into: first_names(&listing.not_looked_into),
            details: args.details,
        })
    }

    fn summary(&self, output: &Output) -> String {
        let more = if output.truncated { ", and there are more" } else { "" };
        match output.items.len() {
            1 => format!("Found 1 entry{more}"),
            count => format!("Found {count} entries{more}"),
        }
    }

    fn project(&self, output: &Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        let entries = output.items.iter().map(|item| listing::ListingEntry {
            path: item.path.as_str(),
            kind: item.kind,
            size_bytes: item.size_bytes.filter(|_| output.details),
            mtime_ms: item.mtime_ms.filter(|_| output.details),
        });
        let (more, unusable) = (output.truncated, output.unusable);
        let not_looked_into = output.not_looked_into.iter().map(String::as_str).collect();
        let folders_skipped = output.folders_skipped;
        let unusable_names = output.unusable_names.iter().map(String::as_str).collect();
        let complete = listing::FileListing {
            entries,
            more,
            unusable,
            unusable_names,
            folders_skipped,
            not_looked_into,
        };
        listing::project(complete, with)
    }
}

impl From<ListEntry> for FileEntry {
    fn from(entry: ListEntry) -> FileEntry {
        FileEntry {
            path: entry.path.into_string(),
            kind: entry.kind,
            size_bytes: entry.size,
            mtime_ms: entry.mtime_ms,
        }
    }
}
