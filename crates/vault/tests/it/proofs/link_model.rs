//! A model of links that shares no code with the resolver: the targets of wikilinks, and the files that they mean.

/// Returns the targets of all wikilinks, in order.
pub(super) fn wiki_targets(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let links = text.split("[[").skip(1);
    links.filter_map(|rest| rest.split_once("]]")).map(|(target, _)| target.to_owned()).collect()
}

/// Returns the text without the targets of its wikilinks.
pub(super) fn masked(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let mut parts = text.split("[[");
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        masked.push_str("[[");
        masked.push_str(part.split_once("]]").map_or(part, |(_, rest)| rest));
    }
    masked.into_bytes()
}

/// Returns the file that a target means in a note: from the root, then the nearest below the folder of the note, then the
/// shortest path; each as it is and with `.md`.
pub(super) fn resolve(files: &[String], note: &str, target: &str) -> Option<String> {
    let names = [target.to_lowercase(), format!("{}.md", target.to_lowercase())];
    let from_root =
        |name: &String| files.iter().find(|file| file.to_lowercase() == name.trim_start_matches('/'));
    if let Some(file) = names.iter().find_map(from_root) {
        return Some(file.clone());
    }
    if target.starts_with('/') {
        return None;
    }
    let folder = note.rsplit_once('/').map(|(folder, _)| format!("{}/", folder.to_lowercase()));
    names.iter().find_map(|name| {
        let ends = |file: &&String| file.to_lowercase().ends_with(&format!("/{name}"));
        let order = |file: &&String| (file.encode_utf16().count(), file.to_lowercase());
        let below =
            |file: &&String| folder.as_ref().is_some_and(|folder| file.to_lowercase().starts_with(folder));
        let nearest = files.iter().filter(ends).filter(below).min_by_key(order);
        nearest.or_else(|| files.iter().filter(ends).min_by_key(order)).cloned()
    })
}
