//! A vault with links of every form between notes, attachments and canvases, in prose.
//!
//! Each file contains its identity, and each link is between marks with its number, so that both are found
//! again after any move.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::resolver::{FoldedFiles, destination, target_of};
use super::seeded_random::SeededRandom;
use super::tree::tree;
use crate::support::put;

const WORDS: [&str; 42] = [
    "Plan",
    "plan",
    "Idea",
    "Meeting notes",
    "2026-11-15",
    "Q&A",
    "R&D",
    "v1.2 draft",
    "100% sure",
    "%20 odd",
    "$1",
    "a_b",
    "it's",
    "f(x)",
    "(draft",
    "x+y=z",
    "C, D; E",
    "Überblick",
    "Cafe\u{301} list",
    "naïve",
    "日記",
    "手紙 2",
    "заметка",
    "ΟΔΟΣ",
    "🚀 launch",
    "👨‍👩‍👧",
    "Straße",
    "ﬁnal",
    "a\u{a0}b",
    "Why? So",
    "a*b",
    "To do!",
    "~tilde",
    "@home",
    "`code`",
    "star",
    "_under_",
    "--",
    "e.g. this",
    "Note.backup",
    "Index",
    "Index",
];
const FOLDERS: [&str; 12] = [
    "",
    "",
    "Projects",
    "Projects/2026",
    "Projects/2026/Q4 (new)",
    "Areas & People",
    "Ideen/Über uns",
    "日本/東京",
    "Archive",
    "Archive/Old",
    "a/b/c/d",
    "100%",
];
const PROSE: [&str; 6] = [
    "It was late when the letter came, and nobody had expected it.",
    "See also *the other one*; it has `[[code]]` and `[x](y.md)` that are no links.",
    "> A quote that goes on\n> for two lines.",
    "- [ ] a task #tag with a date 2026-11-15\n- another one",
    "```md\n[[Index]] and [x](Index.md) in a block are text.\n```",
    "Footnotes[^1] and math $a_b$ and ==marks== and %%comments%%.",
];

/// Returns a name that no file in its folder has.
fn name(random: &mut SeededRandom, n: usize) -> String {
    let word = random.of(&WORDS);
    match random.below(8) {
        0 => word.to_owned(),
        1 => format!("{word} {}", random.of(&WORDS)),
        2 => format!("{n} {word}"),
        _ => format!("{word} {n}"),
    }
}

/// Returns a free path, compared without case.
pub(crate) fn free_path(
    random: &mut SeededRandom,
    n: usize,
    extension: &str,
    taken: &mut Vec<String>,
) -> String {
    loop {
        let folder = random.of(&FOLDERS);
        let stem = name(random, n);
        let path = if folder.is_empty() {
            format!("{stem}{extension}")
        } else {
            format!("{folder}/{stem}{extension}")
        };
        let folded = crate::support::at(&path).folded();
        if !taken.contains(&folded) {
            taken.push(folded);
            return path;
        }
    }
}

/// Returns a free path in another folder, with the same file name.
fn twin_of(random: &mut SeededRandom, path: &str, taken: &mut Vec<String>) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    loop {
        let folder = random.of(&FOLDERS);
        let twin = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        let folded = crate::support::at(&twin).folded();
        if !taken.contains(&folded) {
            taken.push(folded);
            return twin;
        }
    }
}

/// Fills `folder` with this many notes, and a fifth as many attachments and canvases. The first notes are this many
/// `pairs` with equal names in different folders.
pub(crate) fn fill(folder: &Path, notes: usize, pairs: usize, seed: u64) {
    let mut random = SeededRandom(seed);
    let mut taken = Vec::new();
    let mut paths: Vec<String> = Vec::new();
    for n in 0..notes {
        paths.push(match paths.last() {
            Some(first) if n % 2 == 1 && n < 2 * pairs => twin_of(&mut random, first, &mut taken),
            Some(_) | None => free_path(&mut random, n, ".md", &mut taken),
        });
    }
    for n in 0..notes / 5 {
        let extension = random.of(&[".png", ".pdf", ".png", ".canvas"]);
        paths.push(free_path(&mut random, n, extension, &mut taken));
    }
    for (id, path) in paths.iter().enumerate() {
        let content = match path.rsplit_once('.').unwrap().1 {
            "md" => note(&mut random, id, path, &paths),
            "canvas" => canvas(&mut random, id, path, &paths),
            _ => format!("id: {id}\n"),
        };
        let place = folder.join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        put(&place, &content);
    }
}

/// Returns the forms in which a link in `source` can name a file.
fn target(random: &mut SeededRandom, source: &str, file: &str) -> String {
    let up = "../".repeat(source.matches('/').count());
    let name = file.rsplit('/').next().unwrap_or(file);
    let text = match random.below(9) {
        0 | 1 => file.to_owned(),
        2 => format!("/{file}"),
        3 => format!("{up}{file}"),
        4 => file.split_once('/').map_or(file, |(_, rest)| rest).to_owned(),
        5 => format!("Nowhere {}", random.below(1_000)),
        _ => name.to_owned(),
    };
    let text = if random.chance(8) { text.to_ascii_lowercase() } else { text };
    match text.strip_suffix(".md") {
        Some(stem) if !random.chance(3) => stem.to_owned(),
        _ => text,
    }
}

fn encoded(random: &mut SeededRandom, path: &str) -> String {
    let all = random.chance(2);
    let spelled = |c: char| {
        let must = c.is_ascii_control() || " ()<>%#\\`*_[]\u{a0}".contains(c);
        if must || (all && !c.is_ascii()) {
            let mut buffer = [0; 4];
            c.encode_utf8(&mut buffer).bytes().map(|byte| format!("%{byte:02X}")).collect()
        } else {
            c.to_string()
        }
    };
    path.chars().map(spelled).collect()
}

fn wikilink(random: &mut SeededRandom, target: &str) -> String {
    let bang = random.of(&["", "", "!"]);
    let end = random.of(&["", "", "", "#Some heading", "#^block-1", "|an alias", "#h|an alias", "|640x480"]);
    format!("{bang}[[{target}{end}]]")
}

fn markdown_link(random: &mut SeededRandom, target: &str) -> String {
    let bang = random.of(&["", "", "!"]);
    let fragment = random.of(&["", "", "#some-heading", "#^block"]);
    let title = random.of(&["", "", " \"a title\""]);
    let text = random.of(&["text", "some *text*", ""]);
    match random.chance(3) {
        true => {
            format!("{bang}[{text}](<{}{fragment}>{title})", target.replace('#', "%23").replace('%', "%25"))
        }
        false => format!("{bang}[{text}]({}{fragment}{title})", encoded(random, target)),
    }
}

fn note(random: &mut SeededRandom, id: usize, source: &str, files: &[String]) -> String {
    let mut properties = format!("id: {id}\n");
    let mut body = format!("# Note {id}\n\n");
    for n in 0..1 + random.below(6) {
        let file = files[random.below(files.len())].clone();
        let target = target(random, source, &file);
        let (wiki, markdown) = (wikilink(random, &target), markdown_link(random, &target));
        let prose = random.of(&PROSE);
        match random.below(12) {
            0 => properties.push_str(&format!("p{n}: \"{wiki}\" # a comment\n")),
            1 => properties.push_str(&format!("p{n}:\n  - '{}'\n  - plain\n", wiki.replace('\'', "''"))),
            2 => properties.push_str(&format!("p{n}: \"{}\"\n", markdown.replace('"', "\\\""))),
            3 => body.push_str(&format!(
                "| a | b |\n|---|---|\n| «{n}» {} «/{n}» | x |\n\n",
                wiki.replace('|', "\\|")
            )),
            4 => body.push_str(&format!("[r{n}]: {}\n\n", encoded(random, &target))),
            5 => body.push_str(&format!("{prose}\n\n> «{n}» {wiki} «/{n}» in a quote\n\n")),
            6..=8 => body.push_str(&format!("Before «{n}» {wiki} «/{n}», after.\n\n{prose}\n\n")),
            _ => body.push_str(&format!("{prose}\n\nBefore «{n}» {markdown} «/{n}», after.\n\n")),
        }
    }
    let text = format!("---\n{properties}---\n{body}");
    if random.chance(10) { text.replace('\n', "\r\n") } else { text }
}

fn canvas(random: &mut SeededRandom, id: usize, source: &str, files: &[String]) -> String {
    let mut nodes = Vec::new();
    for n in 0..1 + random.below(5) {
        let file = files[random.below(files.len())].clone();
        nodes.push(match random.chance(2) {
            true => json!({"id": n.to_string(), "type": "file", "file": file, "x": 0.5}),
            false => {
                let target = target(random, source, &file);
                let link = wikilink(random, &target);
                json!({"id": n.to_string(), "type": "text", "text": format!("«{n}» {link} «/{n}»\n\n- more")})
            }
        });
    }
    json!({"id": id, "nodes": nodes, "edges": []}).to_string()
}

/// Identity of a file.
type Id = usize;
/// Every link of a vault: the file that contains it, its number, and the file that it means.
pub(crate) type Meanings = BTreeMap<(Id, String), Option<Id>>;

/// A vault as the reference resolver reads it.
pub(crate) struct ResolvedLinks {
    pub(crate) path_of: BTreeMap<Id, String>,
    pub(crate) meanings: Meanings,
    /// Text of each file, with the links removed from between the marks.
    pub(crate) rest: BTreeMap<Id, String>,
}

pub(crate) fn look(folder: &Path) -> ResolvedLinks {
    let mut texts = BTreeMap::new();
    for (path, (mode, bytes)) in tree(folder) {
        if mode & 0o170_000 == 0o100_000 {
            texts.insert(path, String::from_utf8(bytes).unwrap());
        }
    }
    let files = FoldedFiles::new(texts.keys().cloned());
    let id_of: BTreeMap<&str, Id> = texts.iter().map(|(path, text)| (path.as_str(), id(text))).collect();
    let mut seen = ResolvedLinks {
        path_of: id_of.iter().map(|(path, id)| (*id, (*path).to_owned())).collect(),
        meanings: BTreeMap::new(),
        rest: BTreeMap::new(),
    };
    assert_eq!(seen.path_of.len(), texts.len(), "two files say that they are the same");
    for (path, text) in &texts {
        let (links, rest) = if path.ends_with(".canvas") { in_canvas(text) } else { in_note(text) };
        for (mark, target, is_exact) in links {
            let file = if is_exact {
                files.resolve("", &format!("/{target}"))
            } else {
                files.resolve(path, &target)
            };
            seen.meanings.insert((id_of[path.as_str()], mark), file.map(|file| id_of[file]));
        }
        seen.rest.insert(id_of[path.as_str()], rest);
    }
    seen
}

fn id(text: &str) -> Id {
    match serde_json::from_str::<Value>(text) {
        Ok(canvas) => canvas["id"].as_u64().unwrap() as Id,
        Err(_) => text.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().trim().parse().unwrap(),
    }
}

/// Mark, target, and whether it can only be a path from the root.
type Links = Vec<(String, String, bool)>;

fn in_note(text: &str) -> (Links, String) {
    let mut links = Vec::new();
    let mut rest = String::new();
    let mut property = "";
    for line in text.lines() {
        let kept = if let Some((label, target)) =
            line.split_once("]: ").filter(|(label, _)| label.starts_with("[r"))
        {
            links.push((label.to_owned(), destination(target), false));
            label.to_owned()
        } else if let Some((key, value)) = line.split_once(": ").filter(|(key, _)| key.starts_with('p')) {
            links.extend(quoted(value).map(|value| (key.to_owned(), target_of(&value), false)));
            key.to_owned()
        } else if let Some(value) = line.strip_prefix("  - ").filter(|_| property.starts_with('p')) {
            links.extend(quoted(value).map(|value| (property.to_owned(), target_of(&value), false)));
            property.to_owned()
        } else {
            without_marked(line, &mut links)
        };
        if !line.starts_with(' ') {
            property = line.strip_suffix(':').unwrap_or_default();
        }
        rest.push_str(&kept);
        rest.push('\n');
    }
    (links, rest)
}

fn in_canvas(text: &str) -> (Links, String) {
    let mut canvas: Value = serde_json::from_str(text).unwrap();
    let mut links = Vec::new();
    for node in canvas["nodes"].as_array_mut().unwrap() {
        let mark = format!("node {}", node["id"]);
        if let Some(file) = node["file"].as_str() {
            links.push((mark, file.to_owned(), true));
            node["file"] = Value::Null;
        } else {
            let rest = without_marked(node["text"].as_str().unwrap(), &mut links);
            node["text"] = json!(rest);
        }
    }
    (links, canvas.to_string())
}

/// Removes the text between marks from a line.
fn without_marked(line: &str, links: &mut Links) -> String {
    let mut rest = String::new();
    let mut todo = line;
    while let Some((before, (mark, after))) =
        todo.split_once('«').and_then(|(before, after)| Some((before, after.split_once('»')?)))
    {
        let (link, after) = after.split_once(&format!("«/{mark}»")).unwrap_or_else(|| panic!("{line}"));
        links.push((mark.to_owned(), target_of(link.trim()), false));
        rest.push_str(before);
        rest.push_str(mark);
        todo = after;
    }
    rest + todo
}

/// Returns the text of a quoted YAML value.
fn quoted(value: &str) -> Option<String> {
    let value = value.trim();
    if let Some(single) = value.strip_prefix('\'') {
        return Some(single[..single.rfind('\'')?].replace("''", "'"));
    }
    let double = value.strip_prefix('"')?;
    let end = double.rfind('"')?;
    Some(double[..end].replace("\\\"", "\"").replace("\\\\", "\\"))
}
