//! What stands at a path, for whoever wants to put things back: by its very name, the trash included.

use envelope::{Fault, VaultPath};

use super::change::Witness;
use super::fault;
use super::folder;
use super::locate::child;
use super::relocate::{TRASH, in_trash};
use super::replace::gone;
use super::state::content_of;
use super::step::Content;
use super::survey::Seen;
use super::twins::twin_of;
use super::vault::Vault;

impl Vault {
    /// What has this very name: links not followed, the trash itself included. A note that is open in a host
    /// is what the person sees of it, saved or not.
    pub(crate) fn stands_at(&self, path: &VaultPath, witness: &dyn Witness) -> Result<Seen, Fault> {
        if path.as_str() == TRASH
            && let Some(layer) = &self.layer
        {
            return Ok(if layer.misses_trash(self)? { Seen::Nothing } else { Seen::Folder });
        }
        let mut seen = self.survey_entry(path, witness)?;
        let unsaved = self.host.get().filter(|_| self.layer.is_none()).and_then(|host| host.unsaved(path));
        if let (Some(text), Seen::File { state, .. }) = (unsaved, &mut seen) {
            *state = Content::of(text.into_bytes()).state(state.mode);
        }
        Ok(seen)
    }

    /// What a file with this very name holds, also in the trash: for whoever wants to show it. `None` when it
    /// is no file, or has more than `limit` bytes.
    pub fn content_standing_at(
        &self,
        path: &VaultPath,
        limit: u64,
        witness: &dyn Witness,
    ) -> Result<Option<Vec<u8>>, Fault> {
        match self.stands_at(path, witness)? {
            Seen::File { state, .. } if state.bytes <= limit => {}
            Seen::File { .. } | Seen::Nothing | Seen::Folder | Seen::Other => return Ok(None),
        }
        if let Some(text) = self.host.get().and_then(|host| host.unsaved(path)) {
            return Ok(Some(text.into_bytes()));
        }
        content_of(&self.open_entry(path)?, limit, witness).map(Some)
    }

    /// Every name in a folder that keeps it from being removed, hidden ones too. A name that is no text is
    /// told as an empty one.
    pub(crate) fn names_held_by(&self, path: &VaultPath) -> Result<Vec<String>, Fault> {
        let failed = |error| fault::from_errno("list", path.as_str(), error);
        let names = match &self.layer {
            Some(layer) => {
                let children = layer.children(self, Some(path))?;
                let named = children.named.into_iter().map(|(name, _)| name).collect();
                (named, children.unreadable)
            }
            None if in_trash(path) => {
                let place = self.entry_at(path)?.ok_or_else(|| gone(path))?;
                let inside = folder::open_folder(&place.dir, &place.name).map_err(failed)?;
                plain(folder::names(&inside).map_err(failed)?)
            }
            None => plain(folder::names(&self.open_folder(Some(path))?.dir).map_err(failed)?),
        };
        let (mut named, unreadable): (Vec<String>, u64) = names;
        named.extend((unreadable > 0).then(String::new));
        Ok(named)
    }

    /// What stands in the same folder under another spelling of the same name, if anything does.
    pub(crate) fn twin_at(&self, path: &VaultPath) -> Result<Option<String>, Fault> {
        if let Some(layer) = &self.layer {
            let twin = layer.twin(self, path)?;
            return Ok(twin.filter(|twin| twin.as_str() != path.as_str()));
        }
        let parent = path.parent();
        // Where the folder is missing there is no twin, and where it is a link nothing was recorded.
        let Some(dir) = self.quick_folder(parent.as_ref()) else { return Ok(None) };
        let failed = |error| fault::from_errno("list the folder of", path.as_str(), error);
        if !self.twins.has(&dir, path.name()).map_err(failed)? {
            return Ok(None);
        }
        let twin = twin_of(&dir, path.name()).map_err(failed)?.filter(|twin| twin != path.name());
        Ok(twin.map(|twin| child(parent.as_ref(), &twin)))
    }
}

fn plain(names: folder::Names) -> (Vec<String>, u64) {
    (names.named.into_iter().map(|named| named.name).collect(), names.unreadable)
}
