//! `vault.listFiles` through the engine, compared with fd, find and a plain walk.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::corpus::NoteCorpus;
use crate::rig::BenchEngine;
use crate::rounds::{BenchContender, compare};

pub(crate) fn measure(corpus: &NoteCorpus, fd: &Path) {
    let gate = BenchEngine::over(&corpus.path);
    let whole = json!({"recursive": true, "extensions": ["md"], "limit": 100_000});
    let listed = gate.call("vault.listFiles", &whole).data.unwrap()["items"].as_array().unwrap().len();
    assert_eq!(listed, corpus.notes as usize);
    compare(
        &format!("list, all {listed} notes with size and time, in order"),
        vec![
            BenchContender::new("find -printf '%p %s %T@', a process", || {
                let mut find = Command::new("find");
                find.arg(&corpus.path).args(["-type", "f", "-name", "*.md", "-printf", "%p %s %T@\\n"]);
                run(&mut find, listed);
            }),
            BenchContender::new("fd, names only, a process", || run(&mut fd_command(fd, corpus), listed)),
            BenchContender::new("a plain walk with stat, in this process", || {
                assert_eq!(plain_walk(&corpus.path), listed);
            }),
            BenchContender::new("through the gate, in this process", || {
                gate.call("vault.listFiles", &whole);
            }),
        ],
    );
    let page =
        |offset: usize| json!({"recursive": true, "extensions": ["md"], "limit": 1_000, "offset": offset});
    let mut offset = 0;
    compare(
        "list, pages of 1,000",
        vec![
            BenchContender::new("through the gate, the first", || {
                gate.call("vault.listFiles", &page(0));
            }),
            BenchContender::new("through the gate, one after the other", || {
                offset = gate.call("vault.listFiles", &page(offset)).data.unwrap()["nextOffset"]
                    .as_u64()
                    .map_or(0, |next| usize::try_from(next).unwrap());
            }),
        ],
    );
}

fn fd_command(fd: &Path, corpus: &NoteCorpus) -> Command {
    let mut command = Command::new(fd);
    command
        .args(["--no-ignore", "--type", "f", "--extension", "md", "--color", "never", "."])
        .arg(&corpus.path);
    command
}

fn run(command: &mut Command, lines: usize) {
    let output = command.output().unwrap().stdout;
    assert_eq!(output.iter().filter(|byte| **byte == b'\n').count(), lines);
}

/// The same work without the engine: every name with its size and time, in order, as JSON.
fn plain_walk(path: &Path) -> usize {
    let mut entries = Vec::new();
    let mut todo = vec![path.to_owned()];
    while let Some(folder) = todo.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                todo.push(entry.path());
            } else if entry.path().extension().is_some_and(|extension| extension == "md") {
                let metadata = entry.metadata().unwrap();
                let path = entry.path().into_os_string().into_string().unwrap();
                entries.push((path, metadata.len(), metadata.modified().unwrap()));
            }
        }
    }
    entries.sort();
    std::hint::black_box(
        serde_json::to_vec(&entries.iter().map(|(path, size, _)| (path, size)).collect::<Vec<_>>()).unwrap(),
    );
    entries.len()
}
