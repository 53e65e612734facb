//! Receipts of texts and lists, and their artifacts.

use std::fs::File;
use std::path::Path;

use envelope::{Artifact, Fault, Hash};
use expect_test::expect;
use proptest::collection::vec;
use proptest::prelude::proptest;

use super::{ListItem, project, project_items};
use crate::families::test_support::{cases, projected, receipt, shown};
use crate::families::{ProjectedResult, Projection};
use toolkit::{ArtifactSink, OpenArtifact};

/// Stores artifacts in a folder.
struct Folder<'a>(&'a Path);

impl ArtifactSink for Folder<'_> {
    fn create(&self, role: &str, extension: &str) -> Result<Option<OpenArtifact>, Fault> {
        let path = format!("artifacts/step-{role}.{extension}");
        let file = File::create_new(self.0.join(path.replace('/', "-"))).unwrap();
        Ok(Some(OpenArtifact { path, file }))
    }

    fn seal(&self, artifact: OpenArtifact, bytes: u64, hash: Hash) -> Result<Artifact, Fault> {
        Ok(Artifact { path: artifact.path, bytes, hash })
    }

    fn discard(&self, _artifact: &Artifact) {}

    fn open(&self, _path: &str) -> Result<File, Fault> {
        panic!("nobody looks into an artifact of a text")
    }
}

fn list(items: &[(&str, u32)], budget: usize) -> ProjectedResult {
    let items = items.iter().map(|(text, depth)| ListItem { text: *text, depth: *depth });
    projected(budget, |with| project_items(items, with))
}

// Conformance: result 1.3
#[test]
fn items_are_shown_with_their_depth() {
    let list = list(&[("Buy milk", 0), ("oat", 1), ("Call Ann\nnow", 0)], 1_500);
    expect![[r#"
        {"items_preview":[{"text":"Buy milk","depth":0},{"text":"oat","depth":1},{"text":"Call Ann\nnow","depth":0}],"count":3,"truncated":false}
        ---
        Found 3 bullets
        - Buy milk
          - oat
        - Call Ann\nnow
    "#]]
    .assert_eq(&shown("Found 3 bullets", &list, 1_500));
}

// Conformance: result 3.3
#[test]
fn a_long_list_is_kept_whole_beside_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let sink = Folder(folder.path());
    let texts: Vec<String> = (0..400).map(|n| format!("Item number {n}")).collect();
    let items = texts.iter().map(|text| ListItem { text: text.as_str(), depth: 0 });
    let mut with = Projection::new(120, Some(&sink));
    let list = project_items(items, &mut with).unwrap();
    let [kept] = with.into_artifacts().try_into().unwrap();
    let whole = std::fs::read_to_string(folder.path().join("artifacts-step-items.md")).unwrap();
    assert_eq!((whole.lines().count(), kept.hash), (400, Hash::of(whole.as_bytes())));
    assert!(whole.starts_with("- Item number 0\n- Item number 1\n"));
    expect![[r#"
        Found 400 bullets
        - Item number 0
        - Item number 1
        - Item number 2
        - Item number 3
        … 396 of 400 not shown
        Full list: artifacts/step-items.md (7090 bytes); page it with artifact_read"#]]
    .assert_eq(&receipt("Found 400 bullets", &list, 120));
    let facts = &list.result;
    assert_eq!((&facts["items_artifact"], &facts["items_bytes"]), (&0.into(), &7_090.into()));
    assert_eq!(facts["items_digest"], kept.hash.to_string());
    assert_eq!(facts["artifacts"], serde_json::json!([{"path": "artifacts/step-items.md"}]));
}

#[test]
fn a_short_text_is_said_once() {
    let slug = projected(1_500, |with| project("hello-world", with));
    expect![[r#"
        {"text_preview":"hello-world","truncated":false}
        ---
        Slug: hello-world
    "#]]
    .assert_eq(&shown("Slug: hello-world", &slug, 1_500));
    assert_eq!(receipt("Made a slug", &slug, 1_500), "Made a slug\nhello-world");
}

#[test]
fn a_long_text_without_a_place_to_keep_it_is_cut_and_counted() {
    let long = "All work and no play makes a dull line.\n".repeat(100);
    let text = projected(120, |with| project(&long, with));
    expect![[r#"
        Made a text
        All work and no play makes a dull line.
        All work and no play makes a dull line.
        … 3920 more bytes; call again with a part of the text"#]]
    .assert_eq(&receipt("Made a text", &text, 120));
    assert_eq!(receipt("Found 0 bullets", &list(&[], 500), 500), "Found 0 bullets");
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn a_receipt_keeps_to_its_budget(
        items in vec(("\\PC{0,40}[\n\t\u{1b}\u{202e}\u{ad}\u{34f}\u{2800}\u{fe0f}\u{e0041}]{0,1}", 0_u32..30), 0..150),
        text in "[a-z \n\\PC\u{1b}]{0,1000}",
        // A budget for one item, which is always shown.
        budget in 200_usize..1_000,
        shorter in 200_usize..1_000,
    ) {
        let pairs: Vec<(&str, u32)> = items.iter().map(|(text, depth)| (text.as_str(), *depth)).collect();
        let list = list(&pairs, budget);
        receipt("Found some bullets", &list, budget);
        receipt("Found some bullets", &list, shorter);
        let kept = list.result["items_preview"].as_array().unwrap().len() as u64;
        assert_eq!(kept + list.result["left_out"].as_u64().unwrap_or(0), items.len() as u64);
        let one = projected(budget, |with| project(&text, with));
        receipt("Made a text", &one, budget);
        receipt("Made a text", &one, shorter);
    }
}
