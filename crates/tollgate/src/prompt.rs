//! Asks the user at the terminal.
//!
//! Questions go to standard error, so that standard output contains only the answer. Without a terminal on standard
//! error nothing is asked: a question that cannot be seen must not be waited for.

mod line_reader;
mod question_text;

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal};
use std::os::fd::AsFd;
use std::sync::Arc;

use app::approvals::{ApprovalReason, FrontEnd};
use engine::{
    ApprovalDecision, ApprovalRequest, Approver, ConfirmAnswer, ConfirmRequest, UncertainCall,
    UncertainDecision,
};
use envelope::{ApprovalChannel, ClientId};
use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::Mutex;
use toolkit::BoxFuture;

pub(crate) use self::line_reader::LineReader;
use self::question_text::{call_question, client_line};
use crate::progress::Progress;
use crate::runtime::{self, InterruptSignal};
use crate::screen::{self};
use app::display_text::escape_line;
use app::preview::OverlayForecaster;

/// Approves with `--yes`, or asks the user.
pub(crate) struct TerminalApprover {
    yes: bool,
    progress: Arc<Progress>,
    interrupts: InterruptSignal,
    /// Forecasts plans and calls; `None` if nothing is forecast.
    forecaster: Option<Arc<OverlayForecaster>>,
    line_reader: LineReader,
    /// Reasons that are always approved. Its lock allows one question at a time.
    always: Mutex<HashSet<ApprovalReason>>,
}

impl TerminalApprover {
    pub(crate) fn new(yes: bool, progress: Arc<Progress>, interrupts: InterruptSignal) -> TerminalApprover {
        let (line_reader, always) = (LineReader::default(), Mutex::default());
        TerminalApprover { yes, progress, interrupts, forecaster: None, line_reader, always }
    }

    /// Colours the differences of this forecaster in questions.
    pub(crate) fn with_forecaster(mut self, forecaster: Option<Arc<OverlayForecaster>>) -> TerminalApprover {
        self.forecaster = forecaster;
        self
    }

    /// Shows the text and returns the line that was typed; `None` without a terminal.
    async fn ask(&self, text: &str) -> Option<String> {
        if self.interrupts.is_interrupted() {
            // The run is being cancelled, and its end does not wait for this answer.
            return std::future::pending().await;
        }
        let (terminal, read_from) = (open_terminal()?, open_terminal()?);
        let _still = self.progress.pause();
        let question = OpenPrompt { answered: false };
        let line = self
            .line_reader
            .next_line(|| discard_input(&terminal), || screen::notice(text), move || read_answer(&read_from))
            .await;
        question.close();
        line
    }

    fn coloured(&self, text: &str) -> String {
        match &self.forecaster {
            Some(forecaster) => forecaster.coloured(text),
            None => text.to_owned(),
        }
    }

    async fn confirm_plan(&self, request: &ConfirmRequest) -> ConfirmAnswer {
        if self.yes {
            return ConfirmAnswer::Approved { channel: ApprovalChannel::YesFlag };
        }
        let _one_at_a_time = self.always.lock().await;
        // Exactly the text whose hash goes into the record, with control characters escaped. Colours replace the
        // marks of the plain text.
        let shown = self.coloured(&request.text);
        let paint = screen::stderr_paint();
        let client = client_line(request.client.as_deref(), paint);
        let question = format!("{client}{shown}\n{}", paint.bold("May this run? [y/N]"));
        match self.ask(&question).await.as_deref() {
            Some("y" | "yes") => ConfirmAnswer::Approved { channel: ApprovalChannel::Terminal },
            Some(_) => ConfirmAnswer::Declined { reason: "declined by the user".to_owned() },
            None => ConfirmAnswer::Unavailable { why: NO_TERMINAL.to_owned() },
        }
    }

    async fn approve_call(&self, request: &ApprovalRequest) -> ApprovalDecision {
        if self.yes {
            return match request.differs {
                // The approval covers the preview, and this call differs from it.
                true => ApprovalDecision::Unavailable { why: YES_COVERS_PREVIEW_ONLY.to_owned(), hint: None },
                false => ApprovalDecision::ApproveOnce { channel: ApprovalChannel::YesFlag },
            };
        }
        let mut always = self.always.lock().await;
        let reason = ApprovalReason::of(request, &ClientId::local(), FrontEnd::Cli);
        if always.contains(&reason) {
            return ApprovalDecision::ApproveOnce { channel: ApprovalChannel::Terminal };
        }
        let question = call_question(request, &self.coloured(&request.text), screen::stderr_paint());
        match self.ask(&question).await.as_deref() {
            Some("y" | "yes") => ApprovalDecision::ApproveOnce { channel: ApprovalChannel::Terminal },
            Some("a" | "always") if reason.can_be_kept() => {
                always.insert(reason);
                ApprovalDecision::ApproveAndRemember { channel: ApprovalChannel::Terminal }
            }
            Some(_) => ApprovalDecision::Reject { reason: "declined at the terminal".to_owned() },
            None => ApprovalDecision::Unavailable { why: NO_TERMINAL.to_owned(), hint: None },
        }
    }

    /// `--yes` was given before this question was known, so it does not answer it.
    async fn settle_uncertain(&self, call: &UncertainCall) -> UncertainDecision {
        if self.yes {
            return UncertainDecision::Leave;
        }
        let _one_at_a_time = self.always.lock().await;
        let question = format!(
            "{} {} of step {} was under way when the run was interrupted: {}\n  input: {}\n{}",
            screen::stderr_paint().odd("Uncertain:"),
            call.tool,
            call.step_id,
            escape_line(&call.why),
            escape_line(&call.input.to_string()),
            screen::stderr_paint()
                .bold("Run it again? Only if it did not happen, or twice does no harm. [y/N]"),
        );
        match self.ask(&question).await.as_deref() {
            Some("y" | "yes") => UncertainDecision::Run,
            Some(_) | None => UncertainDecision::Leave,
        }
    }
}

/// A question on the screen.
struct OpenPrompt {
    answered: bool,
}

impl OpenPrompt {
    fn close(mut self) {
        self.answered = true;
    }
}

impl Drop for OpenPrompt {
    /// Notes that the question was withdrawn, so that the next one is not taken for it.
    fn drop(&mut self) {
        if !self.answered {
            screen::notice("This question is withdrawn: what it was about has been cancelled.");
        }
    }
}

const YES_COVERS_PREVIEW_ONLY: &str = "--yes covers what was previewed and nothing else";
const NO_TERMINAL: &str = "not running in a terminal, so you cannot be asked; run again with --yes";

/// Asks outside of a run. Returns `None` without a terminal.
pub(crate) fn ask_at_terminal(question: &str) -> Option<String> {
    let terminal = open_terminal()?;
    discard_input(&terminal);
    screen::notice(question);
    read_answer(&terminal)
}

/// Returns whether the user can be asked.
pub(crate) fn can_ask_at_terminal() -> bool {
    open_terminal().is_some()
}

/// Shows a prompt outside of a run and waits for a line. Returns `None` without a terminal, and when the user pressed
/// Ctrl-C.
pub(crate) fn wait_for_line(interrupts: &InterruptSignal, prompt: &str) -> Option<String> {
    let terminal = open_terminal()?;
    discard_input(&terminal);
    screen::notice(prompt);
    let (sender, line) = tokio::sync::oneshot::channel();
    // A thread of its own: a read from a terminal cannot be cancelled, and ends with the program.
    std::thread::spawn(move || sender.send(read_answer(&terminal)));
    let cancel = interrupts.cancel();
    let answer = async {
        tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            line = line => line.ok().flatten(),
        }
    };
    runtime::block_on(interrupts, answer).ok().flatten()
}

/// Discards input that was typed before a question was shown, with or without a line end.
pub(crate) fn discard_input(terminal: &File) {
    // The system stops a background job that does this.
    if !is_in_background() {
        let _kept = tcflush(terminal, QueueSelector::IFlush);
    }
}

/// Returns whether another job is in the foreground of the terminal, as far as the system knows.
fn is_in_background() -> bool {
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else { return false };
    // After the name, which may contain any character: state, parent, group, session, terminal, foreground group.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    matches!(fields.as_slice(), [_, _, group, _, _, front, ..] if group != front)
}

/// Reads a line. The end of the input (Ctrl-D) is an empty answer, which never approves.
pub(crate) fn read_answer(terminal: &File) -> Option<String> {
    let mut line = String::new();
    BufReader::new(terminal).read_line(&mut line).ok()?;
    Some(line.trim().to_lowercase())
}

/// Opens the terminal itself, since standard input may carry the plan. Returns `None` without a terminal.
pub(crate) fn open_terminal() -> Option<File> {
    if !io::stderr().is_terminal() {
        return None;
    }
    let stdin = || {
        let stdin = io::stdin();
        let typed = stdin.is_terminal().then(|| stdin.as_fd().try_clone_to_owned().ok()).flatten();
        typed.map(File::from)
    };
    File::open("/dev/tty").ok().or_else(stdin)
}

impl Approver for TerminalApprover {
    fn confirm<'a>(&'a self, request: &'a ConfirmRequest) -> BoxFuture<'a, ConfirmAnswer> {
        Box::pin(self.confirm_plan(request))
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(self.approve_call(request))
    }

    fn settle<'a>(&'a self, uncertain: &'a UncertainCall) -> BoxFuture<'a, UncertainDecision> {
        Box::pin(self.settle_uncertain(uncertain))
    }
}
