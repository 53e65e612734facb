//! Resolves a text to the vault paths that it may name, in any spelling.
//!
//! Servers interpret paths differently: some strip quotes, some treat `\\` as `/`, some normalize the path before
//! opening it. So a text is interpreted in all of these ways, and an ambiguous text resolves to more of the vault,
//! never to less.

use std::path::{Component, Path, PathBuf};

use envelope::{VaultPath, is_invisible};
use toolkit::PathScope;

/// Number of symbolic links that a system follows before it gives up.
const MAX_LINKS: usize = 40;

/// Returns every path scope in the vault at `root` that the text may name.
pub(crate) fn vault_scopes(root: &Path, text: &str) -> Vec<PathScope> {
    let mut found = Vec::new();
    let mut add = |scope: PathScope| {
        if !found.contains(&scope) {
            found.push(scope);
        }
    };
    for reading in path_readings(text) {
        let Some(path) = reading else {
            add(PathScope::Vault);
            continue;
        };
        for written in candidate_paths(root, &path) {
            let plain = normalize(&written);
            scope_in_vault(root, &plain).into_iter().for_each(&mut add);
            // A system resolves links before `..`; many servers do it the other way round.
            for path in [&plain, &written] {
                match resolve_links(path) {
                    Some(real) => scope_in_vault(root, &real).into_iter().for_each(&mut add),
                    None => add(PathScope::Vault),
                }
            }
        }
    }
    found
}

/// Returns every path that the text can be interpreted as; `None` for an unreadable one.
fn path_readings(text: &str) -> Vec<Option<String>> {
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
        // A text with a line break is prose, where `\\` can mean anything.
        if spelled.contains('\\') && !spelled.contains('\n') {
            add(Some(spelled.replace('\\', "/")));
        }
    }
    readings
}

/// Returns the part after `file:`. As in URL parsers, line breaks and tabs are ignored and `\\` is `/`.
fn file_address(text: &str) -> Option<String> {
    let plain = |c: &char| !matches!(c, '\t' | '\n' | '\r');
    let scheme: String = text.chars().filter(plain).take(5).collect();
    if !scheme.eq_ignore_ascii_case("file:") {
        return None;
    }
    Some(text.chars().filter(plain).skip(5).map(|c| if c == '\\' { '/' } else { c }).collect())
}

/// Returns the path of a `file:` URL. The part before it names a machine; servers ignore it or expect `localhost`.
fn path_of(address: &str) -> Option<String> {
    let path = match address.strip_prefix("//") {
        Some(rest) => &rest[rest.find('/')?..],
        None => address,
    };
    percent_decoded(path).filter(|path| !path.contains('\0'))
}

/// Returns the path relative to the vault, and a path that begins with `..` also relative to every parent folder:
/// the server's working directory is unknown.
fn candidate_paths(root: &Path, path: &str) -> Vec<PathBuf> {
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

/// Returns the path with `.` and `..` removed.
fn normalize(path: &Path) -> PathBuf {
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

/// Resolves symbolic links, also in a path that does not exist yet. Returns `None` for a link cycle.
fn resolve_links(path: &Path) -> Option<PathBuf> {
    let parts =
        |path: &Path| path.components().rev().map(|part| part.as_os_str().to_owned()).collect::<Vec<_>>();
    let (mut real, mut left, mut links) = (PathBuf::new(), parts(path), 0);
    // Nothing exists below a missing name, so no lookup is needed there.
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
            // It exists and is not a link.
            Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {}
            Err(_) => missing_from = Some(depth),
        }
    }
    Some(real)
}

/// Returns the scope of a path in the vault, or `None` if it is outside. A parent folder of the vault counts as the
/// whole vault. Names are folded as rules fold them, so that another case or Unicode form cannot bypass a rule.
fn scope_in_vault(root: &Path, path: &Path) -> Option<PathScope> {
    let folded = |part: Component<'_>| VaultPath::fold_text(&part.as_os_str().to_string_lossy());
    let mut below = path.components();
    for part in root.components() {
        match below.next() {
            None => return Some(PathScope::Vault),
            Some(named) if named == part || folded(named) == folded(part) => {}
            Some(_) => return None,
        }
    }
    let names: Vec<String> = below.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    let Some((first, rest)) = names.split_first() else { return Some(PathScope::Vault) };
    let Some(mut place) = top_level_path(first) else { return Some(PathScope::Vault) };
    for name in rest {
        // No rule can match a name that is not a valid segment, but a rule can match its folder.
        match place.join(name) {
            Ok(longer) => place = longer,
            Err(_) => return Some(PathScope::Folder(place)),
        }
    }
    Some(PathScope::Path(place))
}

/// Returns the first segment of a vault path. An invalid segment is replaced by the name that some system would use
/// for it: without invisible characters, without surrounding dots and spaces, up to the `:`, and of limited length.
fn top_level_path(name: &str) -> Option<VaultPath> {
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
