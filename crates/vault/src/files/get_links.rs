//! `vault.getLinks`: outgoing links, backlinks and unresolved links.

use envelope::{EntryKind, Failure, Fault, ReceiptFamily, VaultPath};
use receipts::families::links;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{PathKeys, ProjectedResult, Projection};

use super::first_names::first_names;
use super::maybe_vault::MaybeVault;
use super::path_arg::PathArg;
use super::read_tool::ReadTool;
use crate::file_layer::{IoContext, Vault};
use notes::links::{FileKind, LinkKind, LinkResolver, NoteLink, scan};

const DEFAULT_LIMIT: u32 = 200;
const MAX_LIMIT: u32 = 10_000;

pub(crate) struct GetLinks;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// File. Without it: `unresolved` of the whole vault.
    #[serde(default)]
    path: Option<PathArg>,
    /// Default: all.
    #[serde(default)]
    kinds: Vec<LinkGroup>,
    /// Of each kind, up to 10000.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 10_000))]
    limit: u32,
    /// Skip this many of each kind.
    #[serde(default)]
    offset: u64,
}

fn default_limit() -> u32 {
    DEFAULT_LIMIT
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum LinkGroup {
    Outgoing,
    Backlinks,
    Unresolved,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Output {
    /// The file, as it is spelled on disk. Absent for the whole vault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    path: Option<String>,
    /// The kinds that were asked for; all if it is absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    kinds: Vec<LinkGroup>,
    /// Links from the file to others, in the order of the text.
    outgoing: Vec<LinkEntry>,
    /// Links from others to the file, ordered by their path.
    backlinks: Vec<LinkEntry>,
    /// Links that lead to no file.
    unresolved: Vec<LinkEntry>,
    /// Notes and canvases that may hold links too, but have more than 16 MiB, are no UTF-8 text or have a path that is too
    /// long, and folders (with a `/` at the end) that cannot be opened or named; at most 100 of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    not_looked_into: Vec<String>,
    /// True when there are more links than were returned.
    truncated: bool,
    /// How many links of each kind were passed over before these.
    #[serde(default, skip_serializing_if = "is_zero")]
    offset: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// One link.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct LinkEntry {
    /// The file that holds the link.
    from_path: String,
    /// The file that it leads to, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    to_path: Option<String>,
    /// What is linked, as written.
    target: String,
    /// Heading or block in the target, as written after `#`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    fragment: Option<String>,
    /// Line of the link, counted from 1.
    line: u32,
    /// How the link is written.
    kind: LinkForm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum LinkForm {
    Wikilink,
    Embed,
    Markdown,
    MarkdownImage,
    Definition,
    Property,
    Canvas,
}

impl ReadTool for GetLinks {
    const NAME: &'static str = "vault.getLinks";
    const SUMMARY: &'static str = "Get the links from a note, the links to it, and those that lead nowhere.";
    const FAMILY: ReceiptFamily = ReceiptFamily::Links;
    const TIMEOUT_MS: u64 = 120_000;

    type Args = Args;
    type Output = Output;

    fn check(args: &Args) -> Result<(), Fault> {
        if let Some(path) = &args.path {
            return path.existing().map(drop);
        }
        if args.kinds.iter().all(|kind| *kind == LinkGroup::Unresolved) {
            return Ok(());
        }
        Err(Fault::new(Failure::InvalidArguments, "without a `path` only `unresolved` links can be got")
            .hint("name a note in `path`"))
    }

    fn path_keys(_vault: &MaybeVault, _args: &Args) -> PathKeys {
        // Backlinks can only be found by reading all other notes.
        PathKeys::read_vault()
    }

    fn preview(args: &Args) -> String {
        match &args.path {
            Some(path) => format!("Get the links of {}", path.display()),
            None => "Get the links of the vault that lead nowhere".to_owned(),
        }
    }

    fn read(vault: &Vault, args: &Args, io: &dyn IoContext) -> Result<Output, Fault> {
        get_links(vault, args, io)
    }

    fn summary(output: &Output) -> String {
        let Output { outgoing, backlinks, unresolved, truncated, .. } = output;
        let more = if *truncated { ", and there are more" } else { "" };
        match &output.path {
            Some(path) => {
                let counts = [
                    (LinkGroup::Outgoing, format!("{} links out", outgoing.len())),
                    (LinkGroup::Backlinks, format!("{} links in", backlinks.len())),
                    (LinkGroup::Unresolved, format!("{} that lead nowhere", unresolved.len())),
                ];
                // A count of what was not looked for would be wrong.
                let asked = counts.into_iter().filter(|(kind, _)| is_asked(&output.kinds, *kind));
                let counts: Vec<String> = asked.map(|(_, count)| count).collect();
                format!("{path} has {}{more}", counts.join(", "))
            }
            None => format!("Found {} links that lead nowhere{more}", unresolved.len()),
        }
    }

    fn project(output: &Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        let complete = links::LinkLists {
            path: output.path.clone(),
            outgoing: output.outgoing.iter().map(LinkEntry::as_link),
            backlinks: output.backlinks.iter().map(LinkEntry::as_link),
            unresolved: output.unresolved.iter().map(LinkEntry::as_link),
            offset: output.offset,
            more: output.truncated,
            not_looked_into: output.not_looked_into.iter().map(String::as_str).collect(),
        };
        links::project(complete, with)
    }
}

impl LinkEntry {
    fn as_link(&self) -> links::LinkLine<&str> {
        links::LinkLine {
            from_path: &self.from_path,
            to_path: self.to_path.as_deref(),
            target: &self.target,
            fragment: self.fragment.as_deref(),
            line: u64::from(self.line),
            form: self.kind.name(),
        }
    }
}

impl LinkForm {
    /// Returns the name as in the output.
    fn name(self) -> &'static str {
        match self {
            LinkForm::Wikilink => "wikilink",
            LinkForm::Embed => "embed",
            LinkForm::Markdown => "markdown",
            LinkForm::MarkdownImage => "markdown-image",
            LinkForm::Definition => "definition",
            LinkForm::Property => "property",
            LinkForm::Canvas => "canvas",
        }
    }
}

/// Returns whether a kind is one of those that were asked for. None means all.
fn is_asked(asked: &[LinkGroup], kind: LinkGroup) -> bool {
    asked.is_empty() || asked.contains(&kind)
}

/// One page of each kind of links.
struct LinkPages {
    output: Output,
    limit: usize,
    /// How many links of each kind are still to be skipped.
    before: [u64; 3],
}

impl LinkPages {
    fn add(&mut self, kind: LinkGroup, entry: LinkEntry) {
        let (list, before) = match kind {
            LinkGroup::Outgoing => (&mut self.output.outgoing, &mut self.before[0]),
            LinkGroup::Backlinks => (&mut self.output.backlinks, &mut self.before[1]),
            LinkGroup::Unresolved => (&mut self.output.unresolved, &mut self.before[2]),
        };
        if *before > 0 {
            *before -= 1;
        } else if list.len() < self.limit {
            list.push(entry);
        } else {
            self.output.truncated = true;
        }
    }
}

fn get_links(vault: &Vault, args: &Args, io: &dyn IoContext) -> Result<Output, Fault> {
    let limit = args.limit.clamp(1, MAX_LIMIT) as usize;
    let wanted = |kind| is_asked(&args.kinds, kind);
    let index = LinkResolver::new(vault.file_paths(io)?);
    let output = Output { offset: args.offset, kinds: args.kinds.clone(), ..Output::default() };
    let mut pages = LinkPages { output, limit, before: [args.offset; 3] };
    let own = match &args.path {
        Some(path) => Some(own_path(vault, path.existing()?)?),
        None => None,
    };
    if let Some(own) = &own {
        pages.output.path = Some(own.to_string());
        if (wanted(LinkGroup::Outgoing) || wanted(LinkGroup::Unresolved))
            && FileKind::of(own) != FileKind::Other
        {
            let loaded = vault.load(own, io)?;
            for link in scan(FileKind::of(own), loaded.text()?) {
                let to = index.resolve(own, &link);
                let kind = if to.is_some() { LinkGroup::Outgoing } else { LinkGroup::Unresolved };
                if wanted(kind) && !(to.is_none() && link.target.is_empty()) {
                    pages.add(kind, entry(own, to, &link));
                }
            }
        }
    }
    let scan_file = |path: &VaultPath, text: Option<&str>| -> Option<Result<Vec<LinkEntry>, String>> {
        let Some(text) = text else {
            return Some(Err(path.to_string()));
        };
        let found: Vec<LinkEntry> = scan(FileKind::of(path), text)
            .iter()
            .filter(|link| !link.target.is_empty())
            .filter_map(|link| match (&own, index.resolve(path, link)) {
                (Some(own), Some(to)) if to == own && path != own => Some(entry(path, Some(to), link)),
                (None, None) => Some(entry(path, None, link)),
                (Some(_) | None, _) => None,
            })
            .collect();
        (!found.is_empty()).then_some(Ok(found))
    };
    if own.is_none() || wanted(LinkGroup::Backlinks) {
        let extensions = ["md", "canvas"].map(str::to_owned);
        let kind = if own.is_some() { LinkGroup::Backlinks } else { LinkGroup::Unresolved };
        let (found, unopened) = vault.scan_texts(&extensions, &scan_file, io)?;
        let mut not_looked_into = Vec::new();
        for file in found {
            match file {
                Ok(links) => links.into_iter().for_each(|link| pages.add(kind, link)),
                Err(path) => not_looked_into.push(path),
            }
        }
        not_looked_into.extend(unopened);
        pages.output.not_looked_into = first_names(&not_looked_into);
    }
    Ok(pages.output)
}

/// Returns the path of the file as it is spelled on disk.
fn own_path(vault: &Vault, asked: &VaultPath) -> Result<VaultPath, Fault> {
    match vault.entry(asked)? {
        Some(named) if named.kind == EntryKind::File => Ok(named.path),
        Some(_) => Err(Fault::new(Failure::PreconditionFailed, format!("`{asked}` is a folder, not a file"))
            .hint("name a note")),
        None => Err(vault.not_found(asked)),
    }
}

fn entry(from: &VaultPath, to: Option<&VaultPath>, link: &NoteLink) -> LinkEntry {
    LinkEntry {
        from_path: from.to_string(),
        to_path: to.map(VaultPath::to_string),
        target: link.target.clone(),
        fragment: link.fragment.clone(),
        line: link.line,
        kind: match link.kind {
            LinkKind::Wiki => LinkForm::Wikilink,
            LinkKind::Embed => LinkForm::Embed,
            LinkKind::Markdown => LinkForm::Markdown,
            LinkKind::MarkdownImage => LinkForm::MarkdownImage,
            LinkKind::Definition => LinkForm::Definition,
            LinkKind::Property => LinkForm::Property,
            LinkKind::CanvasFile | LinkKind::CanvasText => LinkForm::Canvas,
        },
    }
}
