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
    let shown = if all { usize::MAX } else { LISTED_EFFECTS };
    render_kinds(effects, |_kinds| vec![shown; KINDS])
}

/// Returns at most this many lines, and at least one for each kind of change.
pub fn render_effects_within(effects: &Effects, lines: usize) -> Vec<String> {
    render_kinds(effects, |kinds| shares(kinds, lines))
}

/// Kinds of change.
const KINDS: usize = 4;

/// Divides lines among kinds with these numbers of changes. A kind with fewer changes leaves its room to the others; one
/// with more needs a line that counts the rest.
fn shares(kinds: &[usize], lines: usize) -> Vec<usize> {
    let mut shares = vec![0; kinds.len()];
    let mut order: Vec<usize> = (0..kinds.len()).filter(|kind| kinds[*kind] > 0).collect();
    order.sort_by_key(|kind| kinds[*kind]);
    let mut left = lines;
    for (position, kind) in order.iter().enumerate() {
        let room = (left / (order.len() - position)).max(1);
        shares[*kind] = if kinds[*kind] <= room { kinds[*kind] } else { room - 1 };
        left = left.saturating_sub(room.min(kinds[*kind]));
    }
    shares
}

/// Renders the changes of each kind, as many as `shares` returns for the numbers of changes.
fn render_kinds(effects: &Effects, shares: impl FnOnce(&[usize]) -> Vec<usize>) -> Vec<String> {
    let slash = |kind: EntryKind| match kind {
        EntryKind::File => "",
        EntryKind::Folder => "/",
    };
    let created = effects.created.iter().map(|e| format!("{}{}", escape_line(&e.path), slash(e.kind)));
    let modified = effects.modified.iter().map(|e| format!("{}{}", escape_line(&e.path), slash(e.kind)));
    let deleted = effects.deleted.iter().map(|e| format!("{}{}", escape_line(&e.path), slash(e.kind)));
    let renamed =
        effects.renamed.iter().map(|e| format!("{} to {}", escape_line(&e.from), escape_line(&e.to)));
    let kinds: [(&str, Vec<String>); KINDS] = [
        ("created", created.collect()),
        ("changed", modified.collect()),
        ("deleted", deleted.collect()),
        ("renamed", renamed.collect()),
    ];
    let shares = shares(&kinds.each_ref().map(|(_, paths)| paths.len()));
    let mut lines = Vec::new();
    for ((verb, mut paths), shown) in kinds.into_iter().zip(shares) {
        // Sorted by name for the reader: calls end in any order.
        paths.sort_unstable();
        lines.extend(paths.iter().take(shown).map(|path| format!("{verb} {path}")));
        match paths.len().saturating_sub(shown) {
            0 => {}
            all if shown == 0 => lines.push(format!("{verb} {all}")),
            rest => lines.push(format!("{verb} {rest} more")),
        }
    }
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
    use envelope::{CreatedPath, DeletedPath, Effects, EntryKind};
    use expect_test::expect;

    use super::{render_effects, render_effects_within};

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

    #[test]
    fn few_lines_name_something_of_each_kind() {
        let path = |n: usize| format!("N/{n}.md");
        let created = (0..25).map(|n| CreatedPath { path: path(n), kind: EntryKind::File }).collect();
        let deleted = |number: usize| -> Vec<DeletedPath> {
            (0..number).map(|n| DeletedPath { path: path(n), kind: EntryKind::File, trashed: None }).collect()
        };
        let mut effects = Effects { created, deleted: deleted(1), ..Effects::default() };
        expect![[r"
            created N/0.md
            created N/1.md
            created 23 more
            deleted N/0.md"]]
        .assert_eq(&render_effects_within(&effects, 4).join("\n"));
        expect![[r"
            created 25
            deleted N/0.md"]]
        .assert_eq(&render_effects_within(&effects, 1).join("\n"));
        effects.deleted = deleted(30);
        expect![[r"
            created N/0.md
            created 24 more
            deleted N/0.md
            deleted 29 more"]]
        .assert_eq(&render_effects_within(&effects, 4).join("\n"));
    }
}
