//! A disk that is full, or that fails, while a run is recorded: the run ends by itself, prints the reason and the fix,
//! does nothing more, and has kept everything that it acknowledged.
//!
//! The disk is simulated in three ways: a small file system of its own for the state folder, a limit on the size of
//! files, and single system calls that fail. The same is asserted for each, in [`rig::DiskStage::holds`].
#![cfg(target_os = "linux")]

mod failing;
mod limited;
mod plans;
mod rig;
mod small;
mod write_route;
