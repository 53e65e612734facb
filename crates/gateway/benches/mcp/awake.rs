//! Keeps the cores from sleeping: a loop on each of them that gives way to everything else.

use std::process::{Child, Command};

use crate::cores;

/// What a process is started with that does nothing else.
pub(crate) const WORD: &str = "stay-awake";

/// Lets go of the cores when dropped.
pub(crate) struct Kept(Vec<Child>);

pub(crate) fn keep(cores: &[usize]) -> Result<Kept, String> {
    let program = std::env::current_exe().unwrap();
    let mut kept = Kept(Vec::new());
    for core in cores {
        // Below every other priority: whoever wants the core has it at once.
        let loop_ = Command::new("chrt")
            .args(["--idle", "0"])
            .arg(&program)
            .args([WORD, &cores::list(&[*core])])
            .spawn();
        kept.0.push(loop_.map_err(|error| format!("`chrt` cannot be started: {error}"))?);
    }
    Ok(kept)
}

impl Drop for Kept {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _gone = child.kill();
            let _collected = child.wait();
        }
    }
}

pub(crate) fn spin() -> ! {
    loop {
        std::hint::spin_loop();
    }
}
