//! The file layer: all access to the disk, through one directory handle.
//!
//! Every path is resolved from an open handle, one component at a time and without following links. Links are
//! read and resolved here, so that the name of every entered folder is checked. Deliberately omitted: absolute
//! paths, writing in place, following a link out of the vault.

mod app_settings;
mod apply;
mod change_step;
mod crash_leftovers;
mod etag;
mod fault;
mod file_tree;
mod folder;
mod folder_lock;
mod folder_tree;
mod io_context;
mod leftover_report;
mod list;
mod locate;
mod make_folder;
mod name_collisions;
mod name_reservation;
mod note_texts;
mod open_notes;
mod ordered_executor;
mod overlay;
mod overlay_diff;
mod path_resolver;
mod path_state;
mod read;
mod relocate;
mod remove;
mod rename_noreplace;
mod replace;
mod rollback;
mod search;
mod temp_file;
mod temp_leftovers;
mod trash_backup;
mod tree_walk;
mod vault;
mod write;

pub use change_step::{ChangeStep, FileContent, MoveDetails, PreparedSteps};
pub use etag::etag_of;
pub(crate) use fault::protected;
pub(crate) use folder_tree::NamedEntry;
pub(crate) use io_context::ContextAdapter;
pub use io_context::IoContext;
pub use leftover_report::{LeftoverKind, TempLeftover};
pub use list::{FolderListing, ListEntry, ListStart, ListingQuery};
pub use make_folder::EnsuredFolder;
pub use name_reservation::NameReservation;
pub use open_notes::{
    HOST_DEADLINE, NoteFuture, NoteStatus, NoteUpdate, NoteWrite, OpenNotes, wait_for, with_unknown_outcome,
};
pub use overlay_diff::{TreeChange, TreeEffect};
pub use path_state::{PathState, ResolvedPath};
pub use read::{FileSlice, LoadedFile};
pub use relocate::TRASH;
pub use search::{QuerySyntax, SearchPattern, SearchQuery, SearchResults, TextMatch};
pub use vault::{Vault, VaultOpenError};
pub use write::WrittenFile;
