//! Confirmations as a model reads them, and what no name may do to a receipt.

use expect_test::expect;
use proptest::collection::vec;
use proptest::prelude::{any, proptest};

use super::restored::{self, InTheWay, Restored};
use super::{Facts, Mutation, Outcome, Properties, project};
use crate::families::Projected;
use crate::families::checks::{cases, projected, receipt, shown};

const ETAG: &str = "b20ab0a020a48d349e0c64d109c441f8";

fn mutation(outcome: Outcome, facts: Facts<'_>, dry_run: bool) -> Projected {
    let etag = Some(ETAG.into());
    projected(500, |with| {
        project(Mutation { outcome, path: "Notes/Idea.md".into(), etag, facts, dry_run }, with)
    })
}

#[test]
fn a_confirmation_has_the_outcome_and_the_etag() {
    let created = mutation(Outcome::Created, Facts::default(), false);
    expect![[r#"
        {"outcome":"created","path":"Notes/Idea.md","etag":"b20ab0a020a48d349e0c64d109c441f8"}
        ---
        Created Notes/Idea.md (etag b20ab0a020a48d349e0c64d109c441f8)
    "#]]
    .assert_eq(&shown("Created Notes/Idea.md", &created, 500));
    let facts =
        Facts { line: Some(12), start: Some(80), end: Some(95), bytes_removed: Some(0), ..Facts::default() };
    let patched = mutation(Outcome::Changed, facts, false);
    expect![[r#"
        {"outcome":"changed","path":"Notes/Idea.md","etag":"b20ab0a020a48d349e0c64d109c441f8","bytes_removed":0,"line":12,"start":80,"end":95}
        ---
        Patched Notes/Idea.md at line 12 (etag b20ab0a020a48d349e0c64d109c441f8)
    "#]]
    .assert_eq(&shown("Patched Notes/Idea.md at line 12", &patched, 500));
}

#[test]
fn a_dry_run_says_that_nothing_was_written() {
    let dry = mutation(Outcome::Created, Facts::default(), true);
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
    let properties = Some(Properties { added: names, ..Properties::default() });
    let updated = mutation(Outcome::Changed, Facts { properties, ..Facts::default() }, false);
    let kept = &updated.result["properties"];
    assert_eq!((kept["added"].as_array().unwrap().len(), &kept["left_out"]), (20, &10.into()));
}

#[test]
fn a_name_cannot_forge_a_line() {
    let created = mutation(Outcome::Created, Facts::default(), false);
    expect![[r#"Created a\nDeleted b\u{202e}\u{1b}[2J (etag b20ab0a020a48d349e0c64d109c441f8)"#]]
        .assert_eq(&receipt("Created a\nDeleted b\u{202e}\u{1b}[2J", &created, 500));
}

#[test]
fn what_was_put_back_is_told_after_what_stands_in_the_way() {
    let (kept, left) = (["a.md".to_owned()], ["Folder".to_owned()]);
    let way = |path: &str, can_overwrite| InTheWay {
        path: path.to_owned(),
        words: format!("`{path}` was edited since"),
        can_overwrite,
    };
    let conflicts = vec![way("b.md", true), way("c\n.md", false)];
    let restored =
        Restored { restored: 3, already_so: 1, kept: &kept, left: &left, conflicts, dry_run: true };
    let restored = projected(500, |with| restored::project(restored, with));
    expect![[r#"
        {"restored":3,"already_so":1,"conflicts":[{"path":"b.md","words":"`b.md` was edited since","can_overwrite":true},{"path":"c\n.md","words":"`c\n.md` was edited since","can_overwrite":false}],"kept":["a.md"],"left":["Folder"],"truncated":false,"dry_run":true}
        ---
        Would make 3 changes
        Dry run: nothing was written.
        In the way: `b.md` was edited since (keep or overwrite)
        In the way: `c\n.md` was edited since (only keep)
        Kept: a.md
        Not empty and left: Folder
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
        let properties = Some(Properties { changed: names, ..Properties::default() });
        let updated = mutation(Outcome::Changed, Facts { properties, ..Facts::default() }, dry_run);
        receipt(&summary, &updated, budget);
        let complete =
            Restored { restored: 1, already_so: 0, kept: &paths, left: &paths, conflicts: Vec::new(), dry_run };
        let restored = projected(budget, |with| restored::project(complete, with));
        let text = receipt(&summary, &restored, budget);
        let told = text.matches("\nKept: ").count() + text.matches("\nNot empty and left: ").count();
        assert_eq!(told < 2 * paths.len(), text.contains("\n… and "));
    }
}
