//! `tollgate approve`: answers the questions that lie on the desk.
//!
//! Only what is typed at a terminal is an answer. There is no flag that says yes and nothing is read from a pipe: an
//! agent that can start programs would answer for its person.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use clap::Args;
use engine::{Clock, SystemClock};
use serde_json::{Value, json};

use crate::approvals::Turns;
use crate::ask;
use crate::desk::{self, About, Folder, Question, Reply, Word};
use crate::exit::Exit;
use crate::place::find_vault;
use crate::screen::{self, Paint};
use crate::stop::{Outcome, Stop};
use crate::visible::one_line;

/// How often the desk is looked at while nothing is typed.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Answers what clients want to do and may not do unasked
///
/// A call over MCP that needs the yes of a person waits here for a while. Each question is shown whole, and answered at a
/// terminal only. A yes that comes after its client has stopped waiting holds for the same call made again, once and
/// within ten minutes. Neither clients nor commands in the sandbox reach the questions; other programs that run as you do.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tollgate approve\n  tollgate approve 7k2m9x4p\n  tollgate approve --watch\n  tollgate approve --list --json"
)]
pub(crate) struct Approve {
    /// The question, or the beginning of its id [default: each that waits, clients in turn]
    id: Option<String>,
    /// Only list what waits
    #[arg(long, conflicts_with_all = ["id", "watch"])]
    list: bool,
    /// Stay, and show questions as they come
    #[arg(long, conflicts_with = "id")]
    watch: bool,
    /// With --list: answer in JSON
    #[arg(long, requires = "list")]
    pub(crate) json: bool,
}

impl Approve {
    pub(crate) fn run(self, vault: Option<&Path>) -> Outcome {
        let vault = vault.map(|vault| find_vault(Some(vault))).transpose()?;
        let desk = Visit {
            folder: Folder::new(desk::folder(vault.as_deref())?),
            vault: vault.map(|vault| vault.to_string_lossy().into_owned()),
            clock: SystemClock::new(),
        };
        if self.list {
            return desk.list(self.json);
        }
        if self.watch {
            return desk.watch();
        }
        match &self.id {
            Some(id) => desk.ask(&desk.find(id)?)?,
            None if !desk.ask_all(&mut HashSet::new())? => screen::say(NOTHING),
            None => {}
        }
        Ok(Exit::Done)
    }
}

const NOTHING: &str = "Nothing waits for an answer.";

/// A person at the desk.
struct Visit {
    folder: Folder,
    /// Only questions about this one.
    vault: Option<String>,
    clock: SystemClock,
}

impl Visit {
    fn waiting(&self) -> Result<Vec<Question>, Stop> {
        let waiting = self.folder.waiting(self.clock.now());
        let mut waiting = waiting.map_err(|error| Stop::io("look at the questions", error))?;
        waiting.retain(|question| self.vault.as_ref().is_none_or(|vault| *vault == question.subject.vault));
        Ok(waiting)
    }

    fn list(&self, json: bool) -> Outcome {
        let waiting = self.waiting()?;
        if json {
            let questions: Vec<Value> = waiting.iter().map(desk::as_json).collect();
            screen::json(&json!({ "questions": questions }));
        } else if waiting.is_empty() {
            screen::say(NOTHING);
        } else {
            waiting.iter().for_each(|question| screen::say(in_short(question)));
        }
        Ok(Exit::Done)
    }

    fn find(&self, id: &str) -> Result<Question, Stop> {
        let mut waiting = self.waiting()?;
        waiting.retain(|question| question.id.starts_with(id));
        match (waiting.pop(), waiting.len()) {
            (Some(question), 0) => Ok(question),
            (Some(_), _) => {
                Err(Stop::bad_input("ambiguous_question", format!("several questions begin with `{id}`"))
                    .hint("give more of the id"))
            }
            (None, _) => Err(Stop::bad_input(
                "no_such_question",
                format!("no question `{id}` waits: it was answered or withdrawn, or ten minutes are over"),
            )
            .hint("`tollgate approve --list` lists what waits; the client can make its call again")),
        }
    }

    /// Asks what waits, and what comes meanwhile. Returns whether there was anything.
    fn ask_all(&self, seen: &mut HashSet<String>) -> Result<bool, Stop> {
        let mut any = false;
        let mut turns = Turns::default();
        loop {
            let mut waiting = self.waiting()?;
            waiting.retain(|question| !seen.contains(&question.id));
            let next = turns.next(waiting.iter().map(|question| (&question.subject.owner, question)));
            let Some(question) = next.cloned() else { break };
            self.ask(&question)?;
            seen.insert(question.id);
            any = true;
        }
        Ok(any)
    }

    fn watch(&self) -> Outcome {
        // Whoever cannot answer need not wait for a question.
        drop(terminal()?);
        screen::note("Questions appear here as they come. Ctrl-C ends this.");
        let mut seen = HashSet::new();
        loop {
            self.ask_all(&mut seen)?;
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Shows one question and takes the answer to it.
    fn ask(&self, question: &Question) -> Result<(), Stop> {
        let terminal = terminal()?;
        ask::discard_typed(&terminal);
        let paint = Paint::stderr();
        let choices = paint.bold(desk::choices_of(&question.subject.about));
        screen::note(format_args!("{}\n{choices}", desk::asked(question, paint)));
        let Some(line) = self.typed(terminal, question) else { return Ok(()) };
        let word = desk::word(&line, &question.subject.about);
        if !self.is_open(question) {
            screen::note("Too late: this question has been withdrawn, or somebody else has answered it.");
            return Ok(());
        }
        match self.folder.answer(&question.id, &Reply::to(question, word)) {
            Ok(()) => screen::note(said(word, question)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                screen::note("Too late: somebody else has answered.");
            }
            Err(error) => return Err(Stop::io("write the answer", error)),
        }
        Ok(())
    }

    /// The line that is typed; `None` if the question has gone meanwhile.
    fn typed(&self, terminal: File, question: &Question) -> Option<String> {
        let (tell, told) = mpsc::channel();
        // A read from a terminal cannot be taken back, so it has a thread that may be left behind.
        std::thread::spawn(move || tell.send(ask::typed(&terminal)));
        loop {
            match told.recv_timeout(LOOK_EVERY) {
                Ok(line) => return Some(line.unwrap_or_default()),
                Err(RecvTimeoutError::Timeout) if self.is_open(question) => {}
                Err(RecvTimeoutError::Timeout) => {
                    screen::note(
                        "This question is withdrawn: its call was cancelled, or it has been answered or has \
                         expired. Press Enter to go on.",
                    );
                    // What is being typed now must not answer the next one.
                    let _line = told.recv();
                    return None;
                }
                Err(RecvTimeoutError::Disconnected) => return Some(String::new()),
            }
        }
    }

    fn is_open(&self, question: &Question) -> bool {
        self.folder.live(&question.id, self.clock.now()).as_ref() == Some(question)
            && !self.folder.is_answered(&question.id)
    }
}

/// A terminal on both sides: a question that is not seen must not be answered, nor one from a pipe.
fn terminal() -> Result<File, Stop> {
    let seen = io::stdin().is_terminal().then(ask::terminal).flatten();
    seen.ok_or_else(|| {
        Stop::new(Exit::Denied, "no_terminal", "questions are answered at a terminal only, and here is none")
            .hint("open a terminal and run `tollgate approve` there; `--list` works anywhere")
    })
}

fn said(word: Word, question: &Question) -> String {
    let until = desk::time(question.expires_at);
    match word {
        Word::Yes => format!(
            "Yes, once. If its client has stopped waiting, the same call made again before {until} goes through."
        ),
        Word::Always => "Yes, always, until the server stops.".to_owned(),
        Word::No => format!("No. The same call is refused until {until}."),
    }
}

fn in_short(question: &Question) -> String {
    let subject = &question.subject;
    let what = match &subject.about {
        About::Call { text, .. } | About::Plan { text, .. } => {
            one_line(text.lines().next().unwrap_or_default())
        }
        About::Uncertain { tool, step, .. } => one_line(&format!("uncertain: {tool} of step {step}")),
    };
    format!(
        "{}  {}  {}  {}  {what}",
        question.id,
        desk::time(question.asked_at),
        one_line(&subject.client),
        one_line(&subject.vault)
    )
}
