//! The workload of the instrumented program in `cargo xtask dist`.
//!
//! It covers what users do often: a vault that is read, searched and changed through MCP, on pipes and over HTTP, and
//! answers of a model in every form, from both kinds of servers. Code that is not run here is taken for rare, so every
//! busy path belongs here. There are so many calls of each kind that none is rare beside the others.

mod clients;
mod model;
mod notes;
mod process;

use std::path::Path;

use anyhow::bail;

use self::clients::{RunningServer, StdioClient, TrainingHttpClient};
use self::process::TrainingProcess;
use crate::command::remove;

const DEMOS: usize = 3;
/// Rounds of all calls on a vault.
const ROUNDS: usize = 60;
/// Number of commands with a long output.
const COMMANDS: usize = 20;
/// Answers of each form, one after the other.
const ANSWERS: usize = 1_500;
/// Concurrent clients, and answers for each.
const CLIENTS: usize = 16;
const ANSWERS_EACH: usize = 150;

/// Runs the workload in a new folder.
pub(crate) fn train(program: &Path, world: &Path) -> anyhow::Result<()> {
    remove(world)?;
    let vault = world.join("vault");
    notes::write(&vault)?;
    for _ in 0..DEMOS {
        TrainingProcess::new(program, world, &["demo"])?.wait()?;
    }
    let vault = vault.display().to_string();
    on_pipes(program, world, &vault)?;
    over_http(program, world, &vault, &[])?;
    over_http(program, world, &vault, &["--chat"])
}

fn on_pipes(program: &Path, world: &Path, vault: &str) -> anyhow::Result<()> {
    println!("    a vault through MCP, on pipes");
    let mut started = TrainingProcess::new(program, world, &["mcp", "--yes", "--vault", vault])?;
    let mut pipe = StdioClient::new(&mut started)?;
    for round in 0..ROUNDS {
        for call in notes::calls("pipes", round) {
            pipe.call(&call)?;
        }
    }
    if pipe.can(&notes::command())? {
        (0..COMMANDS).try_for_each(|_| pipe.call(&notes::command()))?;
    } else {
        println!("    no command can be run here, so that is not trained");
    }
    // Closing the input ends the session.
    drop(pipe);
    started.wait()
}

fn over_http(program: &Path, world: &Path, vault: &str, more: &[&str]) -> anyhow::Result<()> {
    println!("    answers of a model and the same vault over HTTP {}", more.join(" "));
    let backend = format!("http://{}/v1", model::start()?);
    let words = ["serve", "--json", "--port", "0", "--log", "error", "--yes"];
    let words = [&words[..], &["--vault", vault, "--backend", &backend], more].concat();
    let mut started = TrainingProcess::new(program, world, &words)?;
    use_server(&RunningServer::ready(&mut started)?)?;
    // A program writes its profile only if it exits by itself.
    started.end()
}

fn use_server(server: &RunningServer) -> anyhow::Result<()> {
    let mut http = TrainingHttpClient::connect(server)?;
    for form in model::FORMS {
        for _ in 0..ANSWERS {
            http.answer(form)?;
        }
    }
    for round in 0..ROUNDS {
        for call in notes::calls("http", round) {
            http.call(&call)?;
        }
    }
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(|| one_of_many(server))).collect();
        clients.into_iter().try_for_each(|client| match client.join() {
            Ok(answered) => answered,
            Err(_) => bail!("a client panicked"),
        })
    })
}

fn one_of_many(server: &RunningServer) -> anyhow::Result<()> {
    let mut http = TrainingHttpClient::connect(server)?;
    model::FORMS.into_iter().cycle().take(ANSWERS_EACH).try_for_each(|form| http.answer(form))
}
