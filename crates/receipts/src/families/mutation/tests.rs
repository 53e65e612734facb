//! Receipts of file changes. No name can break a receipt.

use expect_test::expect;
use proptest::collection::vec;
use proptest::prelude::{any, proptest};

use super::restored::{self, ConflictEntry, RestoreReport};
use super::{FileMutation, MutationFacts, MutationOutcome, PropertyChanges, project};
use crate::families::ProjectedResult;
use crate::families::test_support::{cases, projected, receipt, shown};

const ETAG: &str = "b20ab0a020a48d349e0c64d109c441f8";

fn mutation(outcome: MutationOutcome, facts: MutationFacts<'_>, dry_run: bool) -> ProjectedResult {
    let etag = Some(ETAG.into());
    projected(500, |with| {
        project(FileMutation { outcome, path: "Notes/Idea.md".into(), etag, facts, dry_run }, with)
    })
}

// Conformance: result 1.3
// Conformance: result 5.1
#[test]
fn a_confirmation_has_the_outcome_and_the_etag() {
    let created = mutation(MutationOutcome::Created, MutationFacts::default(), false);
    expect![[r#"
        {"outcome":"created","path":"Notes/Idea.md","etag":"b20ab0a020a48d349e0c64d109c441f8"}
        ---
        Created Notes/Idea.md (etag b20ab0a020a48d349e0c64d109c441f8)
    "#]]
    .assert_eq(&shown("Created Notes/Idea.md", &created, 500));
    let facts = MutationFacts {
        line: Some(12),
        start: Some(80),
        end: Some(95),
        bytes_removed: Some(0),
        ..MutationFacts::default()
    };
    let patched = mutation(MutationOutcome::Changed, facts, false);
    expect![[r#"
        {"outcome":"changed","path":"Notes/Idea.md","etag":"b20ab0a020a48d349e0c64d109c441f8","bytes_removed":0,"line":12,"start":80,"end":95}
        ---
        Patched Notes/Idea.md at line 12 (etag b20ab0a020a48d349e0c64d109c441f8)
    "#]]
    .assert_eq(&shown("Patched Notes/Idea.md at line 12", &patched, 500));
}

#[test]
fn a_dry_run_says_that_nothing_was_written() {
    let dry = mutation(MutationOutcome::Created, MutationFacts::default(), true);
    expect![[r#"
        {"outcome":"created","path":"Notes/Idea.md","etag":"b20ab0a020a48d349e0c64d109c441f8","dry_run":true}
        ---
        Would create Notes/Idea.md (etag b20ab0a020a48d349e0c64d109c441f8)
        Dry run: nothing was written.
    "#]]
    .assert_eq(&shown("Would create Notes/Idea.md", &dry, 500));
}

#[test]
fn the_names_of_many_properties_are_counted() {
    let names: Vec<String> = (0..30).map(|n| format!("property {n}")).collect();
    let properties = Some(PropertyChanges { added: names, ..PropertyChanges::default() });
    let updated =
        mutation(MutationOutcome::Changed, MutationFacts { properties, ..MutationFacts::default() }, false);
    let kept = &updated.result["properties"];
    assert_eq!((kept["added"].as_array().unwrap().len(), &kept["left_out"]), (20, &10.into()));
}

#[test]
fn a_name_cannot_forge_a_line() {
    let created = mutation(MutationOutcome::Created, MutationFacts::default(), false);
    expect![[r#"Created a\nDeleted b\u{202e}\u{1b}[2J (etag b20ab0a020a48d349e0c64d109c441f8)"#]]
        .assert_eq(&receipt("Created a\nDeleted b\u{202e}\u{1b}[2J", &created, 500));
}

#[test]
fn what_was_put_back_is_told_after_what_stands_in_the_way() {
    let (kept, left) = (["a.md".to_owned()], ["Folder".to_owned()]);
    let way = |path: &str, can_overwrite| ConflictEntry {
        path: path.to_owned(),
        words: format!("`{path}` was edited since"),
        can_overwrite,
    };
    let conflicts = vec![way("b.md", true), way("c\n.md", false)];
    let restored =
        RestoreReport { restored: 3, already_so: 1, kept: &kept, left: &left, conflicts, dry_run: true };
    let restored = projected(500, |with| restored::project(restored, with));
    expect![[r#"
        {"restored":3,"already_so":1,"conflicts":[{"path":"b.md","words":"`b.md` was edited since","can_overwrite":true},{"path":"c\n.md","words":"`c\n.md` was edited since","can_overwrite":false}],"kept":["a.md"],"left":["Folder"],"truncated":false,"dry_run":true}
        ---
        Would make 3 changes
        Dry run: nothing was written.
        Conflict: `b.md` was edited since (keep or overwrite)
        Conflict: `c\n.md` was edited since (only keep)
        Kept: a.md
        Kept, not empty: Folder
    "#]]
    .assert_eq(&shown("Would make 3 changes", &restored, 500));
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn a_receipt_keeps_to_its_budget(
        summary in "[A-Z][a-z \\PC\n\u{1b}\u{202e}\u{ad}\u{34f}\u{2800}\u{fe0f}\u{e0041}]{0,80}",
        names in vec("\\PC{0,100}", 0..60),
        paths in vec("[a-z/\n]{1,40}", 0..200),
        dry_run in any::<bool>(),
        budget in 250_usize..800,
    ) {
        let properties = Some(PropertyChanges { changed: names, ..PropertyChanges::default() });
        let updated = mutation(MutationOutcome::Changed, MutationFacts { properties, ..MutationFacts::default() }, dry_run);
        receipt(&summary, &updated, budget);
        let complete =
            RestoreReport { restored: 1, already_so: 0, kept: &paths, left: &paths, conflicts: Vec::new(), dry_run };
        let restored = projected(budget, |with| restored::project(complete, with));
        let text = receipt(&summary, &restored, budget);
        let told = text.matches("\nKept: ").count() + text.matches("\nKept, not empty: ").count();
        assert_eq!(told < 2 * paths.len(), text.contains("\n… and "));
    }
}
