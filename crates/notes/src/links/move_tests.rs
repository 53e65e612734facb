//! Tests random moves in random vaults: no link loses its file and no other byte changes.

use std::collections::{HashMap, HashSet};

use envelope::VaultPath;
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, proptest};

use super::destination::escaped;
use super::rewrite::RewrittenFile;
use super::{FileKind, FileMoves, LinkResolver, LinkRewriter, scan};

const WORDS: [&str; 24] = [
    "a", "Note", "note", "Old", "é", "e\u{301}", "日記", "x y", "v1.2", "$1", "b$", "R&D", "f(x)", "g(",
    "it's", "100%", "%20", "ΟΔΟΣ", "a_b", "Straße", "a\u{a0}b", "&amp;", "C# [1]", "x^2",
];

/// A source of choices that can be shrunk.
struct Dice {
    throws: Vec<u16>,
    at: usize,
}

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        let throw = self.throws.get(self.at).copied().unwrap_or_default();
        self.at += 1;
        usize::from(throw) % limit
    }

    fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    fn path(&mut self) -> VaultPath {
        let mut text = String::new();
        for _ in 0..self.below(4) {
            text.push_str(self.of(&WORDS[..14]));
            text.push('/');
        }
        text.push_str(self.of(&WORDS));
        text.push_str(self.of(&[".md", ".md", ".md", ".md", ".png", ".canvas", ""]));
        VaultPath::parse(&text).unwrap()
    }
}

fn files(dice: &mut Dice) -> Vec<VaultPath> {
    let mut seen = HashSet::new();
    let count = 2 + dice.below(10);
    (0..count).map(|_| dice.path()).filter(|path| seen.insert(path.folded())).collect()
}

/// Returns moves of single files and of one folder, to free paths.
fn moves(dice: &mut Dice, files: &[VaultPath]) -> Vec<(VaultPath, VaultPath)> {
    let mut to: HashMap<VaultPath, VaultPath> = HashMap::new();
    for _ in 0..dice.below(4) {
        to.insert(dice.of(files), dice.path());
    }
    if let Some(folder) = dice.of(files).parent() {
        let new = dice.path();
        for file in files {
            if let Some(rest) = file.as_str().strip_prefix(&format!("{folder}/")) {
                to.insert(file.clone(), new.join(rest).unwrap());
            }
        }
    }
    let mut taken: HashSet<String> = files.iter().map(VaultPath::folded).collect();
    to.retain(|from, to| from.folded() == to.folded() || taken.insert(to.folded()));
    to.into_iter().collect()
}

fn target(dice: &mut Dice, source: &VaultPath, file: &VaultPath) -> String {
    let full = file.as_str();
    let up = "../".repeat(source.segments().count() - 1);
    let text = match dice.below(7) {
        0 => full.to_owned(),
        1 => format!("/{full}"),
        2 => format!("{up}{full}"),
        3 => format!("./{}", file.name()),
        4 => full.split_once('/').map_or(full, |(_, rest)| rest).to_owned(),
        _ => file.name().to_owned(),
    };
    let text = if dice.below(5) == 0 { text.to_lowercase() } else { text };
    match text.strip_suffix(".md") {
        Some(stem) if dice.below(3) > 0 => stem.to_owned(),
        _ => text,
    }
}

fn wikilink(dice: &mut Dice, target: &str) -> String {
    let bang = dice.of(&["", "", "!"]);
    let end = dice.of(&["", "", "#Head ing", "#^b1", "|alias", "#h|al ias", "|640x480"]);
    format!("{bang}[[{target}{end}]]")
}

fn markdown_link(dice: &mut Dice, target: &str) -> String {
    let bang = dice.of(&["", "", "!"]);
    let fragment = dice.of(&["", "", "#head%20ing", "#^b"]);
    let title = dice.of(&["", " \"t (1\""]);
    let name = target.rsplit('/').next().unwrap_or_default().replace(['[', ']'], "");
    let text = if dice.below(2) == 0 { name } else { "some *text*".to_owned() };
    match dice.below(3) {
        0 => format!("{bang}[{text}](<{}{fragment}>{title})", escaped(target, "", true)),
        1 => format!("{bang}[{text}]({}{fragment}{title})", escaped(target, "é%20%28", false)),
        _ => format!("{bang}[{text}]({}{fragment}{title})", escaped(target, "%C3%A9", false)),
    }
}

fn note(dice: &mut Dice, source: &VaultPath, files: &[VaultPath]) -> String {
    let line_end = dice.of(&["\n", "\r\n"]);
    let mut properties = Vec::new();
    let mut body = Vec::new();
    for count in 0..1 + dice.below(12) {
        let file = dice.of(files);
        let target = target(dice, source, &file);
        let wiki = wikilink(dice, &target);
        let markdown = markdown_link(dice, &target);
        match dice.below(9) {
            0 => properties.push(format!("p{count}: \"{}\" # {wiki}", markdown.replace('"', "\\\""))),
            1 => properties.push(format!("p{count}:{line_end}  - '{}'", wiki.replace('\'', "''"))),
            2 => properties.push(format!("p{count}: [\"{wiki}\", x]")),
            3 => body
                .push(format!("| a | b |{line_end}|---|---|{line_end}| {} | x |", wiki.replace('|', "\\|"))),
            4 => body.push(format!("[ref{count}]: {}", escaped(&target, "", false))),
            5 => body.push(format!("- `{wiki}` code $x$ and {markdown}{line_end}> {wiki}")),
            6 | 7 => body.push(format!("Text {wiki}, {wiki}.")),
            _ => body.push(format!("{markdown} and {markdown}")),
        }
    }
    let body = body.join(&line_end.repeat(2));
    if properties.is_empty() {
        return body;
    }
    format!("---{line_end}{}{line_end}---{line_end}{body}", properties.join(line_end))
}

fn canvas(dice: &mut Dice, source: &VaultPath, files: &[VaultPath]) -> String {
    let text = note(dice, source, files).replace("---", "");
    let file = dice.of(files);
    format!(
        "{{\"nodes\": [ {{\"file\":{}}},{{\"type\":\"text\",\"text\":{}}}],\n\"x\":1.0}}",
        serde_json::json!(file.as_str()),
        serde_json::json!(text),
    )
}

/// Returns the text between the links.
fn between(kind: FileKind, text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut at = 0;
    for link in scan(kind, text) {
        // A link inside another is part of it.
        if link.span.start >= at {
            pieces.push(&text[at..link.span.start]);
            at = link.span.end;
        }
    }
    pieces.push(&text[at..]);
    pieces
}

fn check(dice: &mut Dice) {
    let files = files(dice);
    let before = LinkResolver::new(files.iter().cloned());
    let moves = FileMoves::new(moves(dice, &files));
    let after = before.after(&moves);
    let renaming = LinkRewriter::new(&before, &moves);
    for source in &files {
        let kind = FileKind::of(source);
        let text = match kind {
            FileKind::Note => note(dice, source, &files),
            FileKind::Canvas => canvas(dice, source, &files),
            FileKind::Other => continue,
        };
        let moved = moves.after(source).unwrap();
        let rewritten = renaming.rewrite(source, &text);
        if rewritten.is_some() {
            assert!(renaming.may_affect(source, &text), "the quick look missed {text:?}");
        }
        let new_text = match &rewritten {
            Some(RewrittenFile { text: new_text, links, stale_links: left, .. }) => {
                assert_eq!(left, &[], "in {text:?}");
                assert!(*links > 0 && *new_text != text);
                new_text
            }
            None => &text,
        };
        let meant = |index: &LinkResolver, source: &VaultPath, text: &str| -> Vec<Option<VaultPath>> {
            scan(kind, text).iter().map(|link| index.resolve(source, link).cloned()).collect()
        };
        let old = meant(&before, source, &text);
        let new = meant(&after, moved, new_text);
        assert_eq!(old.len(), new.len(), "{text:?} became {new_text:?}");
        for (old, new) in old.iter().zip(&new) {
            if let Some(old) = old {
                assert_eq!(moves.after(old), new.as_ref(), "{text:?} became {new_text:?}");
            }
        }
        assert_eq!(between(kind, &text), between(kind, new_text));
        let still = FileMoves::default();
        assert_eq!(LinkRewriter::new(&after, &still).rewrite(moved, new_text), None, "{new_text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    // Conformance: tool 2.12
    //     `vault.rename` moves files and folders with collision strategies, and keeps every link that resolved.
    //     In: vault/files/rename.rs, notes/links.rs
    #[test]
    fn no_link_loses_its_file_and_no_other_byte_changes(throws in vec(any::<u16>(), 0..600)) {
        check(&mut Dice { throws, at: 0 });
    }

    #[test]
    fn no_text_makes_the_readers_panic(text in "(---\n)?[\\[\\]()<>|#^\\\\\"'`$%&: \n\r{},a-cé.md!-]{0,80}") {
        let source = VaultPath::parse("a.md").unwrap();
        let index = LinkResolver::new(["a.md", "b.md", "x/c.md"].map(|path| VaultPath::parse(path).unwrap()));
        let moves = FileMoves::new([(VaultPath::parse("b.md").unwrap(), VaultPath::parse("x/é d.md").unwrap())]);
        let renaming = LinkRewriter::new(&index, &moves);
        let rewritten = renaming.rewrite(&source, &text);
        assert!(rewritten.is_none() || renaming.may_affect(&source, &text));
        scan(FileKind::Canvas, &text);
        let canvas = serde_json::json!({"nodes": [{"text": text}]}).to_string();
        renaming.rewrite(&VaultPath::parse("a.canvas").unwrap(), &canvas);
    }
}
