//! Changes that are only imagined: a layer over the vault that a preview writes to.
//!
//! Later steps of a plan see what earlier ones would have written, and the disk is never touched. The layer
//! knows for each path it was told about what would be there; everything else is what is on disk, at the
//! path that a move of it or of a folder above it would have taken it from.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use envelope::{EntryKind, Failure, Fault, FileState, VaultPath};

use super::change::Witness;
use super::etag::etag_of;
use super::fault;
use super::folder::{self, Kind};
use super::replace::{changed, gone};
use super::step::{Content, DEFAULT_MODE, Step};
use super::survey::{Seen, Survey};
use super::vault::Vault;
use super::write::Written;

/// What would be at a path.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// As it would be spelled.
    pub(super) path: VaultPath,
    pub(super) what: What,
}

#[derive(Debug, Clone)]
pub(super) enum What {
    Gone,
    /// A new folder.
    Folder,
    /// New or changed content; `origin` is where the file is on disk, if it is.
    File {
        bytes: Arc<[u8]>,
        mode: u32,
        origin: Option<VaultPath>,
    },
    /// What is on disk at another path, a folder with all that is in it.
    FromDisk {
        at: VaultPath,
        kind: EntryKind,
    },
}

/// By folded path.
type Nodes = BTreeMap<String, Node>;

#[derive(Debug, Default)]
pub(super) struct Layer {
    nodes: Mutex<Nodes>,
}

/// Where a path leads.
pub(super) enum Lead {
    /// To this path on disk, if anything is there.
    Disk(VaultPath),
    /// To a folder that is only imagined.
    Folder,
    File {
        bytes: Arc<[u8]>,
        mode: u32,
    },
    /// Nowhere: this many of its names are missing.
    Nowhere {
        missing: usize,
    },
}

/// One name in a folder as the layer shows it.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    pub(super) path: VaultPath,
    pub(super) kind: EntryKind,
    /// Where its content is on disk; none when it is only imagined.
    pub(super) on_disk: Option<VaultPath>,
}

impl Layer {
    pub(super) fn nodes(&self) -> MutexGuard<'_, Nodes> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows a path through everything that was imagined.
    pub(super) fn lead(&self, path: &VaultPath) -> Result<Lead, Fault> {
        let nodes = self.nodes();
        let names: Vec<&str> = path.segments().collect();
        let mut here = Some(String::new());
        let mut prefix = String::new();
        for (index, name) in names.iter().enumerate() {
            prefix = joined(&prefix, name);
            let left = names.len() - index - 1;
            match nodes.get(&VaultPath::fold_name(&prefix)).map(|node| (&node.what, node.path.as_str())) {
                Some((What::Gone, _)) => return Ok(Lead::Nowhere { missing: left + 1 }),
                // Another spelling of the same name is a twin, not this.
                Some((_, spelled)) if spelled != prefix => return Ok(Lead::Nowhere { missing: left + 1 }),
                Some((What::Folder, _)) => here = None,
                Some((What::File { bytes, mode, .. }, _)) if left == 0 => {
                    return Ok(Lead::File { bytes: bytes.clone(), mode: *mode });
                }
                Some((What::File { .. }, _)) => return Err(fault::below_a_file(&prefix)),
                Some((What::FromDisk { at, .. }, _)) => here = Some(at.to_string()),
                None => match &mut here {
                    Some(on_disk) => *on_disk = joined(on_disk, name),
                    None => return Ok(Lead::Nowhere { missing: left + 1 }),
                },
            }
        }
        match here {
            Some(on_disk) => Ok(Lead::Disk(parsed(&on_disk)?)),
            None => Ok(Lead::Folder),
        }
    }

    /// What a folder would hold, by name; `None` is the vault. Hidden names are left out.
    pub(super) fn children(&self, vault: &Vault, folder: Option<&VaultPath>) -> Result<Vec<Shown>, Fault> {
        let on_disk = match folder.map(|folder| self.lead(folder)).transpose()? {
            None => Some(None),
            Some(Lead::Disk(at)) => Some(Some(at)),
            Some(Lead::Folder) => None,
            Some(Lead::File { .. } | Lead::Nowhere { .. }) => return Ok(Vec::new()),
        };
        let mut shown = Vec::new();
        if let Some(at) = on_disk {
            self.children_on_disk(vault, folder, at.as_ref(), &mut shown)?;
        }
        for node in self.below(folder) {
            if node.path.parent().as_ref().map(VaultPath::folded) != folder.map(VaultPath::folded) {
                continue;
            }
            let (kind, on_disk) = match &node.what {
                What::Gone => continue,
                What::Folder => (EntryKind::Folder, None),
                What::File { .. } => (EntryKind::File, None),
                What::FromDisk { at, kind } => (*kind, Some(at.clone())),
            };
            shown.push(Shown { path: node.path, kind, on_disk });
        }
        shown.retain(|entry| !super::locate::is_hidden(entry.path.name()));
        shown.sort_by(|a, b| a.path.name().cmp(b.path.name()));
        Ok(shown)
    }

    fn children_on_disk(
        &self,
        vault: &Vault,
        folder: Option<&VaultPath>,
        at: Option<&VaultPath>,
        shown: &mut Vec<Shown>,
    ) -> Result<(), Fault> {
        let Ok(open) = vault.open_folder(at) else {
            return Ok(());
        };
        let path = at.map_or("the vault", VaultPath::as_str);
        let names = folder::names(&open.dir).map_err(|error| fault::from_errno("list", path, error))?;
        for named in names.named {
            let Ok(logical) = VaultPath::parse(&super::locate::child(folder, &named.name)) else { continue };
            let Ok(real) = VaultPath::parse(&super::locate::child(at, &named.name)) else { continue };
            if logical.protected_by().is_some() || self.nodes().contains_key(&logical.folded()) {
                continue;
            }
            let kind = match folder::stat(&open.dir, &named.name).map(|stat| folder::kind(&stat)) {
                Ok(Kind::File) => EntryKind::File,
                Ok(Kind::Folder) => EntryKind::Folder,
                Ok(Kind::Link) => match vault.look_on_disk(&real) {
                    Some(kind) => kind,
                    None => continue,
                },
                Ok(Kind::Other) | Err(_) => continue,
            };
            shown.push(Shown { path: logical, kind, on_disk: Some(real) });
        }
        Ok(())
    }

    /// The nodes below a folder, in order.
    fn below(&self, folder: Option<&VaultPath>) -> Vec<Node> {
        let prefix = folder.map_or_else(String::new, |folder| format!("{}/", folder.folded()));
        let nodes = self.nodes();
        nodes
            .range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded))
            .take_while(|(key, _)| key.starts_with(&prefix))
            .map(|(_, node)| node.clone())
            .collect()
    }

    /// Makes a step in imagination.
    pub(super) fn apply(
        &self,
        vault: &Vault,
        step: &Step,
        witness: &dyn Witness,
    ) -> Result<Option<Written>, Fault> {
        match step {
            Step::MakeFolder { path } => match self.survey(vault, path, witness)?.seen {
                Seen::Folder => return Ok(None),
                Seen::Nothing => self.put(path, What::Folder),
                Seen::File { .. } | Seen::Other => return Err(taken(path)),
            },
            Step::CreateFile { path, content, mode } => {
                if self.survey(vault, path, witness)?.seen != Seen::Nothing {
                    return Err(taken(path));
                }
                return self.write(path, content, mode.unwrap_or(DEFAULT_MODE), step, witness).map(Some);
            }
            Step::ReplaceFile { path, before, content, mode } => {
                self.expect(vault, path, before, witness)?;
                return self.write(path, content, mode.unwrap_or(before.mode), step, witness).map(Some);
            }
            Step::RemoveFile { path, before } => {
                self.expect(vault, path, before, witness)?;
                self.put(path, What::Gone);
            }
            Step::RemoveFolder { path } => self.put(path, What::Gone),
            Step::Move { from, to, kind } => self.relocate(vault, from, to, *kind, witness)?,
        }
        witness.saw(step.change());
        Ok(None)
    }

    fn put(&self, path: &VaultPath, what: What) {
        self.nodes().insert(path.folded(), Node { path: path.clone(), what });
    }

    fn write(
        &self,
        path: &VaultPath,
        content: &Content,
        mode: u32,
        step: &Step,
        witness: &dyn Witness,
    ) -> Result<Written, Fault> {
        let bytes = match content {
            Content::Bytes(bytes) => bytes.clone(),
            Content::Kept(_) => {
                let mut bytes = Vec::new();
                content.write_to(&mut bytes, witness)?;
                bytes.into()
            }
        };
        let created = matches!(step, Step::CreateFile { .. });
        let origin = match (created, self.nodes().get(&path.folded()).map(|node| &node.what)) {
            (true, _) | (false, Some(What::Gone | What::Folder)) => None,
            (false, None) => Some(path.clone()),
            (false, Some(What::File { origin, .. })) => origin.clone(),
            (false, Some(What::FromDisk { at, .. })) => Some(at.clone()),
        };
        // A file below a moved folder is on disk where the folder was.
        let origin = match (origin, self.lead(path)?) {
            (Some(_), Lead::Disk(at)) => Some(at),
            (origin, Lead::Disk(_) | Lead::Folder | Lead::File { .. } | Lead::Nowhere { .. }) => origin,
        };
        let etag = etag_of(&bytes);
        self.put(path, What::File { bytes, mode, origin });
        witness.saw(step.change());
        Ok(Written { path: path.clone(), etag, mtime_ms: None, created })
    }

    fn expect(
        &self,
        vault: &Vault,
        path: &VaultPath,
        before: &FileState,
        witness: &dyn Witness,
    ) -> Result<(), Fault> {
        match self.survey(vault, path, witness)?.seen {
            Seen::File { state, .. } if state.hash == before.hash => Ok(()),
            Seen::File { state, .. } => Err(changed(path, before, &state)),
            Seen::Nothing | Seen::Folder | Seen::Other => Err(gone(path)),
        }
    }

    fn relocate(
        &self,
        vault: &Vault,
        from: &VaultPath,
        to: &VaultPath,
        kind: EntryKind,
        witness: &dyn Witness,
    ) -> Result<(), Fault> {
        let respelled = from.folded() == to.folded();
        if !respelled && self.survey(vault, to, witness)?.seen != Seen::Nothing {
            return Err(taken(to));
        }
        let what = match self.lead(from)? {
            Lead::Nowhere { .. } => return Err(gone(from)),
            Lead::Disk(at) => What::FromDisk { at, kind },
            Lead::Folder => What::Folder,
            Lead::File { bytes, mode } => {
                let origin = match self.nodes().get(&from.folded()).map(|node| &node.what) {
                    Some(What::File { origin, .. }) => origin.clone(),
                    Some(What::Gone | What::Folder | What::FromDisk { .. }) | None => None,
                };
                What::File { bytes, mode, origin }
            }
        };
        let below = self.below(Some(from));
        self.put(from, What::Gone);
        for node in below {
            let rest = node.path.as_str().get(from.as_str().len()..).unwrap_or_default();
            let moved = parsed(&format!("{to}{rest}"))?;
            self.nodes().remove(&node.path.folded());
            self.put(&moved, node.what);
        }
        self.put(to, what);
        Ok(())
    }

    /// What would be at a path.
    pub(super) fn survey(
        &self,
        vault: &Vault,
        path: &VaultPath,
        witness: &dyn Witness,
    ) -> Result<Survey, Fault> {
        let here = |seen| Survey { missing: Vec::new(), path: path.clone(), seen };
        let missing = |count: usize| {
            let folders: Vec<VaultPath> = std::iter::successors(path.parent(), VaultPath::parent)
                .take(count.saturating_sub(1))
                .collect();
            Survey { missing: folders.into_iter().rev().collect(), path: path.clone(), seen: Seen::Nothing }
        };
        match self.lead(path)? {
            Lead::Folder => Ok(here(Seen::Folder)),
            Lead::File { bytes, mode } => {
                let state = Content::Bytes(bytes).state(mode);
                Ok(here(Seen::File { state, mtime_ms: 0 }))
            }
            Lead::Nowhere { missing: count } => Ok(missing(count)),
            Lead::Disk(at) => {
                let found = vault.survey_on_disk(&at, witness)?;
                if found.seen == Seen::Nothing {
                    return Ok(missing(found.missing.len() + 1));
                }
                // A link on disk may lead to something that was changed in imagination.
                let elsewhere = found.path != at && self.nodes().contains_key(&found.path.folded());
                if elsewhere {
                    return self.survey(vault, &found.path, witness);
                }
                let spelled = if at == *path { found.path } else { path.clone() };
                Ok(Survey { missing: Vec::new(), path: spelled, seen: found.seen })
            }
        }
    }
}

fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

fn parsed(path: &str) -> Result<VaultPath, Fault> {
    VaultPath::parse(path).map_err(|bad| Fault::new(Failure::InvalidArguments, bad.to_string()))
}

fn taken(path: &VaultPath) -> Fault {
    Fault::new(Failure::Conflict, format!("`{path}` already exists"))
        .detail("existing", path.as_str())
        .hint("choose another path, or set collisionStrategy to \"create-unique\" or \"overwrite\"")
}

impl Vault {
    /// The name in imagination that is `path` on another system, if there is one.
    pub(super) fn imagined_twin(&self, path: &VaultPath) -> Result<Option<String>, Fault> {
        let Some(layer) = &self.layer else { return Ok(None) };
        let folded = VaultPath::fold_name(path.name());
        let siblings = layer.children(self, path.parent().as_ref())?;
        Ok(siblings
            .into_iter()
            .find(|sibling| VaultPath::fold_name(sibling.path.name()) == folded)
            .map(|sibling| sibling.path.to_string()))
    }
}
