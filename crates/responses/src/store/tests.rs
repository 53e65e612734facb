//! Which responses are stored, for how long, and across a restart.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use envelope::SessionId;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
use proptest::sample::Index;

use super::lru_index::LruIndex;
use super::{ResponseStore, StoreError, StoreLimits, StoredResponse};
use crate::item::{ConversationItem, ItemContent, ItemRole};

fn message(id: &str, role: ItemRole, text: &str) -> ConversationItem {
    ConversationItem::Message {
        id: Some(id.to_owned()),
        role,
        content: vec![ItemContent::Text(text.to_owned())],
        phase: None,
    }
}

fn stored(number: u32, previous: Option<u32>) -> StoredResponse {
    StoredResponse {
        id: format!("resp_{number}"),
        previous: previous.map(|number| format!("resp_{number}")),
        session: SessionId::parse(&format!("s{number}")).ok(),
        input: vec![message(&format!("in_{number}"), ItemRole::User, &format!("question {number}"))],
        output: vec![message(&format!("msg_{number}"), ItemRole::Assistant, &format!("answer {number}"))],
        object: format!("{{\"id\":\"resp_{number}\"}}"),
    }
}

fn item(store: &ResponseStore, id: &str) -> Option<ConversationItem> {
    store.item(id)?.item().cloned()
}

fn said(store: &ResponseStore, id: &str) -> Result<Vec<String>, String> {
    let items = store.conversation(id).map_err(|error| format!("{} {}", error.status, error.code))?;
    Ok(items.iter().filter_map(|item| item.id().map(str::to_owned)).collect())
}

// Conformance: proxy 8.4
#[tokio::test]
async fn a_conversation_is_everything_that_an_answer_continues_oldest_first() {
    let store = ResponseStore::in_memory(StoreLimits::default());
    store.insert(stored(1, None)).await.unwrap();
    store.insert(stored(2, Some(1))).await.unwrap();
    assert_eq!(said(&store, "resp_2").unwrap(), ["in_1", "msg_1", "in_2", "msg_2"]);
    assert_eq!(item(&store, "msg_1").unwrap(), message("msg_1", ItemRole::Assistant, "answer 1"));
    assert_eq!(item(&store, "msg_9"), None);
    assert_eq!(said(&store, "resp_9").unwrap_err(), "404 previous_response_not_found");
}

// Conformance: proxy 16.7
//     Answers are kept within bounds, on disk if wanted, and conversations stay whole.
//     In: responses/store/mod.rs
#[tokio::test]
async fn what_was_not_used_for_longest_goes_first_and_a_conversation_stays_whole() {
    let store = ResponseStore::in_memory(StoreLimits { responses: 3, bytes: usize::MAX });
    store.insert(stored(1, None)).await.unwrap();
    store.insert(stored(2, None)).await.unwrap();
    // Continuing 1 uses it, so 2 is the oldest now.
    store.insert(stored(3, Some(1))).await.unwrap();
    store.insert(stored(4, Some(3))).await.unwrap();
    assert_eq!(store.size().0, 3);
    assert!(store.get("resp_2").is_none());
    assert_eq!(item(&store, "msg_2"), None);
    assert_eq!(said(&store, "resp_4").unwrap().len(), 6);
}

#[tokio::test]
async fn bytes_are_bounded_and_the_newest_answer_stays() {
    let one = super::weight::response_weight(&stored(1, None));
    let store = ResponseStore::in_memory(StoreLimits { responses: 100, bytes: 2 * one });
    for number in 1..=3 {
        // Each continues the one before it, which therefore counts as used after it.
        store.insert(stored(number, number.checked_sub(1))).await.unwrap();
    }
    assert_eq!(store.size(), (2, 2 * one));
    assert!(store.get("resp_3").is_some());
}

#[tokio::test]
async fn an_answer_heavier_than_everything_that_may_be_kept_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let limits = StoreLimits { responses: 100, bytes: 4_000 };
    for store in
        [ResponseStore::in_memory(limits), ResponseStore::on_disk(folder.path().to_owned(), limits).unwrap()]
    {
        store.insert(stored(1, None)).await.unwrap();
        let mut heavy = stored(2, Some(1));
        heavy.output = vec![message("msg_2", ItemRole::Assistant, &"a".repeat(4_000))];
        let error = store.insert(heavy).await.unwrap_err().to_string();
        assert_eq!(
            error,
            "response `resp_2` takes 4651 bytes, more than the 4000 that all of them together may take"
        );
        assert_eq!(store.size().0, 1);
        assert!(store.get("resp_1").is_some());
    }
    // Light in memory, heavy once it is written down.
    let store = ResponseStore::on_disk(folder.path().to_owned(), limits).unwrap();
    let mut escaped = stored(3, None);
    escaped.output = vec![message("msg_3", ItemRole::Assistant, &"\u{1}".repeat(1_000))];
    assert!(matches!(store.insert(escaped).await, Err(StoreError::TooHeavy { .. })));
    assert!(!folder.path().join("resp_3.json").exists());
}

#[tokio::test]
async fn an_id_names_the_output_that_has_it_then_the_first_input_that_is_still_kept() {
    let store = ResponseStore::in_memory(StoreLimits::default());
    let echo = |number: u32, id: &str| StoredResponse {
        input: vec![
            message(id, ItemRole::User, &format!("echo {number}")),
            message(id, ItemRole::User, "and once more"),
        ],
        ..stored(number, None)
    };
    store.insert(echo(1, "msg_2")).await.unwrap();
    store.insert(stored(2, None)).await.unwrap();
    store.insert(echo(3, "msg_2")).await.unwrap();
    let original = message("msg_2", ItemRole::Assistant, "answer 2");
    assert_eq!(item(&store, "msg_2"), Some(original.clone()));
    store.remove("resp_3").await.unwrap();
    assert_eq!(item(&store, "msg_2"), Some(original));
    store.insert(echo(4, "msg_2")).await.unwrap();
    store.remove("resp_2").await.unwrap();
    assert_eq!(item(&store, "msg_2"), Some(message("msg_2", ItemRole::User, "echo 1")));
    store.remove("resp_1").await.unwrap();
    assert_eq!(item(&store, "msg_2"), Some(message("msg_2", ItemRole::User, "echo 4")));
    store.remove("resp_4").await.unwrap();
    assert_eq!(item(&store, "msg_2"), None);
}

#[tokio::test]
async fn a_deleted_answer_is_gone_with_its_items_and_whatever_continues_it_says_so() {
    let store = ResponseStore::in_memory(StoreLimits::default());
    store.insert(stored(1, None)).await.unwrap();
    store.insert(stored(2, Some(1))).await.unwrap();
    assert!(store.remove("resp_1").await.unwrap());
    assert!(!store.remove("resp_1").await.unwrap());
    assert_eq!(item(&store, "msg_1"), None);
    assert_eq!(said(&store, "resp_2").unwrap_err(), "404 previous_response_not_found");
}

// Conformance: proxy 16.7
#[tokio::test]
async fn what_is_on_disk_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("responses");
    let store = ResponseStore::on_disk(at.clone(), StoreLimits::default()).unwrap();
    store.insert(stored(1, None)).await.unwrap();
    store.insert(stored(2, Some(1))).await.unwrap();
    store.insert(stored(3, None)).await.unwrap();
    store.remove("resp_3").await.unwrap();
    drop(store);
    // One that was damaged, and one that a crash left unfinished.
    fs::copy(at.join("resp_1.json"), at.join("resp_8.json")).unwrap();
    fs::copy(at.join("resp_1.json"), at.join("resp_9.part")).unwrap();
    // Files of other programs with the same suffix.
    for other in ["download.part", "resp_.part", "resp_a b.part"] {
        fs::File::create(at.join(other)).unwrap();
    }
    let store = ResponseStore::on_disk(at.clone(), StoreLimits::default()).unwrap();
    assert_eq!(said(&store, "resp_2").unwrap(), ["in_1", "msg_1", "in_2", "msg_2"]);
    assert_eq!(*store.get("resp_1").unwrap(), stored(1, None));
    assert_eq!(store.size().0, 2);
    let mut files: Vec<String> =
        fs::read_dir(&at).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    assert_eq!(
        files,
        ["download.part", "resp_.part", "resp_1.json", "resp_2.json", "resp_8.json", "resp_a b.part"]
    );
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(at.join("resp_1.json")), 0o600);
    assert_eq!(mode(at), 0o700);
}

#[tokio::test]
async fn a_circle_on_disk_is_not_followed_for_ever() {
    let store = ResponseStore::in_memory(StoreLimits::default());
    store.insert(stored(1, Some(2))).await.unwrap();
    store.insert(stored(2, Some(1))).await.unwrap();
    assert!(said(&store, "resp_1").is_err());
}

#[tokio::test]
async fn a_folder_that_others_can_write_is_refused_and_left_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("responses");
    fs::create_dir(&at).unwrap();
    for mode in [0o770, 0o707, 0o722] {
        fs::set_permissions(&at, Permissions::from_mode(mode)).unwrap();
        let refused = ResponseStore::on_disk(at.clone(), StoreLimits::default()).err().unwrap();
        assert_eq!(
            refused.to_string(),
            format!("others can change files in `{}` (mode {mode:o}); run `chmod 700` on it", at.display())
        );
    }
    fs::set_permissions(&at, Permissions::from_mode(0o755)).unwrap();
    assert!(ResponseStore::on_disk(at, StoreLimits::default()).is_ok());
}

#[tokio::test]
async fn two_servers_do_not_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("responses");
    let first = ResponseStore::on_disk(at.clone(), StoreLimits::default()).unwrap();
    let second = ResponseStore::on_disk(at.clone(), StoreLimits::default()).err().unwrap();
    assert_eq!(
        second.to_string(),
        format!(
            "another server keeps its responses in `{}`; give each server a folder of its own",
            at.display()
        )
    );
    drop(first);
    assert!(ResponseStore::on_disk(at, StoreLimits::default()).is_ok());
}

#[tokio::test]
async fn links_in_the_folder_are_neither_written_through_nor_read() {
    let folder = tempfile::tempdir().unwrap();
    let (at, victim) = (folder.path().join("responses"), folder.path().join("victim"));
    let store = ResponseStore::on_disk(at.clone(), StoreLimits::default()).unwrap();
    store.insert(stored(2, None)).await.unwrap();
    fs::copy(at.join("resp_2.json"), &victim).unwrap();
    let before = fs::read(&victim).unwrap();
    symlink(&victim, at.join("resp_1.part")).unwrap();
    store.insert(stored(1, None)).await.unwrap();
    assert_eq!(fs::read(&victim).unwrap(), before);
    assert!(fs::symlink_metadata(at.join("resp_1.json")).unwrap().is_file());
    fs::remove_file(at.join("resp_2.json")).unwrap();
    symlink(&victim, at.join("resp_2.json")).unwrap();
    drop(store);
    let store = ResponseStore::on_disk(at, StoreLimits::default()).unwrap();
    assert!(store.get("resp_1").is_some());
    assert!(store.get("resp_2").is_none());
}

#[tokio::test]
async fn after_a_restart_a_conversation_that_was_used_last_stays_whole() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("responses");
    let store = ResponseStore::on_disk(at.clone(), StoreLimits::default()).unwrap();
    // 1 is the oldest, but 4 continues it. Times are given, since files can be written faster than clocks tick.
    for (number, previous) in [(1, None), (2, None), (3, None), (4, Some(1)), (5, Some(4))] {
        store.insert(stored(number, previous)).await.unwrap();
        let file = fs::File::options().write(true).open(at.join(format!("resp_{number}.json"))).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(u64::from(number))).unwrap();
    }
    drop(store);
    let store = ResponseStore::on_disk(at.clone(), StoreLimits { responses: 4, bytes: usize::MAX }).unwrap();
    assert!(store.get("resp_2").is_none());
    assert!(!at.join("resp_2.json").exists());
    store.insert(stored(6, None)).await.unwrap();
    assert!(store.get("resp_3").is_none());
    assert_eq!(said(&store, "resp_5").unwrap(), ["in_1", "msg_1", "in_4", "msg_4", "in_5", "msg_5"]);
}

proptest! {
    /// The quick way to load walks each conversation once; putting the answers in one by one walks it for each.
    #[test]
    fn loading_gives_the_order_of_use_that_putting_in_one_by_one_gives(
        previous in vec(option::of(any::<Index>()), 0..40),
    ) {
        let answers: Vec<StoredResponse> = (0_u32..)
            .zip(&previous)
            .map(|(number, previous)| {
                let earlier = usize::try_from(number).unwrap();
                let previous = previous.filter(|_| earlier > 0).map(|any| any.index(earlier));
                stored(number, previous.map(|previous| u32::try_from(previous).unwrap()))
            })
            .collect();
        let limits = StoreLimits { responses: 100, bytes: usize::MAX };
        let (mut loaded, mut put) = (LruIndex::new(limits), LruIndex::new(limits));
        prop_assert!(loaded.load(answers.iter().map(|answer| (answer.clone(), 1)).collect()).is_empty());
        for answer in answers {
            put.put(Arc::new(answer), 1);
        }
        prop_assert_eq!(loaded.in_order_of_use(), put.in_order_of_use());
    }
}
