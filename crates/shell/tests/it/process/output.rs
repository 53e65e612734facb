//! The captured output is the printed output, whatever its size and however it is read meanwhile.

use std::sync::Arc;
use std::time::Duration;

use envelope::{Artifact, Fault, Hash};
use expect_test::expect;
use shell::process::{
    CapturedStream, ChildExit, CommandInput, CommandJob, CommandOutcome, CommandSpawner, EndCause,
    FinishedCommand, HEAD_BYTES, NewOutput, OutputCursor, RunningCommand, StreamDelta, TaskRegistry,
    run_command,
};
use toolkit::{ArtifactSink, CancelToken, OpenArtifact};

use super::job::{TempArtifacts, shell_job};

async fn completed(job: CommandJob) -> FinishedCommand {
    let outcome =
        run_command(&CommandSpawner::new().unwrap(), &TaskRegistry::new(), job, None, &CancelToken::new())
            .await;
    let CommandOutcome::Completed(finished) = outcome else { panic!("{outcome:?}") };
    finished
}

fn short(text: &[u8], lines: u64) -> CapturedStream {
    let bytes = text.len() as u64;
    CapturedStream { bytes, lines, hash: Hash::of(text), text: Some(text.to_vec()), artifact: None }
}

#[tokio::test]
async fn a_short_output_is_in_the_result_and_leaves_no_artifact() {
    let finished =
        completed(shell_job("echo one; echo two >&2; printf three; exit 7", TempArtifacts::new())).await;
    let expected = FinishedCommand {
        cause: EndCause::Exited,
        exit: Some(ChildExit::Code(7)),
        stdout: short(b"one\nthree", 2),
        stderr: Some(short(b"two\n", 1)),
        survivors: Vec::new(),
        warnings: Vec::new(),
    };
    assert_eq!(finished, expected);
}

#[tokio::test]
async fn a_command_that_prints_nothing_and_dies_of_a_signal_says_so() {
    let finished = completed(shell_job("kill -9 $$", TempArtifacts::new())).await;
    assert_eq!((finished.exit, finished.stdout), (Some(ChildExit::Signal(9)), short(b"", 0)));
}

// Conformance: result 4.2
//     Large output streams to the artifact while it is produced; sizes and digests are in the canonical result.
//     In: shell/process/capture_file.rs
#[tokio::test]
async fn a_long_output_is_an_artifact_from_its_first_byte_on() {
    let folder = TempArtifacts::new();
    let finished = completed(shell_job("seq 1 200000; seq 1 3 >&2", folder.clone())).await;
    let all: String = (1..=200_000).map(|number| format!("{number}\n")).collect();
    let artifact =
        Artifact { path: "stdout-0.log".to_owned(), bytes: all.len() as u64, hash: Hash::of(all.as_bytes()) };
    let kept = std::fs::read(folder.dir.path().join(&artifact.path)).unwrap();
    assert!(kept == all.as_bytes());
    let expected = CapturedStream {
        bytes: all.len() as u64,
        lines: 200_000,
        hash: Hash::of(all.as_bytes()),
        text: None,
        artifact: Some(artifact),
    };
    assert_eq!((finished.stdout, finished.stderr), (expected, Some(short(b"1\n2\n3\n", 3))));
}

#[tokio::test]
async fn what_just_fits_in_memory_stays_there_and_one_byte_more_does_not() {
    for (bytes, artifacts) in [(HEAD_BYTES, 0), (HEAD_BYTES + 1, 1)] {
        let folder = TempArtifacts::new();
        let finished = completed(shell_job(&format!("head -c {bytes} /dev/zero"), folder.clone())).await;
        let zeros = vec![0; bytes];
        assert_eq!((finished.stdout.bytes, finished.stdout.hash), (bytes as u64, Hash::of(&zeros)));
        assert_eq!(std::fs::read_dir(folder.dir.path()).unwrap().count(), artifacts);
    }
}

#[tokio::test]
async fn a_command_that_prints_more_than_it_may_is_killed_and_what_it_may_print_is_kept() {
    for limit in [1_u64, 1000, HEAD_BYTES as u64, 1 << 20] {
        let folder = TempArtifacts::new();
        let mut flood = shell_job("yes", folder.clone());
        flood.limits.output_bytes = limit;
        let outcome = run_command(
            &CommandSpawner::new().unwrap(),
            &TaskRegistry::new(),
            flood,
            None,
            &CancelToken::new(),
        )
        .await;
        let CommandOutcome::OutputLimit(finished) = outcome else { panic!("{outcome:?}") };
        let kept: Vec<u8> = b"y\n".iter().copied().cycle().take(usize::try_from(limit).unwrap()).collect();
        let whole = (finished.stdout.bytes, finished.stdout.hash, finished.survivors);
        assert_eq!(whole, (limit, Hash::of(&kept), Vec::new()));
    }
}

#[tokio::test]
async fn a_command_that_prints_exactly_what_it_may_is_let_be() {
    let mut exact = shell_job("printf 12345", TempArtifacts::new());
    exact.limits.output_bytes = 5;
    assert_eq!(completed(exact).await.stdout, short(b"12345", 1));
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let mut absent = shell_job("", TempArtifacts::new());
    #[allow(clippy::disallowed_methods, reason = "a test starts its own processes")]
    let command = std::process::Command::new("/no/such/program");
    absent.command = command;
    let outcome =
        run_command(&CommandSpawner::new().unwrap(), &TaskRegistry::new(), absent, None, &CancelToken::new())
            .await;
    let CommandOutcome::Failed(fault) = outcome else { panic!("{outcome:?}") };
    expect![[r#"
        (
            NotFound,
            "`/no/such/program` cannot be started: there is no such program",
        )
    "#]]
    .assert_debug_eq(&(fault.failure, fault.message));
}

#[tokio::test]
async fn what_is_given_to_read_is_read_to_its_end() {
    let text: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let mut copy = shell_job("cat", TempArtifacts::new());
    copy.input = CommandInput::Text(text.clone());
    let finished = completed(copy).await;
    assert_eq!((finished.stdout.bytes, finished.stdout.hash), (text.len() as u64, Hash::of(&text)));
}

#[tokio::test]
async fn a_command_that_does_not_read_what_it_is_given_ends_all_the_same() {
    let mut deaf = shell_job("exec 0<&-; echo done", TempArtifacts::new());
    deaf.input = CommandInput::Text(vec![b'x'; 5 << 20]);
    assert_eq!(completed(deaf).await.stdout, short(b"done\n", 1));
}

#[tokio::test]
async fn a_look_at_a_long_output_is_bounded_and_says_where_the_rest_is() {
    let folder = TempArtifacts::new();
    let running = RunningCommand::start(&CommandSpawner::new().unwrap(), shell_job("seq 1 100000", folder))
        .await
        .unwrap();
    running.ended().await;
    let mut cursor = OutputCursor::default();
    let all: String = (1..=100_000).map(|number| format!("{number}\n")).collect();
    let fresh = StreamDelta {
        from: 0,
        to: all.len() as u64,
        head: b"1\n2\n3\n".to_vec(),
        path: Some("stdout-0.log".to_owned()),
    };
    let expected = NewOutput { stdout: fresh, stderr: Some(StreamDelta::default()) };
    assert_eq!(running.read_output_after(&mut cursor, 6).unwrap(), expected);
    assert!(running.read_output_after(&mut cursor, 6).unwrap().is_empty());
}

#[tokio::test]
async fn looks_while_it_prints_add_up_to_all_of_it_and_cut_no_character() {
    let script = "for i in $(seq 1 3000); do printf 'zeile %s: grün €\\n' $i; done";
    let running =
        RunningCommand::start(&CommandSpawner::new().unwrap(), shell_job(script, TempArtifacts::new()))
            .await
            .unwrap();
    let mut cursor = OutputCursor::default();
    let mut seen = String::new();
    loop {
        let ended = running.end().is_some();
        let output = running.read_output_after(&mut cursor, 1 << 20).unwrap();
        seen.push_str(std::str::from_utf8(&output.stdout.head).unwrap());
        if ended {
            break;
        }
        running.wait_for_output(&cursor).await;
    }
    let all: String = (1..=3000).map(|number| format!("zeile {number}: grün €\n")).collect();
    assert!(seen == all);
}

/// A run that keeps no artifacts.
struct Nowhere;

impl ArtifactSink for Nowhere {
    fn create(&self, _role: &str, _extension: &str) -> Result<Option<OpenArtifact>, Fault> {
        Ok(None)
    }

    fn seal(&self, _artifact: OpenArtifact, _bytes: u64, _hash: Hash) -> Result<Artifact, Fault> {
        unreachable!("nothing was made")
    }

    fn discard(&self, _artifact: &Artifact) {}

    fn open(&self, _path: &str) -> Result<std::fs::File, Fault> {
        unreachable!("nothing was made")
    }
}

#[tokio::test]
async fn where_nothing_is_kept_the_beginning_the_size_and_the_hash_are_known() {
    let much = shell_job("yes | head -c 1000000", Arc::new(Nowhere));
    let running = RunningCommand::start(&CommandSpawner::new().unwrap(), much).await.unwrap();
    let end = running.ended().await;
    let finished = end.as_ref().as_ref().unwrap();
    let all: Vec<u8> = b"y\n".iter().copied().cycle().take(1_000_000).collect();
    let expected =
        CapturedStream { bytes: 1_000_000, lines: 500_000, hash: Hash::of(&all), text: None, artifact: None };
    assert_eq!(finished.stdout, expected);
    let output = running.read_output_after(&mut OutputCursor::default(), 4).unwrap();
    assert_eq!(output.stdout.head, b"y\ny\n");
}

#[tokio::test]
async fn the_whole_environment_of_the_parent_stays_out() {
    let finished =
        completed(shell_job("env | grep -v '^PWD=\\|^_=\\|^SHLVL=\\|^OLDPWD='", TempArtifacts::new())).await;
    let text = String::from_utf8(finished.stdout.text.unwrap()).unwrap();
    let mut names: Vec<&str> = text.lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["PATH", "TOLLGATE_TASK"]);
}

#[tokio::test]
async fn no_descriptor_of_ours_reaches_the_command() {
    let held_open = tempfile::Builder::new().prefix("held-open").tempfile().unwrap();
    let finished = completed(shell_job("ls -l /proc/$$/fd/", TempArtifacts::new())).await;
    let text = String::from_utf8(finished.stdout.text.unwrap()).unwrap();
    let ours = |line: &&str| ["held-open", "eventfd", "timerfd", "pidfd"].iter().any(|it| line.contains(it));
    assert!(held_open.path().exists() && text.contains(" 2 -> "), "{text}");
    assert_eq!(text.lines().filter(ours).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[tokio::test]
async fn an_output_that_lingers_after_the_end_is_waited_for_but_not_for_ever() {
    let holder = completed(shell_job("echo first; sleep 1000 & exit 0", TempArtifacts::new()));
    let finished = tokio::time::timeout(Duration::from_secs(2), holder).await.unwrap();
    let whole = (finished.exit, finished.stdout, finished.survivors);
    assert_eq!(whole, (Some(ChildExit::Code(0)), short(b"first\n", 1), Vec::new()));
}
