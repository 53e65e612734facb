//! A generated vault of prose with links, tags, tasks and dates. Deterministic for a given size.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// In five notes.
pub(crate) const RARE: &str = "quetzalcoatl";
/// In one note of a hundred, in two spellings of case.
pub(crate) const UNCOMMON: &str = "Zephyr";
/// In every second note.
pub(crate) const FREQUENT: &str = "TODO";
pub(crate) const PATTERN: &str = r"due 202[56]-0[1-3]-\d\d";

const NOTES_A_FOLDER: u32 = 97;

const WORDS: &str = "the of and to in that it was for on with as at by from this have are be not which \
    they all would there their what so up out if about who get when make can like time no just him know \
    take people into year good some could them see other than then now look only come its over think also \
    back after use two how our work first well way even new want because any these give day most us garden \
    kitchen meeting project budget draft review reading chapter book author quote morning evening weather \
    train station ticket letter answer question reason pattern system model design software engine library \
    release version error report customer contract invoice travel hotel flight recipe tomato onion butter \
    bread market price week month spring summer autumn winter river mountain forest village city street \
    house window door table chair paper pencil notebook camera picture music song guitar concert theatre \
    history science physics biology chemistry energy climate health doctor medicine exercise running \
    bicycle football swimming friend family mother father brother sister daughter neighbour teacher school \
    university lecture student exam result degree research paper method sample figure measure number \
    average growth change process decision option risk plan goal habit focus rest sleep dream idea note";

/// A vault on disk.
pub(crate) struct NoteCorpus {
    pub(crate) path: PathBuf,
    pub(crate) notes: u32,
    pub(crate) folders: u32,
    pub(crate) bytes: u64,
}

impl NoteCorpus {
    pub(crate) fn open_or_make(target: &Path, notes: u32) -> NoteCorpus {
        let path = target.join("bench-vault").join(notes.to_string());
        let made = path.with_extension("made");
        if std::fs::read_to_string(&made).ok().is_none() {
            println!("making a vault of {notes} notes, once");
            drop(std::fs::remove_dir_all(&path));
            let bytes = make(&path, notes);
            std::fs::write(&made, bytes.to_string()).unwrap();
        }
        let bytes = std::fs::read_to_string(&made).unwrap().parse().unwrap();
        NoteCorpus { path, notes, folders: notes.div_ceil(NOTES_A_FOLDER), bytes }
    }
}

/// A deterministic random generator without a dependency.
struct SeededRandom(u64);

impl SeededRandom {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % bound
    }
}

fn make(path: &Path, notes: u32) -> u64 {
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let mut dice = SeededRandom(0x9e37_79b9_7f4a_7c15);
    let mut bytes = 0;
    for number in 0..notes {
        let folder = path.join(folder_of(number));
        if number % NOTES_A_FOLDER == 0 {
            std::fs::create_dir_all(&folder).unwrap();
        }
        let text = note(number, notes, &words, &mut dice);
        bytes += text.len() as u64;
        std::fs::write(folder.join(name_of(number)), text).unwrap();
    }
    bytes
}

fn folder_of(number: u32) -> String {
    let folder = number / NOTES_A_FOLDER;
    format!("Area {:02}/Topic {:03}", folder / 20, folder)
}

fn name_of(number: u32) -> String {
    format!("Note {number:05}.md")
}

fn note(number: u32, notes: u32, words: &[&str], dice: &mut SeededRandom) -> String {
    let mut text = String::with_capacity(5_000);
    let (month, day) = (dice.below(12) + 1, dice.below(28) + 1);
    let tag = words[dice.below(words.len())];
    write!(text, "---\ncreated: 2025-{month:02}-{day:02}\ntags: [{tag}]\n---\n# Note {number}\n\n").unwrap();
    for _ in 0..dice.below(9) + 6 {
        for _ in 0..dice.below(8) + 2 {
            sentence(&mut text, words, dice, notes);
        }
        text.push_str("\n\n");
        if dice.below(20) == 0 {
            let (verb, what) = (words[dice.below(words.len())], words[dice.below(words.len())]);
            let (month, day) = (dice.below(12) + 1, dice.below(28) + 1);
            writeln!(text, "- [ ] {verb} the {what} due 2026-{month:02}-{day:02} #{what}").unwrap();
        }
    }
    if number.is_multiple_of(2) {
        writeln!(
            text,
            "- [ ] {FREQUENT}: {} {}",
            words[dice.below(words.len())],
            words[dice.below(words.len())]
        )
        .unwrap();
    }
    if number.is_multiple_of(100) {
        let spelled = if number.is_multiple_of(200) { UNCOMMON.to_owned() } else { UNCOMMON.to_lowercase() };
        writeln!(text, "The {spelled} came in from the west.").unwrap();
    }
    if number.is_multiple_of(notes.div_ceil(5)) {
        writeln!(text, "A figure of {RARE} on the shelf.").unwrap();
    }
    text
}

fn sentence(text: &mut String, words: &[&str], dice: &mut SeededRandom, notes: u32) {
    for place in 0..dice.below(14) + 5 {
        let word = words[dice.below(words.len())];
        match (place, dice.below(60)) {
            (0, _) => {
                text.push_str(&word[..1].to_uppercase());
                text.push_str(&word[1..]);
            }
            (_, 0) => write!(text, " [[Note {:05}]]", dice.below(notes as usize)).unwrap(),
            (_, 1) => write!(text, " **{word}**").unwrap(),
            (_, _) => write!(text, " {word}").unwrap(),
        }
    }
    text.push_str(". ");
}
