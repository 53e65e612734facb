//! Rendered effects of a run: the first ones by name, the rest counted.

use envelope::{Effects, EntryKind, SideEffect};

use crate::display_text::escape_line;

/// Entries shown of each kind; `--json` has all of them.
const LISTED_EFFECTS: usize = 20;

/// Returns the number of changes.
pub fn count_effects(effects: &Effects) -> usize {
    effects.created.len() + effects.modified.len() + effects.deleted.len() + effects.renamed.len()
}

/// Returns one line a change, at most twenty of each kind unless `all`.
pub fn render_effects(effects: &Effects, all: bool) -> Vec<String> {
    let slash = |kind: EntryKind| match kind {
        EntryKind::File => "",
        EntryKind::Folder => "/",
    };
    let created = effects.created.iter().map(|e| format!("{}{}", escape_line(&e.path), slash(e.kind)));
    let modified = effects.modified.iter().map(|e| format!("{}{}", escape_line(&e.path), slash(e.kind)));
    let deleted = effects.deleted.iter().map(|e| format!("{}{}", escape_line(&e.path), slash(e.kind)));
    let renamed =
        effects.renamed.iter().map(|e| format!("{} to {}", escape_line(&e.from), escape_line(&e.to)));
    let mut lines = Vec::new();
    let shown = if all { usize::MAX } else { LISTED_EFFECTS };
    // Sorted by name for the reader: calls end in any order.
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

/// Returns the line for a run without listed changes.
pub fn none_listed(effects: &Effects) -> &'static str {
    match effects.side_effects_observed.contains(&SideEffect::RunCommand) {
        true => "No change is listed; what commands did is known to them only.",
        false => "Nothing was changed.",
    }
}

#[cfg(test)]
mod tests {
    use envelope::{CreatedPath, Effects, EntryKind};
    use expect_test::expect;

    use super::render_effects;

    #[test]
    fn twenty_are_named_and_the_rest_is_counted() {
        let created =
            (0..25).map(|n| CreatedPath { path: format!("N/{n}.md"), kind: EntryKind::File }).collect();
        let effects = Effects { created, ..Effects::default() };
        let shown = render_effects(&effects, false);
        assert_eq!(shown.len(), 21);
        expect!["created 5 more"].assert_eq(&shown[20]);
        assert_eq!(render_effects(&effects, true).len(), 25);
    }
}
