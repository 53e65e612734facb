//! The binary under test: the one that cargo built with the tests, or the release build.

use std::path::{Path, PathBuf};

/// Names the build whose binary is tested: `release`, made by `cargo build --release`. Unless set: that of the tests.
const BUILD: &str = "TOLLGATE_BUILD";

pub(crate) fn binary() -> PathBuf {
    let made_with_tests = Path::new(env!("CARGO_BIN_EXE_tollgate"));
    let Ok(build) = std::env::var(BUILD) else { return made_with_tests.to_owned() };
    let builds = made_with_tests.parent().and_then(Path::parent).unwrap();
    let binary = builds.join(&build).join(made_with_tests.file_name().unwrap());
    assert!(binary.is_file(), "{BUILD}={build}: there is no {}, build it first", binary.display());
    binary
}

/// Returns whether it is the release build. Promises about time are made for that one.
pub(crate) fn is_release() -> bool {
    std::env::var(BUILD).is_ok_and(|build| build == "release")
}

/// The latest that a command may have ended that had to end at `limit_ms`, in milliseconds: two seconds later, and as
/// much again for a build that is not optimised.
pub(crate) fn latest_end(limit_ms: u64) -> u64 {
    limit_ms + if is_release() { 2_000 } else { 4_000 }
}
