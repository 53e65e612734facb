//! "Did you mean": finds the known word nearest to a wrong one, and the tool nearest to a wrong name.

/// Returns the candidate that was most likely meant, if one is similar enough.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (candidate, similarity(&lower, &candidate.to_lowercase())))
        .filter(|(_, score)| *score >= 0.82)
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(candidate, _)| candidate)
}

/// Returns the tool that was most likely meant by a name, if its name differs only by a slip, or has the same verb and does
/// not leave out what the verb applies to. A tool that only reads may also have another verb.
///
/// Stricter than [`nearest`], because a model often just takes the suggestion: `vault.addTag` and `vault.deleteTag` must
/// not become `vault.delete`.
pub fn nearest_tool<'a>(name: &str, tools: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = tools.into_iter().filter_map(|tool| Some((tool, tool_similarity(name, tool)?)));
    scored.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(tool, _)| tool)
}

fn tool_similarity(name: &str, tool: &str) -> Option<f64> {
    let (namespace, known) = tool.rsplit_once('.').unwrap_or(("", tool));
    let asked = match name.rsplit_once('.') {
        Some((_, last)) => last,
        // Also an alias: `vault_readFile`.
        None => name.strip_prefix(namespace).and_then(|rest| rest.strip_prefix('_')).unwrap_or(name),
    };
    let letters = |text: &str| text.to_lowercase().replace(['_', '-'], "");
    let (asked_letters, known_letters) = (letters(asked), letters(known));
    let score = similarity(&asked_letters, &known_letters);
    let reads = |name: &str| ["get", "list", "read", "search"].contains(&verb(name).as_str());
    // `getFlag` does not stand for `setFlag`.
    let is_slip = score > 0.95 && (reads(known) || !reads(asked));
    let drops_object = asked_letters.len() > known_letters.len() && asked_letters.starts_with(&known_letters);
    let same_verb = verb(asked) == verb(known) && !drops_object && score >= 0.82;
    let only_reads = reads(known) && score >= 0.72;
    // Of equal names the one in the namespace that was asked for.
    let same_namespace = !namespace.is_empty() && name.starts_with(namespace);
    (is_slip || same_verb || only_reads).then_some(score + if same_namespace { 0.01 } else { 0.0 })
}

/// Returns the first word of a name, in lower case: `create` of `createFile`, `create_file` and `CreateFile`.
fn verb(name: &str) -> String {
    let first = name.chars().take(1).flat_map(char::to_lowercase);
    let rest = name.chars().skip(1).take_while(|c| c.is_lowercase() || c.is_ascii_digit());
    first.chain(rest).collect()
}

/// Returns 1 for equal words. A typo of one or two letters scores higher than every other similarity.
fn similarity(word: &str, known: &str) -> f64 {
    let slips = strsim::osa_distance(word, known);
    if slips <= 2 && known.len() > 2 {
        return 1.0 - 0.02 * slips as f64;
    }
    let score = strsim::jaro_winkler(word, known).min(0.95);
    // A shared stem such as `file` in `filename` counts as well.
    if known.len() > 3 && word.len() > 3 && (word.contains(known) || known.contains(word)) {
        return score.max(0.86);
    }
    score
}

#[cfg(test)]
mod tests {
    use super::{nearest, nearest_tool};

    #[test]
    fn a_slip_finds_its_word_and_a_stranger_finds_nothing() {
        let known = ["path", "content", "collisionStrategy", "dependsOn", "args"];
        assert_eq!(nearest("contents", known), Some("content"));
        assert_eq!(nearest("depends_on", known), Some("dependsOn"));
        assert_eq!(nearest("Path", known), Some("path"));
        assert_eq!(nearest("zzz", known), None);
        let tools = ["vault.createFile", "vault.listFiles", "vault.readFile"];
        assert_eq!(nearest("vault.reedFile", tools), Some("vault.readFile"));
        assert_eq!(nearest("vault.raedfile", tools), Some("vault.readFile"));
    }

    #[test]
    fn a_tool_is_suggested_for_a_slip_or_for_the_same_verb_and_never_for_another_deed() {
        let tools = [
            "vault.createFile",
            "vault.delete",
            "vault.listFiles",
            "vault.readFile",
            "vault.rename",
            "vault.searchText",
            "vault.updateFrontmatter",
            "ExecCommand",
            "TaskStop",
            "mcp.flags.setFlag",
        ];
        for (asked, meant) in [
            ("vault.reedFile", Some("vault.readFile")),
            ("vault.raedfile", Some("vault.readFile")),
            ("vault.read_file", Some("vault.readFile")),
            ("vault_read_file", Some("vault.readFile")),
            ("readFile", Some("vault.readFile")),
            ("notes.readFile", Some("vault.readFile")),
            ("vault.createNote", Some("vault.createFile")),
            ("vault.search", Some("vault.searchText")),
            ("vault.list", Some("vault.listFiles")),
            ("exec_command", Some("ExecCommand")),
            ("vault.delet", Some("vault.delete")),
            ("vault.openFile", Some("vault.readFile")),
            ("mcp.flags.getFlag", None),
            ("vault.addTag", None),
            ("vault.deleteTag", None),
            ("vault.renameTag", None),
            ("vault.removeTag", None),
            ("vault.dedupe", None),
            ("vault.getTags", None),
            ("vault.restore", None),
        ] {
            assert_eq!(nearest_tool(asked, tools), meant, "{asked}");
        }
    }
}
