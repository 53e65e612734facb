//! What was changed, as a person reads it: the first ones by name, the rest counted.

use envelope::{Effects, EntryKind, SideEffect};

use crate::visible::one_line;

/// More than a screenful helps nobody; `--json` has them all.
const SHOWN: usize = 20;

/// How many changes there are.
pub(crate) fn number(effects: &Effects) -> usize {
    effects.created.len() + effects.modified.len() + effects.deleted.len() + effects.renamed.len()
}

/// One line a change, at most twenty a kind unless `all`.
pub(crate) fn lines(effects: &Effects, all: bool) -> Vec<String> {
    let slash = |kind: EntryKind| match kind {
        EntryKind::File => "",
        EntryKind::Folder => "/",
    };
    let created = effects.created.iter().map(|e| format!("{}{}", one_line(&e.path), slash(e.kind)));
    let modified = effects.modified.iter().map(|e| format!("{}{}", one_line(&e.path), slash(e.kind)));
    let deleted = effects.deleted.iter().map(|e| format!("{}{}", one_line(&e.path), slash(e.kind)));
    let renamed = effects.renamed.iter().map(|e| format!("{} to {}", one_line(&e.from), one_line(&e.to)));
    let mut lines = Vec::new();
    let shown = if all { usize::MAX } else { SHOWN };
    // Calls end in any order; a reader looks for names.
    let mut group = |verb: &str, mut paths: Vec<String>| {
        paths.sort_unstable();
        lines.extend(paths.iter().take(shown).map(|path| format!("{verb} {path}")));
        if paths.len() > shown {
            lines.push(format!("{verb} {} more", paths.len() - shown));
        }
    };
    group("created", created.collect());
    group("changed", modified.collect());
    group("deleted", deleted.collect());
    group("renamed", renamed.collect());
    if !lines.is_empty() && effects.side_effects_observed.contains(&SideEffect::RunCommand) {
        lines.push("and what commands did, which is known to them only".to_owned());
    }
    lines
}

/// What is said where no change is listed.
pub(crate) fn none_listed(effects: &Effects) -> &'static str {
    match effects.side_effects_observed.contains(&SideEffect::RunCommand) {
        true => "No change is listed; what commands did is known to them only.",
        false => "Nothing was changed.",
    }
}

#[cfg(test)]
mod tests {
    use envelope::{Created, Effects, EntryKind};
    use expect_test::expect;

    use super::lines;

    #[test]
    fn twenty_are_named_and_the_rest_is_counted() {
        let created = (0..25).map(|n| Created { path: format!("N/{n}.md"), kind: EntryKind::File }).collect();
        let effects = Effects { created, ..Effects::default() };
        let shown = lines(&effects, false);
        assert_eq!(shown.len(), 21);
        expect!["created 5 more"].assert_eq(&shown[20]);
        assert_eq!(lines(&effects, true).len(), 25);
    }
}
