//! What is kept, for how long, and across a restart.

use super::{Store, StoreLimits, Stored};
use crate::responses::item::{Content, Item, Role};

fn message(id: &str, role: Role, text: &str) -> Item {
    Item::Message {
        id: Some(id.to_owned()),
        role,
        content: vec![Content::Text(text.to_owned())],
        phase: None,
    }
}

fn stored(number: u32, previous: Option<u32>) -> Stored {
    Stored {
        id: format!("resp_{number}"),
        previous: previous.map(|number| format!("resp_{number}")),
        input: vec![message(&format!("in_{number}"), Role::User, &format!("question {number}"))],
        output: vec![message(&format!("msg_{number}"), Role::Assistant, &format!("answer {number}"))],
        object: format!("{{\"id\":\"resp_{number}\"}}"),
    }
}

fn said(store: &Store, id: &str) -> Result<Vec<String>, String> {
    let items = store.conversation(id).map_err(|error| format!("{} {}", error.status, error.code))?;
    Ok(items.iter().filter_map(|item| item.id().map(str::to_owned)).collect())
}

#[tokio::test]
async fn a_conversation_is_everything_that_an_answer_continues_oldest_first() {
    let store = Store::in_memory(StoreLimits::default());
    store.keep(stored(1, None)).await.unwrap();
    store.keep(stored(2, Some(1))).await.unwrap();
    assert_eq!(said(&store, "resp_2").unwrap(), ["in_1", "msg_1", "in_2", "msg_2"]);
    assert_eq!(store.item("msg_1").unwrap(), message("msg_1", Role::Assistant, "answer 1"));
    assert_eq!(store.item("msg_9"), None);
    assert_eq!(said(&store, "resp_9").unwrap_err(), "404 previous_response_not_found");
}

#[tokio::test]
async fn what_was_not_used_for_longest_goes_first_and_a_conversation_stays_whole() {
    let store = Store::in_memory(StoreLimits { responses: 3, bytes: usize::MAX });
    store.keep(stored(1, None)).await.unwrap();
    store.keep(stored(2, None)).await.unwrap();
    // Continuing 1 uses it, so 2 is the oldest now.
    store.keep(stored(3, Some(1))).await.unwrap();
    store.keep(stored(4, Some(3))).await.unwrap();
    assert_eq!(store.size().0, 3);
    assert!(store.get("resp_2").is_none());
    assert_eq!(store.item("msg_2"), None);
    assert_eq!(said(&store, "resp_4").unwrap().len(), 6);
}

#[tokio::test]
async fn bytes_are_bounded_but_the_newest_answer_always_stays() {
    let store = Store::in_memory(StoreLimits { responses: 100, bytes: 10 });
    store.keep(stored(1, None)).await.unwrap();
    assert_eq!(store.size().0, 1);
    store.keep(stored(2, None)).await.unwrap();
    assert!(store.get("resp_1").is_none());
    assert!(store.get("resp_2").is_some());
}

#[tokio::test]
async fn a_deleted_answer_is_gone_with_its_items_and_whatever_continues_it_says_so() {
    let store = Store::in_memory(StoreLimits::default());
    store.keep(stored(1, None)).await.unwrap();
    store.keep(stored(2, Some(1))).await.unwrap();
    assert!(store.remove("resp_1").await.unwrap());
    assert!(!store.remove("resp_1").await.unwrap());
    assert_eq!(store.item("msg_1"), None);
    assert_eq!(said(&store, "resp_2").unwrap_err(), "404 previous_response_not_found");
}

#[tokio::test]
async fn what_is_on_disk_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("responses");
    let store = Store::on_disk(at.clone(), StoreLimits::default()).unwrap();
    store.keep(stored(1, None)).await.unwrap();
    store.keep(stored(2, Some(1))).await.unwrap();
    store.keep(stored(3, None)).await.unwrap();
    store.remove("resp_3").await.unwrap();
    drop(store);
    // One that was damaged, and one that a crash left unfinished.
    std::fs::copy(at.join("resp_1.json"), at.join("resp_8.json")).unwrap();
    std::fs::copy(at.join("resp_1.json"), at.join("resp_9.part")).unwrap();
    let store = Store::on_disk(at.clone(), StoreLimits::default()).unwrap();
    assert_eq!(said(&store, "resp_2").unwrap(), ["in_1", "msg_1", "in_2", "msg_2"]);
    assert_eq!(*store.get("resp_1").unwrap(), stored(1, None));
    assert_eq!(store.size().0, 2);
    let mut files: Vec<String> = std::fs::read_dir(&at)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["resp_1.json", "resp_2.json", "resp_8.json"]);
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(at.join("resp_1.json")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn a_circle_on_disk_is_not_followed_for_ever() {
    let store = Store::in_memory(StoreLimits::default());
    store.keep(stored(1, Some(2))).await.unwrap();
    store.keep(stored(2, Some(1))).await.unwrap();
    assert!(said(&store, "resp_1").is_err());
}
