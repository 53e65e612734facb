//! The file layer: everything that touches the disk, behind one directory handle.
//!
//! Every name is walked from a handle that is held open, one component at a time and without following
//! links; links are read and resolved here, so that each folder that is entered has had its name checked.
//! Absent on purpose: absolute paths, writing in place, following a link out of the vault.

mod change;
mod etag;
mod fault;
mod folder;
mod free_name;
mod leftovers;
mod list;
mod locate;
mod make_folder;
mod read;
mod survey;
mod temp;
mod twins;
mod unique;
mod vault;
mod walk;
mod write;

pub use change::{Change, Witness};
pub use etag::etag_of;
pub(crate) use fault::protected;
pub use free_name::FreeName;
pub use list::{Entry, ListQuery, Listing};
pub use make_folder::MadeFolder;
pub use read::Content;
pub use survey::{Seen, Survey};
pub use vault::{OpenError, Vault};
pub use write::Written;
