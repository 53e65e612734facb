//! The system calls of this crate that not every operating system has.
//!
//! Each module has the same interface: [`open_in_one_call`] and [`TRAVERSE`]. Build with
//! `RUSTFLAGS="--cfg tollgate_portable"` to check and test the portable module on Linux.

#[cfg(all(target_os = "linux", not(tollgate_portable)))]
mod linux;
#[cfg(any(not(target_os = "linux"), tollgate_portable))]
mod portable;

#[cfg(all(target_os = "linux", not(tollgate_portable)))]
pub(crate) use linux::{TRAVERSE, open_in_one_call};
#[cfg(any(not(target_os = "linux"), tollgate_portable))]
pub(crate) use portable::{TRAVERSE, open_in_one_call};
