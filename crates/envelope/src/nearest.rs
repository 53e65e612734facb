//! "Did you mean": the known word nearest to a wrong one.

/// The candidate that a person most likely meant, if any is near enough to be worth saying.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (candidate, likeness(&lower, &candidate.to_lowercase())))
        .filter(|(_, score)| *score >= 0.82)
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(candidate, _)| candidate)
}

/// 1 for the same word; a slip of one or two letters beats every other kind of likeness.
fn likeness(word: &str, known: &str) -> f64 {
    let slips = strsim::osa_distance(word, known);
    if slips <= 2 && known.len() > 2 {
        return 1.0 - 0.02 * slips as f64;
    }
    let score = strsim::jaro_winkler(word, known).min(0.95);
    // A shared stem such as `file` in `filename` counts, too.
    if known.len() > 3 && word.len() > 3 && (word.contains(known) || known.contains(word)) {
        return score.max(0.86);
    }
    score
}

#[cfg(test)]
mod tests {
    use super::nearest;

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
}
