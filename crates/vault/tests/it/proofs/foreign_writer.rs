//! A foreign program that writes to the same note.
//!
//! It adds lines at least as long as our writer is at work, and checks continuously whether the lines that it
//! has seen in the note are still there. Our own text may be in the note for a moment before it is rolled back,
//! so a missing line is searched for until our writer has finished; only then is it counted as lost.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use envelope::Hash;
use rustix::fs::{CWD, RenameFlags};

use super::seeded_random::SeededRandom;
use super::writers::{arrive, wait_for};

/// How many lines it may be ahead of our writer.
const AHEAD: u32 = 3;

/// How it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteManner {
    /// Exchanges a new file for the old one, so that it knows the content that it replaced.
    Exchange,
    /// Renames a new file over the old one, as most editors save.
    Rename,
    /// Appends to the file itself.
    Append,
}

impl WriteManner {
    pub(crate) fn name(self) -> &'static str {
        match self {
            WriteManner::Exchange => "exchange",
            WriteManner::Rename => "rename",
            WriteManner::Append => "append",
        }
    }

    pub(crate) fn named(name: &str) -> WriteManner {
        [WriteManner::Exchange, WriteManner::Rename, WriteManner::Append]
            .into_iter()
            .find(|m| m.name() == name)
            .unwrap()
    }
}

/// Report of the foreign program.
#[derive(Debug, Default)]
pub(crate) struct ForeignLog {
    /// Versions that it wrote, by hash.
    pub(crate) placed: BTreeSet<String>,
    /// Versions that it replaced.
    pub(crate) took: BTreeSet<String>,
    /// Lines that were in the note and are lost.
    pub(crate) vanished: Vec<String>,
    /// How often a line was missing for a moment.
    pub(crate) glimpses: u32,
    /// How many lines it has added.
    pub(crate) lines: u32,
}

impl ForeignLog {
    pub(crate) fn read(base: &Path) -> ForeignLog {
        let mut log = ForeignLog::default();
        for line in fs::read_to_string(base.join("stranger.log")).unwrap().lines() {
            match line.split_once(' ').unwrap() {
                ("placed", hash) => drop(log.placed.insert(hash.to_owned())),
                ("took", hash) => drop(log.took.insert(hash.to_owned())),
                ("vanished", line) => log.vanished.push(line.to_owned()),
                ("glimpses", count) => log.glimpses = count.parse().unwrap(),
                ("lines", count) => log.lines = count.parse().unwrap(),
                other => panic!("{other:?}"),
            }
        }
        log
    }

    fn write(&self, base: &Path) {
        let mut text = format!("glimpses {}\nlines {}\n", self.glimpses, self.lines);
        self.placed.iter().for_each(|hash| text.push_str(&format!("placed {hash}\n")));
        self.took.iter().for_each(|hash| text.push_str(&format!("took {hash}\n")));
        self.vanished.iter().for_each(|line| text.push_str(&format!("vanished {line}\n")));
        fs::write(base.join("stranger.log"), text).unwrap();
    }
}

struct ForeignWriter {
    base: PathBuf,
    manner: WriteManner,
    /// Lines that are in the note as far as it knows.
    seen: HashSet<String>,
    /// The note when it was read last.
    last: String,
    log: ForeignLog,
}

/// ProcessRole of the foreign program.
pub(crate) fn add_lines(base: &Path, manner: WriteManner, lines: u32) {
    let (seen, last, log) = (HashSet::new(), String::new(), ForeignLog::default());
    let mut foreign_writer = ForeignWriter { base: base.to_owned(), manner, seen, last, log };
    let mut random = SeededRandom(0x7374_7261);
    let mut missing: BTreeSet<String> = BTreeSet::new();
    let (mut added, mut pace) = (0, 0);
    // Its first line is written after our writer has read the note, and before that one writes.
    wait_for(base, 'o');
    while added < lines || !missing.is_empty() || !foreign_writer.is_alone() {
        // The note is never missing for readers, and never without the lines that they have seen in it.
        let mut text = foreign_writer.look();
        for _ in 0..random.below(60) {
            text = foreign_writer.look();
        }
        let known: HashSet<&str> = text.lines().collect();
        missing.retain(|line| !known.contains(line.as_str()));
        // It keeps pace with our writer, so that both write at the same time.
        pace =
            known.iter().filter_map(|line| line.strip_prefix('o')?.parse().ok()).max().unwrap_or(0).max(pace);
        if added < pace + AHEAD || (foreign_writer.is_alone() && added < lines) {
            missing.insert(format!("s{added}"));
            added += 1;
        }
        if missing.is_empty() {
            continue;
        }
        let took = foreign_writer.add(&text, &missing);
        if added == 1 {
            arrive(base, 's');
        }
        let is_there = |line: &str| known.contains(line) || missing.contains(line);
        let taken: Vec<String> = took.lines().filter(|line| !is_there(line)).map(str::to_owned).collect();
        if manner != WriteManner::Append {
            foreign_writer.seen.extend(std::mem::take(&mut missing));
        }
        // It replaced content that it had not read: that goes back in.
        missing.extend(taken);
    }
    foreign_writer.log.lines = added;
    foreign_writer.log.write(base);
}

impl ForeignWriter {
    /// Returns true if our writer has finished.
    fn is_alone(&self) -> bool {
        self.base.join("writer-is-done").exists()
    }

    fn read(&self) -> String {
        fs::read_to_string(self.base.join("vault/note.md")).expect("the note is always there")
    }

    /// Reads the note, with every line that was ever seen in it.
    fn look(&mut self) -> String {
        let mut text = self.read();
        if text == self.last {
            return text;
        }
        let mut glimpsed = false;
        loop {
            let known: HashSet<&str> = text.lines().collect();
            let gone: Vec<String> =
                self.seen.iter().filter(|line| !known.contains(line.as_str())).cloned().collect();
            if gone.is_empty() {
                let own = known.iter().filter(|line| line.starts_with('s')).map(|line| (*line).to_owned());
                self.seen.extend(own);
                self.log.glimpses += u32::from(glimpsed);
                self.last.clone_from(&text);
                return text;
            }
            glimpsed = true;
            let is_last_look = self.is_alone();
            text = self.read();
            if is_last_look {
                let known: HashSet<&str> = text.lines().collect();
                let lost: Vec<String> =
                    gone.into_iter().filter(|line| !known.contains(line.as_str())).collect();
                self.seen.retain(|line| !lost.contains(line));
                self.log.vanished.extend(lost);
            }
        }
    }

    /// Adds lines to `text`. Returns the content that it replaced.
    fn add(&mut self, text: &str, lines: &BTreeSet<String>) -> String {
        let more: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let (note, spare) = (self.base.join("vault/note.md"), self.base.join("spare"));
        match self.manner {
            WriteManner::Append => {
                let mut file = OpenOptions::new().append(true).open(note).unwrap();
                file.write_all(more.as_bytes()).unwrap();
                text.to_owned()
            }
            WriteManner::Rename => {
                fs::write(&spare, format!("{text}{more}")).unwrap();
                fs::rename(spare, note).unwrap();
                text.to_owned()
            }
            WriteManner::Exchange => {
                let new = format!("{text}{more}");
                fs::write(&spare, &new).unwrap();
                rustix::fs::renameat_with(CWD, &spare, CWD, note, RenameFlags::EXCHANGE).unwrap();
                let old = fs::read_to_string(&spare).unwrap();
                self.log.placed.insert(Hash::of(new.as_bytes()).to_string());
                self.log.took.insert(Hash::of(old.as_bytes()).to_string());
                fs::remove_file(&spare).unwrap();
                old
            }
        }
    }
}
