//! Keeps the cores awake: one loop per core at idle priority.

use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use crate::cores;

/// Argument that starts such a loop.
pub(crate) const WORD: &str = "stay-awake";

/// Stops the loops when dropped.
pub(crate) struct Kept(Vec<Child>);

pub(crate) fn keep(cores: &[usize]) -> Result<Kept, String> {
    let program = std::env::current_exe().unwrap();
    let mut kept = Kept(Vec::new());
    for core in cores {
        // The lowest priority, so that any other thread gets the core at once.
        let child = Command::new("chrt")
            .args(["--idle", "0"])
            .arg(&program)
            .args([WORD, &cores::list(&[*core])])
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.map_err(|error| format!("`chrt` cannot be started: {error}"))?;
        let mut said = String::new();
        let heard = BufReader::new(child.stdout.take().unwrap()).read_line(&mut said);
        kept.0.push(child);
        if heard.is_err() || said.trim() != WORD {
            return Err(format!("nothing runs at idle priority on core {core}"));
        }
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

/// Reports that it runs, and loops forever.
pub(crate) fn spin() -> ! {
    println!("{WORD}");
    std::io::stdout().flush().unwrap();
    loop {
        std::hint::spin_loop();
    }
}
