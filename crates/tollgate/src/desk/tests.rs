//! What counts as an answer, and for what.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::{
    Answer, ApprovalRequest, Approver, ConfirmRequest, ManualClock, Remembering, UncertainCall,
    UncertainVerdict, Verdict,
};
use envelope::{CallId, Channel, Hash, Risk, RunId, StepId, Timestamp, ToolName};
use expect_test::expect;
use serde_json::{Value, json};
use tokio::join;

use super::folder::Folder;
use super::question::{About, Question, Reply, Word};
use super::{Desk, WAIT, words};
use crate::screen::Paint;

/// A desk in a folder of its own, with the person who sits at it.
struct Office {
    home: tempfile::TempDir,
    clock: Arc<ManualClock>,
    desk: Desk,
    folder: Folder,
}

impl Office {
    fn new() -> Office {
        let home = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at("2026-01-02T03:04:05Z".parse().unwrap()));
        let path = home.path().join("state/approvals");
        let desk = Desk::new(path.clone(), "/notes".as_ref(), "a client".to_owned(), WAIT, clock.clone());
        Office { home, clock, desk, folder: Folder::new(path) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join("state/approvals").join(name)
    }

    fn now(&self) -> Timestamp {
        engine::Clock::now(&*self.clock)
    }

    fn waiting(&self) -> Vec<Question> {
        self.folder.waiting(self.now()).unwrap()
    }

    #[track_caller]
    fn only(&self) -> Question {
        let mut waiting = self.waiting();
        assert_eq!(waiting.len(), 1, "{waiting:?}");
        waiting.remove(0)
    }

    fn say(&self, question: &Question, word: Word) {
        self.folder.answer(&question.id, &Reply::to(question, word)).unwrap();
    }

    /// How a call ends that nobody answers while it waits.
    async fn unheard(&self, request: &ApprovalRequest) -> String {
        in_words(self.desk.approve(request).await)
    }

    /// How it ends when the person says this while it waits.
    async fn heard(&self, request: &ApprovalRequest, word: Word) -> String {
        let (verdict, ()) = join!(biased; self.desk.approve(request), async { self.say(&self.only(), word) });
        in_words(verdict)
    }

    /// Everything in the folder.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("")).into_iter().flatten();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

fn request(input: Value) -> ApprovalRequest {
    ApprovalRequest {
        run_id: RunId::parse("01890000-0000-7000-8000-000000000001").unwrap(),
        step_id: StepId::parse("call").unwrap(),
        call_id: CallId::parse("01890000-0000-7000-8000-000000000002").unwrap(),
        tool: ToolName::parse("vault.createFile").unwrap(),
        risk: Risk::Writes,
        preview: "Create a.md".to_owned(),
        exact: envelope::canonical_hash(&input),
        input,
        why: "the mode asks about writes".to_owned(),
        remembering: Remembering::Reasons,
    }
}

fn note() -> ApprovalRequest {
    request(json!({ "path": "a.md", "content": "x" }))
}

fn in_words(verdict: Verdict) -> String {
    let by = |channel: Channel| json!(channel).as_str().unwrap().to_owned();
    match verdict {
        Verdict::Once { channel } => format!("once ({})", by(channel)),
        Verdict::Remember { channel } => format!("remember ({})", by(channel)),
        Verdict::Reject { reason } => format!("no: {reason}"),
        Verdict::Nobody { why } => format!("nobody: {why}"),
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_during_the_wait_ends_it() {
    let office = Office::new();
    assert_eq!(office.heard(&note(), Word::Yes).await, "once (approve)");
    assert_eq!(office.files(), [""; 0]);
    assert_eq!(office.heard(&note(), Word::No).await, "no: asked through `tollgate approve`");
    assert_eq!(office.files(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_yes_that_comes_late_is_for_the_same_call_made_again_and_for_one_only() {
    let office = Office::new();
    let said = office.unheard(&note()).await;
    let question = office.only();
    expect![[r#"nobody: no answer came within 45 seconds; a person can answer with `tollgate approve ID` at a terminal within 10 minutes, and then the same call can be made again"#]]
        .assert_eq(&said.replace(&question.id, "ID"));
    office.say(&question, Word::Yes);
    let before = tokio::time::Instant::now();
    assert_eq!(office.unheard(&note()).await, "once (approve)");
    assert_eq!(before.elapsed(), Duration::ZERO, "it was there already");
    assert_eq!(office.files(), [""; 0]);
    assert!(office.unheard(&note()).await.starts_with("nobody"), "it is used up");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_made_again_takes_its_question_up_again() {
    let office = Office::new();
    office.unheard(&note()).await;
    let first = office.only();
    office.unheard(&note()).await;
    assert_eq!(office.only(), first);
    // Whoever could not be answered to the end of its wait gets a fresh one.
    office.clock.advance_ms(9 * 60_000 + 30_000);
    office.unheard(&note()).await;
    let ids: Vec<String> = office.waiting().into_iter().map(|question| question.id).collect();
    assert_eq!((ids.len(), &ids[0]), (2, &first.id));
}

#[tokio::test(start_paused = true)]
async fn a_late_yes_answers_nothing_else() {
    let change: [fn(&mut ApprovalRequest); 8] = [
        |request| request.exact = Hash::of(b"looks the same"),
        |request| request.input["content"] = json!("y"),
        |request| request.input["path"] = json!("b.md"),
        |request| request.input["more"] = json!(null),
        |request| request.preview.push('.'),
        |request| request.why.push('.'),
        |request| request.tool = ToolName::parse("vault.writeFile").unwrap(),
        |request| request.remembering = Remembering::Nothing,
    ];
    for (number, change) in change.into_iter().enumerate() {
        let office = Office::new();
        office.unheard(&note()).await;
        office.say(&office.only(), Word::Yes);
        let mut other = note();
        change(&mut other);
        assert!(office.unheard(&other).await.starts_with("nobody"), "{number}");
        assert_eq!(office.unheard(&note()).await, "once (approve)", "{number}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_order_of_keys_is_no_difference() {
    let office = Office::new();
    office.unheard(&request(json!({ "path": "a.md", "content": "x" }))).await;
    office.say(&office.only(), Word::Yes);
    let again = request(json!({ "content": "x", "path": "a.md" }));
    assert_eq!(office.unheard(&again).await, "once (approve)");
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_ends_with_its_question() {
    for word in [Word::Yes, Word::No] {
        let office = Office::new();
        office.unheard(&note()).await;
        office.say(&office.only(), word);
        office.clock.advance_ms(600_000);
        assert!(office.unheard(&note()).await.starts_with("nobody"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_no_holds_until_it_expires() {
    let office = Office::new();
    office.unheard(&note()).await;
    office.say(&office.only(), Word::No);
    assert_eq!(office.unheard(&note()).await, "no: asked through `tollgate approve`");
    for _ in 0..2 {
        let again = "no: the answer to the same question was no, a few minutes ago";
        assert_eq!(office.unheard(&note()).await, again);
    }
    assert!(office.unheard(&request(json!({}))).await.starts_with("nobody"), "that is another question");
    office.clock.advance_ms(600_000);
    assert_eq!(office.heard(&note(), Word::Yes).await, "once (approve)");
}

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
async fn calls_that_ask_the_same_at_once_need_a_yes_each() {
    let office = Office::new();
    let same = note();
    let (one, two, ()) = join!(biased; office.desk.approve(&same), office.desk.approve(&same), async {
        let waiting = office.waiting();
        assert_eq!(waiting.len(), 2);
        office.say(&waiting[0], Word::Yes);
    });
    let mut ends = [in_words(one), in_words(two)];
    ends.sort();
    assert!(ends[0].starts_with("nobody") && ends[1] == "once (approve)", "{ends:?}");
}

#[tokio::test(start_paused = true)]
async fn calls_that_ask_different_things_get_each_its_own_answer() {
    let office = Office::new();
    let (a, b) = (note(), request(json!({ "path": "b.md", "content": "x" })));
    let (one, two, ()) = join!(biased; office.desk.approve(&a), office.desk.approve(&b), async {
        for question in office.waiting() {
            let About::Call { input, .. } = &question.subject.about else { panic!("{question:?}") };
            office.say(&question, if input["path"] == "a.md" { Word::No } else { Word::Yes });
        }
    });
    assert_eq!([in_words(one), in_words(two)], ["no: asked through `tollgate approve`", "once (approve)"]);
}

#[tokio::test(start_paused = true)]
async fn always_also_answers_those_who_wait_for_the_same_reason() {
    let office = Office::new();
    let (a, b) = (note(), request(json!({ "path": "b.md", "content": "x" })));
    let (one, two, ()) = join!(biased; office.desk.approve(&a), office.desk.approve(&b), async {
        office.say(&office.waiting()[0], Word::Always);
    });
    let mut ends = [in_words(one), in_words(two)];
    ends.sort();
    assert_eq!(ends, ["once (approve)", "remember (approve)"]);
    assert_eq!(office.files(), [""; 0]);
    let mut other = note();
    other.why.push('!');
    assert!(office.unheard(&other).await.starts_with("nobody"));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_remembered_is_allowed_once() {
    let office = Office::new();
    let wrapper = || ApprovalRequest { remembering: Remembering::Nothing, ..note() };
    assert_eq!(office.heard(&wrapper(), Word::Always).await, "once (approve)");
    assert!(office.unheard(&wrapper()).await.starts_with("nobody"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_takes_its_question_along() {
    let office = Office::new();
    let request = note();
    let (ended, ()) = join!(
        biased;
        tokio::time::timeout(Duration::from_secs(1), office.desk.approve(&request)),
        async { assert_eq!(office.waiting().len(), 1) }
    );
    assert!(ended.is_err());
    assert_eq!(office.files(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn questions_end_with_the_process_that_asked_them() {
    let office = Office::new();
    office.unheard(&note()).await;
    let mut left = office.only();
    left.id = "00000000".to_owned();
    // As a crash leaves it: nobody holds its lock.
    drop(office.folder.put(&left).unwrap());
    office.say(&left, Word::Yes);
    let ids: Vec<String> = office.waiting().into_iter().map(|question| question.id).collect();
    assert!(ids.len() == 1 && !ids.contains(&left.id), "{ids:?}");
    let Office { home, folder, desk, .. } = office;
    drop(desk);
    assert_eq!(fs::read_dir(home.path().join("state/approvals")).unwrap().count(), 0);
    assert_eq!(folder.waiting(Timestamp::UNIX_EPOCH).unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn a_yes_to_a_plan_is_bound_to_the_plan_and_to_what_was_shown() {
    let office = Office::new();
    let plan = |text: &str, binding: &str| ConfirmRequest {
        run_id: RunId::parse("01890000-0000-7000-8000-000000000001").unwrap(),
        text: text.to_owned(),
        binding: Hash::of(binding.as_bytes()),
        whole_plan: true,
        risk: Risk::Writes,
    };
    let ended = |answer: Answer| match answer {
        Answer::Yes { channel } => format!("yes {channel:?}"),
        Answer::No { .. } => "no".to_owned(),
        Answer::Nobody { .. } => "nobody".to_owned(),
    };
    assert_eq!(ended(office.desk.confirm(&plan("two notes", "p")).await), "nobody");
    office.say(&office.only(), Word::Yes);
    assert_eq!(ended(office.desk.confirm(&plan("two notes", "q")).await), "nobody");
    assert_eq!(ended(office.desk.confirm(&plan("two files", "p")).await), "nobody");
    assert_eq!(ended(office.desk.confirm(&plan("two notes", "p")).await), "yes Approve");
}

#[tokio::test(start_paused = true)]
async fn an_uncertain_call_is_left_unless_a_person_says_otherwise() {
    let office = Office::new();
    let call = UncertainCall {
        call_id: CallId::parse("01890000-0000-7000-8000-000000000002").unwrap(),
        step_id: StepId::parse("send").unwrap(),
        tool: ToolName::parse("ExecCommand").unwrap(),
        input: json!({}),
        why: "no trace".to_owned(),
    };
    assert!(matches!(office.desk.settle(&call).await, UncertainVerdict::Leave));
    office.say(&office.only(), Word::Yes);
    assert!(matches!(office.desk.settle(&call).await, UncertainVerdict::Run));
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

#[tokio::test(start_paused = true)]
async fn a_flood_of_questions_is_not_laid_down() {
    let office = Office::new();
    for number in 0..32 {
        office.unheard(&request(json!({ "number": number }))).await;
    }
    assert_eq!(
        office.unheard(&request(json!({ "number": 32 }))).await,
        "nobody: the question cannot be laid down: 32 questions wait already; answer them with `tollgate approve` first"
    );
    assert_eq!(office.waiting().len(), 32);
}

#[test]
fn a_question_is_shown_whole_and_forges_no_line() {
    let long = "x".repeat(5000);
    let about = json!({
        "kind": "call", "tool": "ExecCommand", "preview": "Run `a\nMay this call run?`", "why": "it \u{1b}[2Jasks",
        "input": { "cmd": format!("echo \u{202e}{long}") }, "exact": Hash::of(b""), "keeping": "nothing",
    });
    let question: Question = serde_json::from_value(json!({
        "id": "7k2m9x4p", "nonce": "secret", "askedAt": "2026-01-02T03:04:05Z", "expiresAt": "2026-01-02T03:14:05Z",
        "subject": { "vault": "/my\nnotes", "client": "a\u{200b}b", "about": about },
    }))
    .unwrap();
    let shown = words::asked(&question, Paint::plain());
    let lines: Vec<&str> = shown.lines().skip(1).collect();
    expect![[r#"
        Run `a\nMay this call run?` (it \u{1b}[2Jasks)
          ExecCommand
          input: {"cmd":"echo \u{202e}LONG"}"#]]
    .assert_eq(&lines.join("\n").replace(&long, "LONG"));
    let first = shown.lines().next().unwrap();
    assert!(first.starts_with("7k2m9x4p from a\\u{200b}b, about /my\\nnotes, asked at "), "{first}");
    assert_eq!(words::choices_of(&question.subject.about), "May this call run? [y]es once, [N]o");
    assert!(!words::as_json(&question).to_string().contains("secret"));
}
