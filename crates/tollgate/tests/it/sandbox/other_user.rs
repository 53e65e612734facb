//! The same tests as a user who is not root: this very program, started again.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::sandbox::tries::is_root;

/// The user `nobody`.
const NOBODY: u32 = 65534;

#[test]
fn a_common_user_is_walled_in_as_well() {
    if !is_root() {
        eprintln!("skipped: the other tests run as a common user already");
        return;
    }
    let tests = [
        "sandbox::tries::",
        "sandbox::works::",
        "sandbox::ends::",
        "sandbox::links::",
        "sandbox::executes::",
    ];
    let output = Command::new(std::env::current_exe().unwrap())
        .args(tests)
        // One after the other: how many processes a command may have is counted for all that a common user runs.
        .args(["--nocapture", "--test-threads=1"])
        .current_dir("/tmp")
        .env("TMPDIR", "/tmp")
        .uid(NOBODY)
        .gid(NOBODY)
        .output();
    match output {
        Err(error) => eprintln!("skipped: another user cannot start this program: {error}"),
        Ok(output) => {
            let text = format!(
                "{}\n{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
            assert!(output.status.success(), "{text}");
            eprintln!("{text}");
        }
    }
}
