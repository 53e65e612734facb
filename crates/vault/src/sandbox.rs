//! The file layer: everything that touches the disk, behind one directory handle.
//!
//! Every name is walked from a handle that is held open, one component at a time and without following
//! links; links are read and resolved here, so that each folder that is entered has had its name checked.
//! Absent on purpose: absolute paths, writing in place, following a link out of the vault.

mod app_settings;
mod apply;
mod change;
mod entries;
mod etag;
mod fault;
mod folder;
mod foreseen;
mod free_name;
mod layer;
mod in_order;
mod keepable;
mod leftovers;
mod list;
mod locate;
mod make_folder;
mod onto_nothing;
mod open_notes;
mod put_back;
mod read;
mod relocate;
mod remove;
mod replace;
mod search;
mod shadow;
mod stand;
mod state;
mod step;
mod survey;
mod taken_away;
mod temp;
mod texts;
mod tree;
mod turn;
mod twins;
mod unique;
mod unstoppable;
mod vault;
mod walk;
mod write;

pub use change::Witness;
pub(crate) use entries::Named;
pub use etag::etag_of;
pub(crate) use fault::protected;
pub use foreseen::{Fate, Foreseen};
pub use free_name::FreeName;
pub use list::{Entry, ListQuery, ListStart, Listing};
pub use make_folder::MadeFolder;
pub use open_notes::OpenNotes;
pub use read::{Loaded, ReadPart};
pub use relocate::TRASH;
pub use search::{Finds, Needle, Reading, SearchQuery, TextMatch};
pub use step::{Baggage, Content, Prepared, Step};
pub use survey::{Seen, Survey};
pub(crate) use unstoppable::Unstoppable;
pub use vault::{OpenError, Vault};
pub use write::Written;
