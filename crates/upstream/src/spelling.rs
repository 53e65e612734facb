//! The places of the vault that one text names, however it spells them.
//!
//! Servers read a path each in their own way: some take quotes off it, some take `\\` for `/`, some make it plain before
//! they open it. So a text is read in all of these ways, and where nobody can say which place is meant, the answer is
//! more of the vault and never less.

use std::path::{Component, Path, PathBuf};

use envelope::{VaultPath, is_invisible};
use toolkit::Reach;

/// As many links as a system follows before it gives up.
const MAX_LINKS: usize = 40;

/// Every place in the vault at `root` that the text may name.
pub(crate) fn places(root: &Path, text: &str) -> Vec<Reach> {
    let mut found = Vec::new();
    let mut add = |reach: Reach| {
        if !found.contains(&reach) {
            found.push(reach);
        }
    };
    for reading in readings(text) {
        let Some(path) = reading else {
            add(Reach::Vault);
            continue;
        };
        for written in from_anywhere(root, &path) {
            let plain = without_steps_back(&written);
            within(root, &plain).into_iter().for_each(&mut add);
            // A system follows the links first and goes back then; many servers do it the other way round.
            for path in [&plain, &written] {
                match real(path) {
                    Some(real) => within(root, &real).into_iter().for_each(&mut add),
                    None => add(Reach::Vault),
                }
            }
        }
    }
    found
}

/// The text in each way in which it can be read as a path; none for one that nobody can read.
fn readings(text: &str) -> Vec<Option<String>> {
    let mut readings = Vec::new();
    let mut add = |reading: Option<String>| {
        if reading.as_ref().is_none_or(|path| !path.is_empty()) && !readings.contains(&reading) {
            readings.push(reading);
        }
    };
    if text.contains('\0') {
        return vec![None];
    }
    let trimmed = text.trim_matches(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '\''));
    if let Some(address) = file_address(trimmed) {
        let cut = address.find(['?', '#']).map_or(address.as_str(), |end| &address[..end]);
        for path in [cut, &address] {
            add(path_of(path));
        }
        return readings;
    }
    for spelled in [text, trimmed] {
        add(Some(spelled.to_owned()));
        // A line break in it makes it prose, in which it may stand for anything.
        if spelled.contains('\\') && !spelled.contains('\n') {
            add(Some(spelled.replace('\\', "/")));
        }
    }
    readings
}

/// What follows `file:`, as programs read addresses: breaks and tabs in it do not count, and `\\` is `/`.
fn file_address(text: &str) -> Option<String> {
    let plain = |c: &char| !matches!(c, '\t' | '\n' | '\r');
    let scheme: String = text.chars().filter(plain).take(5).collect();
    if !scheme.eq_ignore_ascii_case("file:") {
        return None;
    }
    Some(text.chars().filter(plain).skip(5).map(|c| if c == '\\' { '/' } else { c }).collect())
}

/// The path of such an address. What stands before it names a machine, if anything; servers leave it out or write
/// `localhost`.
fn path_of(address: &str) -> Option<String> {
    let path = match address.strip_prefix("//") {
        Some(rest) => &rest[rest.find('/')?..],
        None => address,
    };
    percent_decoded(path).filter(|path| !path.contains('\0'))
}

/// The path from the vault, and one that begins with steps back from every folder above it too: where a server stands
/// is its own business.
fn from_anywhere(root: &Path, path: &str) -> Vec<PathBuf> {
    let path = Path::new(path);
    let mut paths = vec![root.join(path)];
    let steps = path.components().take_while(|part| matches!(part, Component::ParentDir | Component::CurDir));
    let steps = steps.count();
    if steps > 0 {
        let rest: PathBuf = path.components().skip(steps).collect();
        paths.extend(root.ancestors().skip(1).map(|folder| folder.join(&rest)));
    }
    paths
}

/// The path with `.` and `..` taken out.
fn without_steps_back(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => plain.push(part),
        }
    }
    plain
}

/// Where the path leads, also where nothing is yet. None for links that go in a circle.
fn real(path: &Path) -> Option<PathBuf> {
    let parts =
        |path: &Path| path.components().rev().map(|part| part.as_os_str().to_owned()).collect::<Vec<_>>();
    let (mut real, mut left, mut links) = (PathBuf::new(), parts(path), 0);
    // Below a name that is not there nothing is, and nobody needs to look.
    let mut missing_from = None;
    while let Some(part) = left.pop() {
        if part == ".." {
            real.pop();
        } else if part != "." {
            real.push(&part);
        }
        let depth = real.as_os_str().len();
        missing_from = missing_from.filter(|from| depth >= *from);
        if missing_from.is_some() || part == ".." {
            continue;
        }
        match real.read_link() {
            Ok(target) => {
                links += 1;
                if links > MAX_LINKS {
                    return None;
                }
                real.pop();
                left.extend(parts(&target));
            }
            // It is there and no link.
            Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {}
            Err(_) => missing_from = Some(depth),
        }
    }
    Some(real)
}

/// The place in the vault, if it is one. Whatever holds the vault counts as all of it. Names are compared as rules
/// compare them, so that no other case or form of one leads around a rule.
fn within(root: &Path, path: &Path) -> Option<Reach> {
    let folded = |part: Component<'_>| VaultPath::fold_name(&part.as_os_str().to_string_lossy());
    let mut below = path.components();
    for part in root.components() {
        match below.next() {
            None => return Some(Reach::Vault),
            Some(named) if named == part || folded(named) == folded(part) => {}
            Some(_) => return None,
        }
    }
    let names: Vec<String> = below.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    let Some((first, rest)) = names.split_first() else { return Some(Reach::Vault) };
    let Some(mut place) = top(first) else { return Some(Reach::Vault) };
    for name in rest {
        // No rule can speak of a name that is no part of a path; of the folder that it is in, it can.
        match place.join(name) {
            Ok(longer) => place = longer,
            Err(_) => return Some(Reach::Folder(place)),
        }
    }
    Some(Reach::Path(place))
}

/// A name at the top of the vault. One that is no part of a path stands for the one that some system would take it
/// for: without what cannot be seen, without dots and spaces around it, up to the `:`, as long as names can be.
fn top(name: &str) -> Option<VaultPath> {
    if let Ok(place) = VaultPath::parse(name) {
        return Some(place);
    }
    let ending = |c: char| matches!(c, ' ' | '.');
    let name = name.split([':', '\\']).next().unwrap_or_default();
    let mut plain: String = name.chars().filter(|c| !is_invisible(*c)).collect();
    if plain.len() > VaultPath::MAX_SEGMENT_BYTES {
        plain.truncate(plain.floor_char_boundary(VaultPath::MAX_SEGMENT_BYTES));
    }
    VaultPath::parse(plain.trim_start_matches(' ').trim_end_matches(ending)).ok()
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
