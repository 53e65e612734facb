//! "Did you mean": the known word nearest to a wrong one.

/// The candidate that a person most likely meant, if any is near enough to be worth saying.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| {
            let known = candidate.to_lowercase();
            // A swapped or dropped letter counts little; a shared stem such as `file` in `filename` counts too.
            let mut score = strsim::jaro_winkler(&lower, &known);
            if strsim::osa_distance(&lower, &known) <= 2 && known.len() > 2 {
                score = score.max(0.9);
            }
            if known.len() > 3 && lower.len() > 3 && (lower.contains(&known) || known.contains(&lower)) {
                score = score.max(0.86);
            }
            (candidate, score)
        })
        .filter(|(_, score)| *score >= 0.82)
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(candidate, _)| candidate)
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
    }
}
