//! `vault.getLinks`: where a note leads, what leads to it, and what leads nowhere.

use std::fmt::Write as _;

use envelope::{EntryKind, Failure, Fault, Idempotency, Requirement, Risk, SideEffect, VaultPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{PathKeys, Tool, ToolCx};

use super::blocking::blocking;
use super::given_path::GivenPath;
use super::maybe_vault::MaybeVault;
use crate::links::{FileKind, Link, LinkKind, VaultIndex, scan};
use crate::sandbox::{Vault, Witness};

const DEFAULT_LIMIT: u32 = 200;
const MAX_LIMIT: u32 = 10_000;
/// Links shown to the model at once.
const RECEIPT_LINES: usize = 100;

pub(crate) struct GetLinks {
    pub(crate) vault: MaybeVault,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// The file whose links to get, relative to the vault. Left out: only `unresolved`, for the whole vault.
    #[serde(default)]
    path: Option<GivenPath>,
    /// Which links to get: `outgoing` from the file, `backlinks` to it, `unresolved` ones that lead to no
    /// file. Left out: all three for a file, `unresolved` for the vault.
    #[serde(default)]
    kinds: Vec<Kind>,
    /// Most links to return of each kind, 1 to 10000. Left out: 200.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 10_000))]
    limit: u32,
}

fn default_limit() -> u32 {
    DEFAULT_LIMIT
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Kind {
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
    /// Links from the file to others, in the order of the text.
    outgoing: Vec<LinkEntry>,
    /// Links from others to the file, ordered by their path.
    backlinks: Vec<LinkEntry>,
    /// Links that lead to no file.
    unresolved: Vec<LinkEntry>,
    /// True when there are more links than were returned.
    truncated: bool,
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
    kind: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum Form {
    Wikilink,
    Embed,
    Markdown,
    MarkdownImage,
    Definition,
    Property,
    Canvas,
}

impl Tool for GetLinks {
    const NAME: &'static str = "vault.getLinks";
    const SUMMARY: &'static str = "Get the links from a note, the links to it, and those that lead nowhere.";
    const CATEGORY: &'static str = "vault";
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;
    const REQUIRES: &'static [Requirement] = &[Requirement::Vault];
    const TIMEOUT_MS: u64 = 120_000;

    type Args = Args;
    type Output = Output;

    async fn validate(&self, _cx: &ToolCx, args: &Args) -> Result<(), Fault> {
        if let Some(path) = &args.path {
            return path.get().map(drop);
        }
        if args.kinds.iter().all(|kind| *kind == Kind::Unresolved) {
            return Ok(());
        }
        Err(Fault::new(Failure::InvalidArguments, "without a `path` only `unresolved` links can be got")
            .hint("name a note in `path`"))
    }

    fn paths(&self, _args: &Args) -> PathKeys {
        // What leads to a note can only be found by reading all others.
        PathKeys::read_vault()
    }

    fn preview(&self, args: &Args) -> String {
        match &args.path {
            Some(path) => format!("Get the links of {}", path.shown()),
            None => "Get the links of the vault that lead nowhere".to_owned(),
        }
    }

    async fn run(&self, cx: &ToolCx, args: Args) -> Result<Output, Fault> {
        let vault = self.vault.get()?;
        blocking(cx, move |witness| get_links(&vault, &args, witness)).await
    }

    fn summary(&self, output: &Output) -> String {
        let Output { outgoing, backlinks, unresolved, truncated, .. } = output;
        let more = if *truncated { ", and there are more" } else { "" };
        match &output.path {
            Some(path) => format!(
                "{path} has {} links out, {} links in, {} that lead nowhere{more}",
                outgoing.len(),
                backlinks.len(),
                unresolved.len()
            ),
            None => format!("Found {} links that lead nowhere{more}", unresolved.len()),
        }
    }

    fn receipt(&self, output: &Output) -> String {
        let mut text = self.summary(output);
        let kinds = [("out", &output.outgoing), ("in", &output.backlinks), ("nowhere", &output.unresolved)];
        let entries = kinds.iter().flat_map(|(name, links)| links.iter().map(move |link| (*name, link)));
        for (name, link) in entries.take(RECEIPT_LINES) {
            let to = link.to_path.as_deref().unwrap_or("?");
            write!(text, "\n{name}: {}:{} [{}] -> {to}", link.from_path, link.line, link.target).ok();
        }
        text
    }
}

/// One list that is full at its limit.
struct Bounded<'a> {
    list: &'a mut Vec<LinkEntry>,
    truncated: &'a mut bool,
    limit: usize,
}

impl Bounded<'_> {
    fn add(self, entry: LinkEntry) {
        if self.list.len() < self.limit {
            self.list.push(entry);
        } else {
            *self.truncated = true;
        }
    }
}

fn get_links(vault: &Vault, args: &Args, witness: &dyn Witness) -> Result<Output, Fault> {
    let limit = args.limit.clamp(1, MAX_LIMIT) as usize;
    let wanted = |kind| args.kinds.is_empty() || args.kinds.contains(&kind);
    let index = VaultIndex::new(vault.file_paths(witness)?);
    let mut output = Output::default();
    let own = match &args.path {
        Some(path) => Some(own_path(vault, path.get()?)?),
        None => None,
    };
    if let Some(own) = &own {
        output.path = Some(own.to_string());
        if (wanted(Kind::Outgoing) || wanted(Kind::Unresolved)) && FileKind::of(own) != FileKind::Other {
            let loaded = vault.load(own, witness)?;
            for link in scan(FileKind::of(own), loaded.text()?) {
                let to = index.resolve(own, &link);
                let (list, asked) = match to {
                    Some(_) => (&mut output.outgoing, wanted(Kind::Outgoing)),
                    None => (&mut output.unresolved, wanted(Kind::Unresolved)),
                };
                if asked && !(to.is_none() && link.target.is_empty()) {
                    Bounded { list, truncated: &mut output.truncated, limit }.add(entry(own, to, &link));
                }
            }
        }
    }
    let look = |path: &VaultPath, text: Option<&str>| -> Option<Vec<LinkEntry>> {
        let found: Vec<LinkEntry> = scan(FileKind::of(path), text?)
            .iter()
            .filter(|link| !link.target.is_empty())
            .filter_map(|link| match (&own, index.resolve(path, link)) {
                (Some(own), Some(to)) if to == own && path != own => Some(entry(path, Some(to), link)),
                (None, None) => Some(entry(path, None, link)),
                (Some(_) | None, _) => None,
            })
            .collect();
        (!found.is_empty()).then_some(found)
    };
    if own.is_none() || wanted(Kind::Backlinks) {
        let extensions = ["md", "canvas"].map(str::to_owned);
        for link in vault.through_texts(&extensions, &look, witness)?.into_iter().flatten() {
            let list = if own.is_some() { &mut output.backlinks } else { &mut output.unresolved };
            Bounded { list, truncated: &mut output.truncated, limit }.add(link);
        }
    }
    Ok(output)
}

/// The file as it is spelled on disk.
fn own_path(vault: &Vault, asked: &VaultPath) -> Result<VaultPath, Fault> {
    match vault.entry(asked)? {
        Some(named) if named.kind == EntryKind::File => Ok(named.path),
        Some(_) => Err(Fault::new(Failure::PreconditionFailed, format!("`{asked}` is a folder, not a file"))
            .hint("name a note")),
        None => Err(vault.not_found(asked)),
    }
}

fn entry(from: &VaultPath, to: Option<&VaultPath>, link: &Link) -> LinkEntry {
    LinkEntry {
        from_path: from.to_string(),
        to_path: to.map(VaultPath::to_string),
        target: link.target.clone(),
        fragment: link.fragment.clone(),
        line: link.line,
        kind: match link.kind {
            LinkKind::Wiki => Form::Wikilink,
            LinkKind::Embed => Form::Embed,
            LinkKind::Markdown => Form::Markdown,
            LinkKind::MarkdownImage => Form::MarkdownImage,
            LinkKind::Definition => Form::Definition,
            LinkKind::Property => Form::Property,
            LinkKind::CanvasFile | LinkKind::CanvasText => Form::Canvas,
        },
    }
}
