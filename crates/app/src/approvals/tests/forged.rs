//! Invalid answers, and folders that take no question.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use envelope::Hash;
use expect_test::expect;
use serde_json::json;

use super::{BrokerFixture, note, request};
use crate::approval_queue::{ApprovalAnswer, ApprovalQuestion, QuestionReply, QuestionTopic};

#[tokio::test(start_paused = true)]
async fn only_a_file_of_ours_with_the_right_nonce_and_hash_is_an_answer() {
    type Forge = fn(&BrokerFixture, &ApprovalQuestion, &QuestionReply);
    let forged: [Forge; 6] = [
        |fixture, question, reply| {
            let reply = QuestionReply { nonce: "0".repeat(32), ..reply.clone() };
            fixture.folder.add_answer(&question.id, &reply).unwrap();
        },
        |fixture, question, reply| {
            let reply = QuestionReply { shown: Hash::of(b"something else"), ..reply.clone() };
            fixture.folder.add_answer(&question.id, &reply).unwrap();
        },
        |fixture, question, reply| {
            fixture.folder.add_answer(&question.id, reply).unwrap();
            let file = fixture.path(&format!("{}.answer.json", question.id));
            fs::set_permissions(file, Permissions::from_mode(0o620)).unwrap();
        },
        |fixture, question, reply| {
            let real = fixture.home.path().join("elsewhere");
            fs::File::create(&real).unwrap().set_permissions(Permissions::from_mode(0o600)).unwrap();
            serde_json::to_writer(fs::File::create(&real).unwrap(), reply).unwrap();
            symlink(real, fixture.path(&format!("{}.answer.json", question.id))).unwrap();
        },
        |fixture, question, _reply| {
            fs::create_dir(fixture.path(&format!("{}.answer.json", question.id))).unwrap();
        },
        // The user was shown another input than the one that is asked about.
        |fixture, question, _reply| {
            let mut changed = question.clone();
            let QuestionTopic::Call { input, .. } = &mut changed.subject.about else { panic!("{changed:?}") };
            *input = json!({ "path": "harmless.md" });
            fixture.say(&changed, ApprovalAnswer::Yes);
        },
    ];
    for (number, forge) in forged.into_iter().enumerate() {
        let fixture = BrokerFixture::new();
        fixture.unanswered(&note()).await;
        let question = fixture.only();
        forge(&fixture, &question, &QuestionReply::to(&question, ApprovalAnswer::Yes));
        assert!(fixture.unanswered(&note()).await.starts_with("unavailable"), "{number}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_count_leaves_room_for_one_that_does() {
    let fixture = BrokerFixture::new();
    fixture.unanswered(&note()).await;
    let question = fixture.only();
    let forged = QuestionReply { nonce: String::new(), ..QuestionReply::to(&question, ApprovalAnswer::Yes) };
    fixture.folder.add_answer(&question.id, &forged).unwrap();
    fixture.unanswered(&note()).await;
    fixture.say(&question, ApprovalAnswer::Yes);
    assert_eq!(fixture.unanswered(&note()).await, "once (approve)");
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_others_can_enter_is_not_used() {
    let fixture = BrokerFixture::new();
    fixture.unanswered(&note()).await;
    fs::set_permissions(fixture.path(""), Permissions::from_mode(0o750)).unwrap();
    let said = fixture.unanswered(&request(json!({}))).await;
    expect!["unavailable: the question cannot be queued: DIR/state/approvals must be a folder of yours with mode 700, and has mode 750"]
        .assert_eq(&said.replace(fixture.home.path().to_str().unwrap(), "DIR"));
}

#[tokio::test(start_paused = true)]
async fn files_are_for_their_owner() {
    let fixture = BrokerFixture::new();
    fixture.unanswered(&note()).await;
    fixture.say(&fixture.only(), ApprovalAnswer::Yes);
    let mode = |name: &str| fs::metadata(fixture.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(""), 0o700);
    let modes: Vec<u32> = fixture.files().iter().map(|name| mode(name)).collect();
    assert_eq!(modes, [0o600, 0o600]);
}
