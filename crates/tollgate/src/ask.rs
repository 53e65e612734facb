//! The person at the terminal, as the engine sees them.
//!
//! Questions go to standard error, so that an answer on standard output stays clean. Nobody is there
//! unless standard error is a terminal: a question that cannot be seen must not be waited for.

mod lines;
mod reason;
mod words;

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal};
use std::os::fd::AsFd;
use std::sync::Arc;

use engine::{Answer, ApprovalRequest, Approver, ConfirmRequest, UncertainCall, UncertainVerdict, Verdict};
use envelope::{Channel, ClientId};
use gateway::FrontEnd;
use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::Mutex;
use toolkit::BoxFuture;

pub(crate) use self::lines::Lines;
pub(crate) use self::reason::Reason;
pub(crate) use self::words::choices;
use self::words::{about_call, from};
use crate::drive::Interrupts;
use crate::preview::OverlayForecaster;
use crate::progress::Progress;
use crate::screen::{self, Paint};
use crate::visible::one_line;

/// Answers with `--yes`, or asks the person.
pub(crate) struct Asker {
    yes: bool,
    progress: Arc<Progress>,
    interrupts: Interrupts,
    /// Who forecasts plans and calls, if anyone does.
    forecaster: Option<Arc<OverlayForecaster>>,
    lines: Lines,
    /// One question at a time; holds what the person wants to be asked no more.
    always: Mutex<HashSet<Reason>>,
}

impl Asker {
    pub(crate) fn new(yes: bool, progress: Arc<Progress>, interrupts: Interrupts) -> Asker {
        let (lines, always) = (Lines::default(), Mutex::default());
        Asker { yes, progress, interrupts, forecaster: None, lines, always }
    }

    /// The same with forecasts in colours.
    pub(crate) fn showing(mut self, forecaster: Option<Arc<OverlayForecaster>>) -> Asker {
        self.forecaster = forecaster;
        self
    }

    /// Shows the text and returns the line that was typed; `None` when nobody is there.
    async fn ask(&self, text: &str) -> Option<String> {
        if self.interrupts.were_heard() {
            // The run is being cancelled: nobody wants this answer, and the end does not wait for it.
            return std::future::pending().await;
        }
        let (terminal, read_from) = (terminal()?, terminal()?);
        let _still = self.progress.pause();
        let question = Open { answered: false };
        let line = self
            .lines
            .next(|| discard_typed(&terminal), || screen::note(text), move || typed(&read_from))
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

    async fn confirm_plan(&self, request: &ConfirmRequest) -> Answer {
        if self.yes {
            return Answer::Yes { channel: Channel::YesFlag };
        }
        let _one_at_a_time = self.always.lock().await;
        // Exactly the text whose hash goes into the record, and safe to show. Where a screen has colours, they
        // take the place of the marks that the plain text has for them.
        let shown = self.coloured(&request.text);
        let paint = Paint::stderr();
        let from = from(request.client.as_deref(), paint);
        let question = format!("{from}{shown}\n{}", paint.bold("May this run? [y/N]"));
        match self.ask(&question).await.as_deref() {
            Some("y" | "yes") => Answer::Yes { channel: Channel::Terminal },
            Some(_) => Answer::No { reason: "the user said no".to_owned() },
            None => Answer::Nobody { why: NOBODY.to_owned() },
        }
    }

    async fn approve_call(&self, request: &ApprovalRequest) -> Verdict {
        if self.yes {
            return match request.differs {
                // The yes was given to what was previewed, and this is something else.
                true => Verdict::Nobody { why: YES_IS_FOR_THE_PREVIEW.to_owned(), way_out: None },
                false => Verdict::Once { channel: Channel::YesFlag },
            };
        }
        let mut always = self.always.lock().await;
        let reason = Reason::of(request, &ClientId::local(), FrontEnd::Local);
        if always.contains(&reason) {
            return Verdict::Once { channel: Channel::Terminal };
        }
        let question = about_call(request, &self.coloured(&request.text), Paint::stderr());
        match self.ask(&question).await.as_deref() {
            Some("y" | "yes") => Verdict::Once { channel: Channel::Terminal },
            Some("a" | "always") if reason.can_be_kept() => {
                always.insert(reason);
                Verdict::Remember { channel: Channel::Terminal }
            }
            Some(_) => Verdict::Reject { reason: "asked at the terminal".to_owned() },
            None => Verdict::Nobody { why: NOBODY.to_owned(), way_out: None },
        }
    }

    /// `--yes` was said before anyone knew of this question, so it does not answer it.
    async fn settle_uncertain(&self, call: &UncertainCall) -> UncertainVerdict {
        if self.yes {
            return UncertainVerdict::Leave;
        }
        let _one_at_a_time = self.always.lock().await;
        let question = format!(
            "{} {} of step {} was under way when the run was interrupted: {}\n  input: {}\n{}",
            Paint::stderr().odd("Uncertain:"),
            call.tool,
            call.step_id,
            one_line(&call.why),
            one_line(&call.input.to_string()),
            Paint::stderr().bold("Run it again? Only if it did not happen, or twice does no harm. [y/N]"),
        );
        match self.ask(&question).await.as_deref() {
            Some("y" | "yes") => UncertainVerdict::Run,
            Some(_) | None => UncertainVerdict::Leave,
        }
    }
}

/// A question that stands on the screen.
struct Open {
    answered: bool,
}

impl Open {
    fn close(mut self) {
        self.answered = true;
    }
}

impl Drop for Open {
    /// Nobody may take the next question for this one.
    fn drop(&mut self) {
        if !self.answered {
            screen::note("This question is withdrawn: what it was about has been cancelled.");
        }
    }
}

const YES_IS_FOR_THE_PREVIEW: &str = "--yes covers what was previewed and nothing else";
const NOBODY: &str = "no terminal is there to ask at; run again with --yes";

/// Asks outside of a run. `None` when nobody is there.
pub(crate) fn at_terminal(question: &str) -> Option<String> {
    let terminal = terminal()?;
    discard_typed(&terminal);
    screen::note(question);
    typed(&terminal)
}

/// What was typed before a question was seen answers nothing, whether or not the line was ended.
pub(crate) fn discard_typed(terminal: &File) {
    // Whoever does this from the background is stopped, before anybody was told why.
    if !is_in_background() {
        let _kept = tcflush(terminal, QueueSelector::IFlush);
    }
}

/// Whether the terminal belongs to another job, as far as the system tells.
fn is_in_background() -> bool {
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else { return false };
    // Behind the name, which may have any character: state, parent, group, session, terminal, the group in front.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    matches!(fields.as_slice(), [_, _, group, _, _, front, ..] if group != front)
}

/// The line that is typed. Its end without a line (Ctrl-D) is an empty answer, which is never a yes.
pub(crate) fn typed(terminal: &File) -> Option<String> {
    let mut line = String::new();
    BufReader::new(terminal).read_line(&mut line).ok()?;
    Some(line.trim().to_lowercase())
}

/// Where answers are typed: the terminal itself, since standard input may carry the plan.
pub(crate) fn terminal() -> Option<File> {
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

impl Approver for Asker {
    fn confirm<'a>(&'a self, request: &'a ConfirmRequest) -> BoxFuture<'a, Answer> {
        Box::pin(self.confirm_plan(request))
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Verdict> {
        Box::pin(self.approve_call(request))
    }

    fn settle<'a>(&'a self, uncertain: &'a UncertainCall) -> BoxFuture<'a, UncertainVerdict> {
        Box::pin(self.settle_uncertain(uncertain))
    }
}
