//! A program that knows nothing of us and writes to the same note.
//!
//! It adds one line after the other, at least as long as our writer is at work, and looks all the time whether
//! the lines that it has seen in the note are still there. Our own text may be in the place for a moment before it
//! is taken back, so a line that is missing is looked for until our writer is done; only then is it counted as
//! gone.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use envelope::Hash;
use rustix::fs::{CWD, RenameFlags};

use crate::dice::Dice;
use crate::writers::{arrive, wait_for};

/// How many lines it may be ahead of our writer.
const AHEAD: u32 = 3;

/// How it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// A whole new file exchanged for the old one, so that it knows what it has replaced.
    Exchange,
    /// A whole new file renamed over the old one, as most editors save.
    Rename,
    /// More at the end of the file itself.
    Append,
}

impl Manner {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Manner::Exchange => "exchange",
            Manner::Rename => "rename",
            Manner::Append => "append",
        }
    }

    pub(crate) fn named(name: &str) -> Manner {
        [Manner::Exchange, Manner::Rename, Manner::Append].into_iter().find(|m| m.name() == name).unwrap()
    }
}

/// What the stranger tells afterwards.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// The versions that it put in the place, by hash.
    pub(crate) placed: BTreeSet<String>,
    /// The versions that it took out.
    pub(crate) took: BTreeSet<String>,
    /// Lines that were in the note and are gone.
    pub(crate) vanished: Vec<String>,
    /// How often a line was missing for a moment.
    pub(crate) glimpses: u32,
    /// How many lines it has added.
    pub(crate) lines: u32,
}

impl Log {
    pub(crate) fn read(base: &Path) -> Log {
        let mut log = Log::default();
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

struct Stranger {
    base: PathBuf,
    manner: Manner,
    /// Lines that are in the note as far as it knows.
    seen: HashSet<String>,
    /// The note when it was looked at last.
    last: String,
    log: Log,
}

/// The role of the stranger.
pub(crate) fn add_lines(base: &Path, manner: Manner, lines: u32) {
    let (seen, last, log) = (HashSet::new(), String::new(), Log::default());
    let mut stranger = Stranger { base: base.to_owned(), manner, seen, last, log };
    let mut dice = Dice(0x7374_7261);
    let mut missing: BTreeSet<String> = BTreeSet::new();
    let (mut added, mut pace) = (0, 0);
    // Its first line comes after our writer has read the note, and before that one writes.
    wait_for(base, 'o');
    while added < lines || !missing.is_empty() || !stranger.is_alone() {
        // Readers are never without the note, and never without what they have seen in it.
        let mut text = stranger.look();
        for _ in 0..dice.below(60) {
            text = stranger.look();
        }
        let known: HashSet<&str> = text.lines().collect();
        missing.retain(|line| !known.contains(line.as_str()));
        // It keeps pace with our writer, so that neither is alone for long.
        pace =
            known.iter().filter_map(|line| line.strip_prefix('o')?.parse().ok()).max().unwrap_or(0).max(pace);
        if added < pace + AHEAD || (stranger.is_alone() && added < lines) {
            missing.insert(format!("s{added}"));
            added += 1;
        }
        if missing.is_empty() {
            continue;
        }
        let took = stranger.add(&text, &missing);
        if added == 1 {
            arrive(base, 's');
        }
        let is_there = |line: &str| known.contains(line) || missing.contains(line);
        let taken: Vec<String> = took.lines().filter(|line| !is_there(line)).map(str::to_owned).collect();
        if manner != Manner::Append {
            stranger.seen.extend(std::mem::take(&mut missing));
        }
        // It took out something that it had not read: that goes back in.
        missing.extend(taken);
    }
    stranger.log.lines = added;
    stranger.log.write(base);
}

impl Stranger {
    /// Whether our writer is done.
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

    /// Adds lines on top of `text`; gives what was in the place of it.
    fn add(&mut self, text: &str, lines: &BTreeSet<String>) -> String {
        let more: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let (note, spare) = (self.base.join("vault/note.md"), self.base.join("spare"));
        match self.manner {
            Manner::Append => {
                let mut file = OpenOptions::new().append(true).open(note).unwrap();
                file.write_all(more.as_bytes()).unwrap();
                text.to_owned()
            }
            Manner::Rename => {
                fs::write(&spare, format!("{text}{more}")).unwrap();
                fs::rename(spare, note).unwrap();
                text.to_owned()
            }
            Manner::Exchange => {
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
