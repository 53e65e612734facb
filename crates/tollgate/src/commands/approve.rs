//! `tollgate approve`: answers the questions that wait in the approval queue.
//!
//! Only a terminal gives an answer. No flag approves, and nothing is read from a pipe: an agent that can
//! start programs could answer for its user.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use clap::Args;
use engine::{Clock, SystemClock};
use serde_json::{Value, json};

use crate::cli_error::{CliError, CommandResult};
use crate::exit::Exit;
use crate::prompt;
use crate::screen::{self};
use app::approval_queue::{
    self, ApprovalAnswer, ApprovalQuestion, QuestionFolder, QuestionReply, QuestionTopic,
};
use app::approvals::ClientTurns;
use app::display_text::escape_line;
use app::vault_context::find_vault;

/// Interval between looks at the queue while nothing is typed.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Answers questions of clients that need your approval
///
/// A call of an MCP client, or of a model behind `tollgate serve`, that needs your approval waits here for a while. Each question is shown in full and can be answered
/// at a terminal only. If you approve after the client has stopped waiting, the same call can be made again, once,
/// within ten minutes. Neither clients nor commands in the sandbox can reach the questions; other programs that run as
/// you can.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tollgate approve\n  tollgate approve 7k2m9x4p\n  tollgate approve --watch\n  tollgate approve --list --json"
)]
pub(crate) struct ApproveCommand {
    /// The question, or the beginning of its id [default: all that wait, clients in turn]
    id: Option<String>,
    /// Only list the questions that wait
    #[arg(long, conflicts_with_all = ["id", "watch"])]
    list: bool,
    /// Keep running and show questions as they come
    #[arg(long, conflicts_with = "id")]
    watch: bool,
    /// With --list: answer in JSON
    #[arg(long, requires = "list")]
    pub(crate) json: bool,
}

impl ApproveCommand {
    pub(crate) fn run(self, vault: Option<&Path>) -> CommandResult {
        let vault = vault.map(|vault| find_vault(Some(vault))).transpose()?;
        let session = ApproveSession {
            folder: QuestionFolder::new(approval_queue::folder(vault.as_deref())?),
            vault: vault.map(|vault| vault.to_string_lossy().into_owned()),
            clock: SystemClock::new(),
        };
        if self.list {
            return session.list(self.json);
        }
        if self.watch {
            return session.watch();
        }
        match &self.id {
            Some(id) => session.ask(&session.find(id)?)?,
            None if !session.ask_all(&mut HashSet::new())? => screen::print(NOTHING_WAITS),
            None => {}
        }
        Ok(Exit::Done)
    }
}

const NOTHING_WAITS: &str = "Nothing waits for an answer.";

/// One run of `tollgate approve`.
struct ApproveSession {
    folder: QuestionFolder,
    /// Only questions about this vault.
    vault: Option<String>,
    clock: SystemClock,
}

impl ApproveSession {
    fn waiting(&self) -> Result<Vec<ApprovalQuestion>, CliError> {
        let waiting = self.folder.waiting(self.clock.now());
        let mut waiting = waiting.map_err(|error| CliError::io("read the questions", error))?;
        waiting.retain(|question| self.vault.as_ref().is_none_or(|vault| *vault == question.subject.vault));
        Ok(waiting)
    }

    fn list(&self, json: bool) -> CommandResult {
        let waiting = self.waiting()?;
        if json {
            let questions: Vec<Value> = waiting.iter().map(approval_queue::question_json).collect();
            screen::json(&json!({ "questions": questions }));
        } else if waiting.is_empty() {
            screen::print(NOTHING_WAITS);
        } else {
            waiting.iter().for_each(|question| screen::print(question_summary(question)));
        }
        Ok(Exit::Done)
    }

    fn find(&self, id: &str) -> Result<ApprovalQuestion, CliError> {
        let mut waiting = self.waiting()?;
        waiting.retain(|question| question.id.starts_with(id));
        match (waiting.pop(), waiting.len()) {
            (Some(question), 0) => Ok(question),
            (Some(_), _) => {
                Err(CliError::bad_input("ambiguous_question", format!("several questions begin with `{id}`"))
                    .hint("give more of the id"))
            }
            (None, _) => Err(CliError::bad_input(
                "no_such_question",
                format!("no question `{id}` waits: it was answered or withdrawn, or ten minutes are over"),
            )
            .hint("`tollgate approve --list` lists what waits; the client can make its call again")),
        }
    }

    /// Asks the questions that wait, and those that come meanwhile. Returns whether there were any.
    fn ask_all(&self, seen: &mut HashSet<String>) -> Result<bool, CliError> {
        let mut any = false;
        let mut turns = ClientTurns::default();
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

    fn watch(&self) -> CommandResult {
        // Fails without a terminal before it waits for a question.
        drop(require_terminal()?);
        screen::notice("Questions appear here as they come. Ctrl-C ends this.");
        let mut seen = HashSet::new();
        loop {
            self.ask_all(&mut seen)?;
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Shows one question and records the answer.
    fn ask(&self, question: &ApprovalQuestion) -> Result<(), CliError> {
        let terminal = require_terminal()?;
        prompt::discard_input(&terminal);
        let paint = screen::stderr_paint();
        let choices = paint.bold(approval_queue::choices_of(&question.subject.about));
        screen::notice(format_args!("{}\n{choices}", approval_queue::render_question(question, paint)));
        let Some(line) = self.read_answer(terminal, question) else { return Ok(()) };
        let word = approval_queue::parse_answer(&line, &question.subject.about);
        if !self.is_open(question) {
            screen::notice("Too late: this question has been withdrawn, or it was answered elsewhere.");
            return Ok(());
        }
        match self.folder.add_answer(&question.id, &QuestionReply::to(question, word)) {
            Ok(()) => screen::notice(answer_message(word, question)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                screen::notice("Too late: it was answered elsewhere.");
            }
            Err(error) => return Err(CliError::io("write the answer", error)),
        }
        Ok(())
    }

    /// Returns the line that was typed; `None` if the question was withdrawn meanwhile.
    fn read_answer(&self, terminal: File, question: &ApprovalQuestion) -> Option<String> {
        let (sender, receiver) = mpsc::channel();
        // A read from a terminal cannot be cancelled, so it has a thread of its own that may be left behind.
        std::thread::spawn(move || sender.send(prompt::read_answer(&terminal)));
        loop {
            match receiver.recv_timeout(POLL_INTERVAL) {
                Ok(line) => return Some(line.unwrap_or_default()),
                Err(RecvTimeoutError::Timeout) if self.is_open(question) => {}
                Err(RecvTimeoutError::Timeout) => {
                    screen::notice(
                        "This question is withdrawn: its call was cancelled, or it has been answered or has \
                         expired. Press Enter to continue.",
                    );
                    // Input that is being typed now must not answer the next question.
                    let _line = receiver.recv();
                    return None;
                }
                Err(RecvTimeoutError::Disconnected) => return Some(String::new()),
            }
        }
    }

    fn is_open(&self, question: &ApprovalQuestion) -> bool {
        self.folder.find_open(&question.id, self.clock.now()).as_ref() == Some(question)
            && !self.folder.is_answered(&question.id)
    }
}

/// Requires a terminal for input and output: a question that is not seen must not be answered, nor one from a pipe.
fn require_terminal() -> Result<File, CliError> {
    let seen = io::stdin().is_terminal().then(prompt::open_terminal).flatten();
    seen.ok_or_else(|| {
        CliError::new(
            Exit::Denied,
            "no_terminal",
            "questions are answered at a terminal only, and here is none",
        )
        .hint("open a terminal and run `tollgate approve` there; `--list` works anywhere")
    })
}

fn answer_message(word: ApprovalAnswer, question: &ApprovalQuestion) -> String {
    let until = approval_queue::format_local_time(question.expires_at);
    match word {
        ApprovalAnswer::Yes => format!(
            "Yes, once. If its client has stopped waiting, the same call made again before {until} goes through."
        ),
        ApprovalAnswer::Always => "Yes, always, until the server stops.".to_owned(),
        ApprovalAnswer::No => format!("No. The same call is refused until {until}."),
    }
}

fn question_summary(question: &ApprovalQuestion) -> String {
    let subject = &question.subject;
    let what = match &subject.about {
        QuestionTopic::Call { text, .. } | QuestionTopic::Plan { text, .. } => {
            escape_line(text.lines().next().unwrap_or_default())
        }
        QuestionTopic::Uncertain { tool, step, .. } => {
            escape_line(&format!("uncertain: {tool} of step {step}"))
        }
    };
    format!(
        "{}  {}  {}  {}  {what}",
        question.id,
        approval_queue::format_local_time(question.asked_at),
        escape_line(&subject.client),
        escape_line(&subject.vault)
    )
}
