//! The slow and careful way to a path: one component at a time, links resolved here.
//!
//! Used when a link is on the way or something is missing. Every folder is opened from the handle of the
//! one before it and without following links, so the names that were checked are the names that were
//! entered: a link into a protected folder is refused wherever it points from, and a component that is
//! swapped for a link between the look and the open makes the open fail, not follow.

use std::sync::Arc;

use cap_std::fs::Dir;
use envelope::{Failure, Fault, VaultPath};
use rustix::io::Errno;
use unicode_normalization::UnicodeNormalization as _;

use super::fault;
use super::folder::{self, Kind};
use super::locate::{Found, Gap, LastLink, Place};

/// As many links as the system itself would follow.
const MAX_LINKS: u32 = 40;
/// Ends a walk through folders that another program keeps changing.
const MAX_ROUNDS: u32 = 4_096;

/// A component still to be entered.
struct Next {
    name: String,
    /// Set when it comes from the text of a link, not from the path that was asked for.
    from_link: Option<Arc<str>>,
}

struct Walk<'a> {
    root: &'a Arc<Dir>,
    path: &'a VaultPath,
    /// The folders entered so far, with the names they have on disk.
    entered: Vec<(String, Arc<Dir>)>,
    /// Reversed: the next component is the last one.
    todo: Vec<Next>,
    links: u32,
}

pub(super) fn walk(root: &Arc<Dir>, path: &VaultPath, last: LastLink) -> Result<Found, Fault> {
    let todo = path.segments().rev().map(|name| Next { name: name.to_owned(), from_link: None }).collect();
    let mut walk = Walk { root, path, entered: Vec::new(), todo, links: 0 };
    for _ in 0..MAX_ROUNDS {
        let Some(next) = walk.todo.pop() else {
            return walk.ended_in_folder();
        };
        if let Some(found) = walk.enter(next, last)? {
            return Ok(found);
        }
    }
    Err(fault::restless(path.as_str()))
}

impl Walk<'_> {
    fn here(&self) -> &Arc<Dir> {
        self.entered.last().map_or(self.root, |(_, dir)| dir)
    }

    /// Takes one component; `Some` when the walk has ended.
    fn enter(&mut self, next: Next, last: LastLink) -> Result<Option<Found>, Fault> {
        if next.name == ".." {
            if self.entered.pop().is_none() {
                return Err(fault::leaves(self.path.as_str(), next.from_link.as_deref().unwrap_or("..")));
            }
            return Ok(None);
        }
        if let Some(by) = VaultPath::parse(&next.name).ok().and_then(|name| name.protected_by()) {
            return Err(fault::protected(self.path.as_str(), by));
        }
        let stat = match folder::stat(self.here(), &next.name) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return self.missing(next),
            Err(error) => return Err(fault::from_errno("look up", self.path.as_str(), error)),
        };
        let at_end = self.todo.is_empty();
        match folder::kind(&stat) {
            Kind::Link if !at_end || last == LastLink::Follow => self.follow(&next.name).map(|()| None),
            Kind::Link | Kind::Folder | Kind::File | Kind::Other if at_end => {
                self.found(&next.name).map(Some)
            }
            Kind::Folder => self.descend(next).map(|()| None),
            Kind::Link | Kind::File | Kind::Other => Err(fault::below_a_file(&self.spelled(&next.name))),
        }
    }

    fn descend(&mut self, next: Next) -> Result<(), Fault> {
        match folder::open_folder(self.here(), &next.name) {
            Ok(dir) => self.entered.push((next.name, Arc::new(dir))),
            // Swapped since we looked: look again.
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
        let target = match folder::link_target(self.here(), name) {
            Ok(target) => target,
            // No link any more: look again at what it has become.
            Err(Errno::INVAL | Errno::NOENT) => {
                self.todo.push(Next { name: name.to_owned(), from_link: None });
                return Ok(());
            }
            Err(_) => return Err(fault::leaves(self.path.as_str(), &link)),
        };
        if target.starts_with('/') {
            return Err(fault::leaves(self.path.as_str(), &link));
        }
        let link: Arc<str> = link.into();
        let parts = target.split('/').filter(|part| !matches!(*part, "" | ".")).rev();
        self.todo.extend(parts.map(|part| Next { name: part.to_owned(), from_link: Some(link.clone()) }));
        Ok(())
    }

    /// Nothing has exactly this name. A name that only differs in how its accents are encoded is the
    /// same name to everyone who can see it, so it is taken; any other difference is the caller's.
    fn missing(&mut self, next: Next) -> Result<Option<Found>, Fault> {
        if let Some(link) = &next.from_link {
            return Err(Fault::new(Failure::NotFound, format!("the link `{link}` points at nothing"))
                .detail("link", link.to_string())
                .hint("use a path without that link"));
        }
        if let Some(name) = self.encoded_otherwise(&next.name)? {
            self.todo.push(Next { name, from_link: None });
            return Ok(None);
        }
        let mut missing = vec![next.name];
        missing.extend(self.todo.drain(..).rev().map(|next| next.name));
        let folder = self.path_of_entered()?;
        Ok(Some(Found::Nothing(Gap { dir: self.here().clone(), folder, missing })))
    }

    fn encoded_otherwise(&self, name: &str) -> Result<Option<String>, Fault> {
        if name.is_ascii() {
            return Ok(None);
        }
        let wanted: String = name.nfc().collect();
        let names = folder::names(self.here())
            .map_err(|error| fault::from_errno("list", &self.spelled(""), error))?;
        Ok(names.named.into_iter().map(|named| named.name).find(|name| name.nfc().eq(wanted.chars())))
    }

    fn found(&self, name: &str) -> Result<Found, Fault> {
        let path = parsed(&self.spelled(name))?;
        let stat = folder::stat(self.here(), name)
            .map_err(|error| fault::from_errno("look up", path.as_str(), error))?;
        Ok(Found::Place(Place { dir: self.here().clone(), name: name.to_owned(), path, stat }))
    }

    /// The last component was a link whose text ends in `..` or `.`: the folder entered last is meant.
    fn ended_in_folder(&mut self) -> Result<Found, Fault> {
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

    /// The real path of a name in the folder that was entered last, or of that folder.
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
    VaultPath::parse(real).map_err(|bad| Fault::new(Failure::InvalidArguments, bad.to_string()))
}
