//! What is no answer, and where no question is laid down.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use envelope::Hash;
use expect_test::expect;
use serde_json::json;

use super::{Office, note, request};
use crate::desk::{About, Question, Reply, Word};

#[tokio::test(start_paused = true)]
async fn only_a_file_of_ours_with_the_right_nonce_and_hash_is_an_answer() {
    type Forge = fn(&Office, &Question, &Reply);
    let forged: [Forge; 6] = [
        |office, question, reply| {
            let reply = Reply { nonce: "0".repeat(32), ..reply.clone() };
            office.folder.answer(&question.id, &reply).unwrap();
        },
        |office, question, reply| {
            let reply = Reply { shown: Hash::of(b"something else"), ..reply.clone() };
            office.folder.answer(&question.id, &reply).unwrap();
        },
        |office, question, reply| {
            office.folder.answer(&question.id, reply).unwrap();
            let file = office.path(&format!("{}.answer.json", question.id));
            fs::set_permissions(file, Permissions::from_mode(0o620)).unwrap();
        },
        |office, question, reply| {
            let real = office.home.path().join("elsewhere");
            fs::File::create(&real).unwrap().set_permissions(Permissions::from_mode(0o600)).unwrap();
            serde_json::to_writer(fs::File::create(&real).unwrap(), reply).unwrap();
            symlink(real, office.path(&format!("{}.answer.json", question.id))).unwrap();
        },
        |office, question, _reply| {
            fs::create_dir(office.path(&format!("{}.answer.json", question.id))).unwrap();
        },
        // The person was shown another input than the one that is asked about.
        |office, question, _reply| {
            let mut changed = question.clone();
            let About::Call { input, .. } = &mut changed.subject.about else { panic!("{changed:?}") };
            *input = json!({ "path": "harmless.md" });
            office.say(&changed, Word::Yes);
        },
    ];
    for (number, forge) in forged.into_iter().enumerate() {
        let office = Office::new();
        office.unheard(&note()).await;
        let question = office.only();
        forge(&office, &question, &Reply::to(&question, Word::Yes));
        assert!(office.unheard(&note()).await.starts_with("nobody"), "{number}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_count_leaves_room_for_one_that_does() {
    let office = Office::new();
    office.unheard(&note()).await;
    let question = office.only();
    let forged = Reply { nonce: String::new(), ..Reply::to(&question, Word::Yes) };
    office.folder.answer(&question.id, &forged).unwrap();
    office.unheard(&note()).await;
    office.say(&question, Word::Yes);
    assert_eq!(office.unheard(&note()).await, "once (approve)");
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_others_can_enter_is_not_used() {
    let office = Office::new();
    office.unheard(&note()).await;
    fs::set_permissions(office.path(""), Permissions::from_mode(0o750)).unwrap();
    let said = office.unheard(&request(json!({}))).await;
    expect!["nobody: the question cannot be laid down: DIR/state/approvals must be a folder of yours with mode 700, and has mode 750"]
        .assert_eq(&said.replace(office.home.path().to_str().unwrap(), "DIR"));
}

#[tokio::test(start_paused = true)]
async fn files_are_for_their_owner() {
    let office = Office::new();
    office.unheard(&note()).await;
    office.say(&office.only(), Word::Yes);
    let mode = |name: &str| fs::metadata(office.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(""), 0o700);
    let modes: Vec<u32> = office.files().iter().map(|name| mode(name)).collect();
    assert_eq!(modes, [0o600, 0o600]);
}
