//! The real codex is killed while it answers.
//!
//! The program is the one that `cargo xtask clients` installs. Without it the test is passed over, unless
//! `RUN_SLOW_TESTS` is set.

use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::serve::backend_dies::{assert_answers, assert_failed_once};
use crate::serve::server::ServeProcess;
use crate::serve::upstream::{BodyFraming, FakeUpstream};
use crate::serve::wire::RawResponse;
use crate::support::TestVault;

/// Each of them has a turn under way.
const CLIENTS: usize = 16;

/// The native program of codex: the one of npm is a script around it.
fn codex() -> Option<PathBuf> {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/clients/node_modules/@openai");
    let platforms = std::fs::read_dir(installed).into_iter().flatten().flatten();
    platforms
        .flat_map(|platform| std::fs::read_dir(platform.path().join("vendor")).into_iter().flatten())
        .map(|target| target.unwrap().path().join("bin/codex"))
        .find(|program| program.is_file())
}

/// The processes that the server started.
fn children(server: &ServeProcess) -> Vec<Pid> {
    let parent = server.pid().as_raw_nonzero().to_string();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        // A process that ended meanwhile is skipped.
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        // The name of a program may hold anything but ends at the last bracket.
        let after_name = stat.rsplit_once(") ").unwrap().1;
        if after_name.split(' ').nth(1) == Some(&parent) {
            let pid = entry.file_name().to_str().unwrap().parse().unwrap();
            found.push(Pid::from_raw(pid).unwrap());
        }
    }
    found
}

fn config(provider: &FakeUpstream) -> String {
    let url = provider.url();
    format!(
        "model = \"fake-model\"\nmodel_provider = \"fake\"\n[model_providers.fake]\nname = \"fake\"\n\
         base_url = \"{url}\"\nwire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 0\n"
    )
}

#[test]
fn every_client_is_told_when_codex_is_killed_and_the_next_request_gets_a_new_one() {
    let Some(program) = codex() else {
        assert!(std::env::var_os("RUN_SLOW_TESTS").is_none(), "run `cargo xtask clients` first");
        eprintln!("skipped: codex is not installed; `cargo xtask clients` does it");
        return;
    };
    let sandbox = TestVault::new();
    let provider = FakeUpstream::listen(0);
    sandbox.write("codex-home/config.toml", &config(&provider));
    let backend = format!("codex:{}", program.display());
    let server = ServeProcess::start(&sandbox, &["--backend", &backend, "--model", "fake-model"]);
    let clients: Vec<_> = (0..CLIENTS).map(|_| server.stream("Hello", json!({}))).collect();
    let turns: Vec<_> = clients.iter().map(|_| provider.begin(BodyFraming::Chunked, "I was ab")).collect();
    let mut streams: Vec<RawResponse> = clients.into_iter().map(RawResponse::of).collect();
    for stream in &mut streams {
        stream.until("response.output_text.delta");
    }

    let killed = children(&server);
    assert!(!killed.is_empty(), "the server has started no process");
    for pid in killed {
        kill_process(pid, Signal::KILL).unwrap();
    }
    for stream in streams {
        assert_failed_once(&stream.rest(), "backend_died");
    }
    drop(turns);
    assert_answers(&server, &provider);
    server.terminate();
    assert!(server.ended().success());
}
