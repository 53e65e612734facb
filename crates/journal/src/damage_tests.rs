//! Tests that every kind of damage is detected, and that the first damaged record is named.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use proptest::prelude::{any, proptest};

use crate::line::ChainLink;
use crate::samples::{call, confirmation, finished_run, header, write_run};
use crate::{Journal, JournalError, JournalProblem, LogKind, ProblemKind, Verification, list_runs, verify};

/// A finished run whose files a test can damage and restore.
struct Spoiled {
    _temp: tempfile::TempDir,
    dir: PathBuf,
}

/// The position of one line in a log.
#[derive(Debug, Clone, Copy)]
struct At {
    kind: LogKind,
    line: u64,
    seq: u64,
    start: usize,
    end: usize,
}

fn put(path: &Path, bytes: &[u8]) {
    let mut file = fs::File::create(path).unwrap();
    std::io::Write::write_all(&mut file, bytes).unwrap();
}

impl Spoiled {
    fn new(calls: u64) -> Spoiled {
        let temp = tempfile::tempdir().unwrap();
        let dir = finished_run(temp.path(), "run-1", calls);
        Spoiled { _temp: temp, dir }
    }

    fn read(&self, kind: LogKind) -> Vec<u8> {
        fs::read(self.dir.join(kind.file())).unwrap()
    }

    fn write(&self, kind: LogKind, bytes: &[u8]) {
        put(&self.dir.join(kind.file()), bytes);
    }

    fn lines(&self, kind: LogKind) -> Vec<Vec<u8>> {
        self.read(kind).split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
    }

    /// Returns the positions of all records, in run order.
    fn places(&self) -> Vec<At> {
        let mut places = Vec::new();
        for kind in LogKind::ALL {
            let mut start = 0;
            for (line, text) in (1..).zip(self.lines(kind)) {
                let seq = ChainLink::read(&text[..text.len() - 1]).unwrap().seq;
                places.push(At { kind, line, seq, start, end: start + text.len() });
                start += text.len();
            }
        }
        places.sort_by_key(|at| at.seq);
        places
    }

    fn verify(&self) -> Verification {
        verify(&self.dir, None).unwrap()
    }

    /// Compares the problems that `verify` reports, one a line.
    fn found(&self, expected: Expect) {
        let problems: Vec<String> = self.verify().problems.iter().map(ToString::to_string).collect();
        expected.assert_eq(&problems.join("\n"));
    }
}

// Conformance: envelope 1.5
#[test]
fn an_untouched_run_is_intact_and_proven_by_its_head() {
    let run = Spoiled::new(3);
    let verified = run.verify();
    assert_eq!((verified.problems.len(), verified.records, verified.finished), (0, 12, true));
    assert!(!verified.proven);
    assert!(verify(&run.dir, Some(&verified.head.hash)).unwrap().proven);
}

// Conformance: envelope 1.5
//     A run can be audited and replayed without running anything.
//     In: journal/verify.rs, journal/replay.rs
#[test]
fn every_change_of_one_byte_names_the_record_it_is_in() {
    let run = Spoiled::new(1);
    for at in run.places() {
        let original = run.read(at.kind);
        let log = fs::File::options().write(true).open(run.dir.join(at.kind.file())).unwrap();
        for byte in at.start..at.end {
            for new in [original[byte] ^ (1 << (byte % 8)), original[byte] ^ 0x20, b'\n', b'0'] {
                if new == original[byte] {
                    continue;
                }
                log.write_all_at(&[new], byte as u64).unwrap();
                let verified = run.verify();
                let first = verified.problems.first();
                let named = first.map(|p| (p.file.as_str(), p.line, p.offset, p.seq));
                let right = (at.kind.file(), Some(at.line), Some(at.start as u64), Some(at.seq));
                assert_eq!(named, Some(right), "{at:?} byte {byte} -> {new:#x}: {:?}", verified.problems);
                let what = first.map(|p| p.what);
                assert!(matches!(what, Some(ProblemKind::Changed | ProblemKind::Truncated)), "{what:?}");
            }
            log.write_all_at(&original[byte..=byte], byte as u64).unwrap();
        }
    }
}

#[test]
fn a_log_cut_at_any_byte_of_the_last_records_is_found_and_never_mended_silently() {
    let run = Spoiled::new(2);
    let places = run.places();
    let last = places.len() as u64;
    for at in places.iter().rev().take(3) {
        let original = run.read(at.kind);
        for end in at.start..at.end {
            run.write(at.kind, &original[..end]);
            let verified = run.verify();
            let first = verified.problems.first().map(|p| (p.what, p.file.as_str(), p.line, p.seq));
            if end > at.start {
                let torn = (ProblemKind::Truncated, at.kind.file(), Some(at.line), Some(at.seq));
                assert_eq!(first, Some(torn), "{at:?} cut at {end}");
                assert!(verified.torn_tail.is_some() || at.seq < last);
            } else if at.seq < last {
                assert_eq!(first.map(|f| (f.0, f.3)), Some((ProblemKind::Missing, Some(at.seq))));
            } else {
                let cut = (ProblemKind::Truncated, LogKind::Event.file(), None, Some(at.seq));
                assert_eq!((first, verified.finished), (Some(cut), false), "{at:?} cut at {end}");
            }
            match Journal::reopen(&run.dir) {
                Ok((_, recovery)) => {
                    assert_eq!((at.seq, recovery.dropped.len()), (last, usize::from(end > at.start)));
                    assert!(!run.dir.join("journal.wal").exists(), "made before there is a record for it");
                }
                Err(JournalError::Damaged(problem)) => {
                    assert_eq!((problem.seq, at.seq < last), (Some(at.seq), true));
                }
                Err(other) => panic!("{other}"),
            }
        }
        run.write(at.kind, &original);
    }
}

#[test]
fn a_deleted_record_is_missing_wherever_it_was() {
    let run = Spoiled::new(2);
    let places = run.places();
    for at in &places[..places.len() - 1] {
        let original = run.read(at.kind);
        run.write(at.kind, &[&original[..at.start], &original[at.end..]].concat());
        let problems = run.verify().problems;
        assert_eq!((problems[0].what, problems[0].seq), (ProblemKind::Missing, Some(at.seq)), "{problems:?}");
        run.write(at.kind, &original);
    }
}

#[test]
fn swapped_records_are_reordered() {
    let run = Spoiled::new(3);
    for kind in LogKind::ALL {
        let lines = run.lines(kind);
        for first in 0..lines.len() - 1 {
            let mut swapped = lines.clone();
            swapped.swap(first, first + 1);
            run.write(kind, &swapped.concat());
            let problems = run.verify().problems;
            let named = (problems[0].what, problems[0].file.as_str(), problems[0].line);
            assert_eq!(named, (ProblemKind::Reordered, kind.file(), Some(first as u64 + 1)), "{problems:?}");
            assert_eq!(problems.len(), 1, "{problems:?}");
        }
        run.write(kind, &lines.concat());
    }
}

#[test]
fn a_copied_record_is_a_duplicate() {
    let run = Spoiled::new(3);
    for kind in LogKind::ALL {
        let lines = run.lines(kind);
        for from in 0..lines.len() {
            for to in from + 1..=lines.len() {
                let mut doubled = lines.clone();
                doubled.insert(to, lines[from].clone());
                run.write(kind, &doubled.concat());
                let problems = run.verify().problems;
                let named = (problems[0].what, problems[0].file.as_str(), problems[0].line);
                assert_eq!(named, (ProblemKind::Duplicated, kind.file(), Some(to as u64 + 1)));
                assert_eq!(problems.len(), 1, "{problems:?}");
            }
        }
        run.write(kind, &lines.concat());
    }
}

#[test]
fn a_line_moved_to_another_log_is_named() {
    let run = Spoiled::new(1);
    let call = run.read(LogKind::Call);
    let events = run.lines(LogKind::Event);
    run.write(LogKind::Call, b"");
    run.write(LogKind::Event, &[events[..2].concat(), call, events[2..].concat()].concat());
    run.found(expect![[r#"
        reordered: events.jsonl line 3 (byte 755), record 3: this line belongs in calls.jsonl
        orphan result: results.jsonl line 1 (byte 0), record 5: no call `6c78d14e-5ec8-5e2d-9167-499b2e52da19` is recorded before it"#]]);
}

#[test]
fn a_record_of_another_run_is_foreign() {
    let run = Spoiled::new(2);
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("runs").join("run-1");
    let mut twin = header("run-1");
    twin.planner_version = Some("a twin with the same records".to_owned());
    let journal = Journal::create(&folder, &twin).unwrap();
    write_run(&journal, 2).unwrap();
    journal.close().unwrap();
    for kind in LogKind::ALL {
        let (ours, theirs) = (run.lines(kind), fs::read(folder.join(kind.file())).unwrap());
        let theirs: Vec<&[u8]> = theirs.split_inclusive(|byte| *byte == b'\n').collect();
        for at in 0..ours.len() {
            for replace in [true, false] {
                let mut spliced = ours.clone();
                if replace {
                    spliced[at] = theirs[at].to_vec();
                } else {
                    spliced.insert(at, theirs[at].to_vec());
                }
                run.write(kind, &spliced.concat());
                let problems = run.verify().problems;
                let named = (problems[0].what, problems[0].file.as_str(), problems[0].line);
                // The first record continues the hash of `run.json`; if it does not, `run.json` may have
                // changed.
                let header = named.0 == ProblemKind::HeaderChanged && kind == LogKind::Event && at == 0;
                let foreign = (ProblemKind::Foreign, kind.file(), Some(at as u64 + 1));
                assert!(header || named == foreign, "{kind:?} {at} {replace}: {problems:?}");
            }
        }
        run.write(kind, &ours.concat());
    }
}

#[test]
fn whole_records_cut_off_all_logs_are_found_with_and_without_the_head() {
    let run = Spoiled::new(2);
    let head = run.verify().head;
    for at in run.places().iter().rev().take(4) {
        run.write(at.kind, &run.read(at.kind)[..at.start]);
        let verified = run.verify();
        let kinds =
            |problems: &[JournalProblem]| problems.iter().map(|problem| problem.what).collect::<Vec<_>>();
        assert_eq!((verified.finished, verified.proven), (false, false));
        assert_eq!(kinds(&verified.problems), [ProblemKind::Truncated]);
        let problems = verify(&run.dir, Some(&head.hash)).unwrap().problems;
        assert_eq!(kinds(&problems), [ProblemKind::Truncated, ProblemKind::HeadDiffers]);
    }
}

// Conformance: envelope 8.3
// Conformance: envelope 9.2
//     Plan, policy and confirmation are in `run.json`.
//     In: journal/run_header.rs
#[test]
fn changes_to_run_json_are_found() {
    let run = Spoiled::new(1);
    let path = run.dir.join("run.json");
    let text = fs::read_to_string(&path).unwrap();
    let mut told = Vec::new();
    for (from, to) in [
        ("Make notes", "Make votes"),
        ("\"format\":3,", "\"format\":3,\"extra\":1,"),
        ("\"yes-1\"", "\"yes-2\""),
        (&confirmation().binding.to_string(), &confirmation().shown.to_string()),
        ("\"terminal\"", "\"embedder\""),
    ] {
        assert!(text.contains(from), "{from}");
        put(&path, text.replace(from, to).as_bytes());
        told.push(format!("{from} -> {to}"));
        told.extend(run.verify().problems.iter().map(|problem| format!("    {problem}")));
    }
    let cut = text.find(",\"confirmation\"").unwrap();
    put(&path, format!("{}}}\n", &text[..cut]).as_bytes());
    told.push("without the confirmation".to_owned());
    told.extend(run.verify().problems.iter().map(|problem| format!("    {problem}")));
    expect![[r#"
        Make notes -> Make votes
            header changed: run.json: it is not the run.json that this record was started with
        "format":3, -> "format":3,"extra":1,
            header changed: run.json: it is not the run.json that this record was started with
        "yes-1" -> "yes-2"
            confirmation mismatch: run.json: no recorded confirmation is the one in here
        b3:ee6b5b7668a7f8be8d5e2e892b9db3c6b868c3db8f83b22ed36de201ba12967a -> b3:7b0f70caf0f91410d33c0e26b0de83d2a6b10f470ecd69ba61bc4896ace4b038
            confirmation mismatch: run.json: the confirmation was given for another plan, policy, registry or forecast
        "terminal" -> "embedder"
            confirmation mismatch: run.json: no recorded confirmation is the one in here
        without the confirmation
            confirmation mismatch: run.json: calls were made, but the confirmation is not here"#]].assert_eq(&told.join("\n"));
}

#[test]
fn several_breaks_are_all_reported() {
    let run = Spoiled::new(4);
    let mut calls = run.read(LogKind::Call);
    calls[20] ^= 1;
    run.write(LogKind::Call, &calls);
    let results = run.lines(LogKind::Result);
    run.write(LogKind::Result, &[&results[..2], &results[3..]].concat().concat());
    run.found(expect![[r#"
        changed: calls.jsonl line 1 (byte 0), record 3: this line was changed after it was written
        orphan result: results.jsonl line 1 (byte 0), record 5: no call `6c78d14e-5ec8-5e2d-9167-499b2e52da19` is recorded before it
        missing: calls.jsonl line 4 (byte 1524), record 11: record 11 is missing; this line is record 12"#]]);
}

/// The two headers of a write-ahead log, the second generation's first.
const HEADERS: [std::ops::Range<usize>; 2] = [0..112, 4096..4096 + 112];

/// Returns a run that was killed when only its write-ahead log had the newest records, in its second
/// generation.
fn killed_twice(state: &Path) -> PathBuf {
    let dir = state.join("runs").join("run-1");
    let journal = Journal::create(&dir, &header("run-1")).unwrap();
    write_run(&journal, 1).unwrap();
    drop(journal);
    let (journal, _) = Journal::reopen(&dir).unwrap();
    let before = fs::metadata(dir.join("calls.jsonl")).unwrap().len();
    journal.call(&call(7)).unwrap();
    drop(journal);
    fs::File::options().write(true).open(dir.join("calls.jsonl")).unwrap().set_len(before).unwrap();
    dir
}

#[test]
fn a_write_ahead_log_with_records_and_without_its_header_is_damage_and_is_left_alone() {
    let temp = tempfile::tempdir().unwrap();
    let dir = killed_twice(temp.path());
    let path = dir.join("journal.wal");
    let sound = fs::read(&path).unwrap();
    let changed = HEADERS[0].clone().map(|byte| {
        let mut bytes = sound.clone();
        bytes[byte] ^= 1 << (byte % 8);
        bytes
    });
    let wiped = [HEADERS[0].clone(), HEADERS[1].clone()].into_iter().fold(sound.clone(), |mut bytes, at| {
        bytes[at].fill(0);
        bytes
    });
    for bytes in changed.chain([wiped]) {
        put(&path, &bytes);
        let Err(JournalError::Damaged(problem)) = Journal::reopen(&dir) else { panic!("mended") };
        expect!["changed: journal.wal: its header was changed, so records that exist only there cannot be read; to continue without them, move the file out of the folder"].assert_eq(&problem.to_string());
        assert_eq!(verify(&dir, None).unwrap().problems, [*problem]);
        assert!(fs::read(&path).unwrap() == bytes, "the evidence was changed");
    }
    put(&path, &sound);
    let (_, recovery) = Journal::reopen(&dir).unwrap();
    assert_eq!((recovery.restored, recovery.head.seq), (1, 7));
}

#[test]
fn a_write_ahead_log_needs_no_header_but_the_newest_and_none_without_records() {
    let temp = tempfile::tempdir().unwrap();
    let dir = killed_twice(temp.path());
    let path = dir.join("journal.wal");
    let mut bytes = fs::read(&path).unwrap();
    bytes[HEADERS[1].start] ^= 1;
    put(&path, &bytes);
    let (journal, recovery) = Journal::reopen(&dir).unwrap();
    assert_eq!((recovery.restored, recovery.head.seq), (1, 7));
    journal.close().unwrap();
    // States after a crash during its creation: short, blank, or with half a header.
    for len in [0, 100, 4096 + 56, 256 << 10] {
        let mut unready = vec![0; len];
        if len == 4096 + 56 {
            unready[4096..].copy_from_slice(&bytes[4096..4096 + 56]);
        }
        put(&path, &unready);
        let (journal, recovery) = Journal::reopen(&dir).unwrap();
        assert_eq!((recovery.restored, recovery.head.seq), (0, 7), "{len} bytes");
        journal.close().unwrap();
    }
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(
        file in 0..5_usize, cut in 0..4000_usize, bytes in proptest::collection::vec(any::<u8>(), 0..600),
        reopen in any::<bool>(),
    ) {
        let run = Spoiled::new(1);
        let name = ["calls.jsonl", "results.jsonl", "events.jsonl", "run.json", "journal.wal"][file];
        let mut content = fs::read(run.dir.join(name)).unwrap_or_default();
        let start = cut.min(content.len());
        let end = (start + bytes.len()).min(content.len());
        content.splice(start..end, bytes);
        put(&run.dir.join(name), &content);
        let _verified = verify(&run.dir, None);
        let _listed = list_runs(run.dir.parent().unwrap());
        if reopen {
            let _reopened = Journal::reopen(&run.dir);
        }
    }
}
