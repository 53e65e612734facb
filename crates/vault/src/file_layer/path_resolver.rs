//! Resolves a path one component at a time, with its links.
//!
//! Used if a link is on the path or something is missing. Every folder is opened from the handle of the one
//! before it and without following links, so the checked names are the entered names: a link into a protected
//! folder is refused wherever it points from, and a component that is swapped for a link after the check makes
//! the open fail.

use std::sync::Arc;

use cap_std::fs::Dir;
use envelope::{Failure, Fault, VaultPath};
use rustix::io::Errno;
use unicode_normalization::UnicodeNormalization as _;

use super::fault;
use super::folder::{self, NodeKind};
use super::locate::{FinalLink, LocatedEntry, Location, MissingPath};
use super::name_collisions::NameCollisions;

/// As many links as the system itself follows.
const MAX_LINKS: u32 = 40;
/// Ends the resolution while another program keeps changing folders.
const MAX_ROUNDS: u32 = 4_096;

/// A component that is not entered yet.
struct PathComponent {
    name: String,
    /// The link that it comes from; `None` for a component of the requested path.
    from_link: Option<Arc<str>>,
}

struct PathResolver<'a> {
    root: &'a Arc<Dir>,
    name_collisions: &'a NameCollisions,
    path: &'a VaultPath,
    /// Entered folders, with their names on disk.
    entered: Vec<(String, Arc<Dir>)>,
    /// Reversed: the next component is the last.
    todo: Vec<PathComponent>,
    links: u32,
}

pub(super) fn resolve_links(
    root: &Arc<Dir>,
    name_collisions: &NameCollisions,
    path: &VaultPath,
    last: FinalLink,
) -> Result<Location, Fault> {
    let todo =
        path.segments().rev().map(|name| PathComponent { name: name.to_owned(), from_link: None }).collect();
    let mut walk = PathResolver { root, name_collisions, path, entered: Vec::new(), todo, links: 0 };
    for _ in 0..MAX_ROUNDS {
        let Some(next) = walk.todo.pop() else {
            return walk.ended_in_folder();
        };
        if let Some(found) = walk.enter(next, last)? {
            return Ok(found);
        }
    }
    Err(fault::unstable_path(path.as_str()))
}

impl PathResolver<'_> {
    fn current_dir(&self) -> &Arc<Dir> {
        self.entered.last().map_or(self.root, |(_, dir)| dir)
    }

    /// Enters one component. Returns the result at the end of the path.
    fn enter(&mut self, next: PathComponent, last: FinalLink) -> Result<Option<Location>, Fault> {
        if next.name == ".." {
            if self.entered.pop().is_none() {
                return Err(fault::leaves_vault(
                    self.path.as_str(),
                    next.from_link.as_deref().unwrap_or(".."),
                ));
            }
            return Ok(None);
        }
        if let Some(by) = VaultPath::name_protected_by(&next.name) {
            return Err(fault::protected(self.path.as_str(), by));
        }
        let stat = match folder::stat(self.current_dir(), &next.name) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return self.missing(next),
            Err(error) => return Err(fault::from_errno("look up", self.path.as_str(), error)),
        };
        let at_end = self.todo.is_empty();
        match folder::kind(&stat) {
            NodeKind::Link if !at_end || last == FinalLink::Follow => self.follow(&next.name).map(|()| None),
            NodeKind::Link | NodeKind::Folder | NodeKind::File | NodeKind::Other if at_end => {
                self.found(&next.name).map(Some)
            }
            NodeKind::Folder => self.descend(next).map(|()| None),
            NodeKind::Link | NodeKind::File | NodeKind::Other => {
                Err(fault::below_a_file(&self.spelled(&next.name)))
            }
        }
    }

    fn descend(&mut self, next: PathComponent) -> Result<(), Fault> {
        match folder::open_folder(self.current_dir(), &next.name) {
            Ok(dir) => self.entered.push((next.name, Arc::new(dir))),
            // Swapped since the check: check again.
            Err(Errno::LOOP | Errno::NOTDIR | Errno::NOENT) => self.todo.push(next),
            Err(error) => return Err(fault::from_errno("open", &self.spelled(&next.name), error)),
        }
        Ok(())
    }

    fn follow(&mut self, name: &str) -> Result<(), Fault> {
        let link = self.spelled(name);
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Fault::new(
                Failure::PreconditionFailed,
                format!("`{}` leads through more than {MAX_LINKS} links, or in a circle", self.path),
            )
            .hint("use a path without links"));
        }
        let target = match folder::link_target(self.current_dir(), name) {
            Ok(target) => target,
            // No longer a link: check again.
            Err(Errno::INVAL | Errno::NOENT) => {
                self.todo.push(PathComponent { name: name.to_owned(), from_link: None });
                return Ok(());
            }
            Err(_) => return Err(fault::leaves_vault(self.path.as_str(), &link)),
        };
        if target.starts_with('/') {
            return Err(fault::leaves_vault(self.path.as_str(), &link));
        }
        let link: Arc<str> = link.into();
        let parts = target.split('/').filter(|part| !matches!(*part, "" | ".")).rev();
        self.todo
            .extend(parts.map(|part| PathComponent { name: part.to_owned(), from_link: Some(link.clone()) }));
        Ok(())
    }

    /// Handles a missing name. A name that differs only in the encoding of its accents looks the same to every
    /// user, so it is used; any other difference is an error of the caller.
    fn missing(&mut self, next: PathComponent) -> Result<Option<Location>, Fault> {
        if let Some(link) = &next.from_link {
            return Err(Fault::new(Failure::NotFound, format!("the link `{link}` points at nothing"))
                .detail("link", link.to_string())
                .hint("use a path without that link"));
        }
        if let Some(name) = self.find_other_encoding(&next.name)? {
            self.todo.push(PathComponent { name, from_link: None });
            return Ok(None);
        }
        let mut missing = vec![next.name];
        missing.extend(self.todo.drain(..).rev().map(|next| next.name));
        let folder = self.path_of_entered()?;
        Ok(Some(Location::Missing(MissingPath { dir: self.current_dir().clone(), folder, missing })))
    }

    fn find_other_encoding(&self, name: &str) -> Result<Option<String>, Fault> {
        if name.is_ascii() {
            return Ok(None);
        }
        let failed = |error| fault::from_errno("list", &self.spelled(""), error);
        // Another encoding is a collision, too, and the cache knows those of a large folder.
        if !self.name_collisions.exists(self.current_dir(), name).map_err(failed)? {
            return Ok(None);
        }
        let wanted: String = name.nfc().collect();
        let names = folder::list_names(self.current_dir()).map_err(failed)?;
        Ok(names.named.into_iter().map(|named| named.name).find(|name| name.nfc().eq(wanted.chars())))
    }

    fn found(&self, name: &str) -> Result<Location, Fault> {
        let path = parsed(&self.spelled(name))?;
        let stat = folder::stat(self.current_dir(), name)
            .map_err(|error| fault::from_errno("look up", path.as_str(), error))?;
        Ok(Location::Found(LocatedEntry {
            dir: self.current_dir().clone(),
            name: name.to_owned(),
            path,
            stat,
        }))
    }

    /// Handles a link as last component whose target ends in `..` or `.`: the last entered folder is meant.
    fn ended_in_folder(&mut self) -> Result<Location, Fault> {
        match self.entered.pop() {
            Some((name, _)) => self.found(&name),
            None => Err(Fault::new(
                Failure::PreconditionFailed,
                format!("`{}` is a link to the vault itself", self.path),
            )
            .hint("leave the path out to mean the whole vault")),
        }
    }

    fn path_of_entered(&self) -> Result<Option<VaultPath>, Fault> {
        if self.entered.is_empty() { Ok(None) } else { parsed(&self.spelled("")).map(Some) }
    }

    /// Returns the real path of a name in the last entered folder, or of that folder.
    fn spelled(&self, name: &str) -> String {
        let mut names: Vec<&str> = self.entered.iter().map(|(name, _)| name.as_str()).collect();
        if !name.is_empty() {
            names.push(name);
        }
        names.join("/")
    }
}

/// A link can lead to names that no caller could have sent.
fn parsed(real: &str) -> Result<VaultPath, Fault> {
    VaultPath::parse_escaped(real).map_err(|bad| Fault::new(Failure::InvalidArguments, bad.to_string()))
}
