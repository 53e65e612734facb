//! What the program is used for while it counts where it goes.
//!
//! All that people have it do a lot of: a vault that is read, searched and changed through MCP, on pipes and over HTTP, and
//! answers of a model in every form, from both kinds of servers. What is not used here is taken for rare and laid out
//! of the way, so whatever becomes a busy path belongs here too. There are so many calls of each
//! that none is rare beside the others.

mod asking;
mod model;
mod notes;
mod started;

use std::path::Path;

use anyhow::bail;

use self::asking::{Http, Pipe, Server};
use self::started::Started;
use crate::command::remove;

const DEMOS: usize = 3;
/// Rounds of all calls on a vault.
const ROUNDS: usize = 60;
/// Commands that print a lot.
const COMMANDS: usize = 20;
/// Answers of each form, one after the other.
const ANSWERS: usize = 1_500;
/// Clients at the same time, and answers for each.
const CLIENTS: usize = 16;
const ANSWERS_EACH: usize = 150;

/// Uses the program in a world of its own, which is made anew.
pub(crate) fn train(program: &Path, world: &Path) -> anyhow::Result<()> {
    remove(world)?;
    let vault = world.join("vault");
    notes::write(&vault)?;
    for _ in 0..DEMOS {
        Started::new(program, world, &["demo"])?.wait()?;
    }
    let vault = vault.display().to_string();
    on_pipes(program, world, &vault)?;
    over_http(program, world, &vault, &[])?;
    over_http(program, world, &vault, &["--chat"])
}

fn on_pipes(program: &Path, world: &Path, vault: &str) -> anyhow::Result<()> {
    println!("    a vault through MCP, on pipes");
    let mut started = Started::new(program, world, &["mcp", "--yes", "--vault", vault])?;
    let mut pipe = Pipe::new(&mut started)?;
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
    // The end of its input is the end of the session.
    drop(pipe);
    started.wait()
}

fn over_http(program: &Path, world: &Path, vault: &str, more: &[&str]) -> anyhow::Result<()> {
    println!("    answers of a model and the same vault over HTTP {}", more.join(" "));
    let backend = format!("http://{}/v1", model::start()?);
    let words = ["serve", "--json", "--port", "0", "--log", "error", "--yes"];
    let words = [&words[..], &["--vault", vault, "--backend", &backend], more].concat();
    let mut started = Started::new(program, world, &words)?;
    use_server(&Server::ready(&mut started)?)?;
    // Only a program that ends by itself leaves its counts.
    started.end()
}

fn use_server(server: &Server) -> anyhow::Result<()> {
    let mut http = Http::connect(server)?;
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

fn one_of_many(server: &Server) -> anyhow::Result<()> {
    let mut http = Http::connect(server)?;
    model::FORMS.into_iter().cycle().take(ANSWERS_EACH).try_for_each(|form| http.answer(form))
}
