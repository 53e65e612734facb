//! The scenes of the demonstration: a numbered title, a text that fits the screen, and a pause at a terminal.

use std::fmt::Display;

use engine::{
    ApprovalDecision, ApprovalRequest, Approver, ConfirmAnswer, ConfirmRequest, UncertainCall,
    UncertainDecision,
};
use toolkit::BoxFuture;

use crate::prompt::{TerminalApprover, ask_at_terminal, can_ask_at_terminal, wait_for_line};
use crate::runtime::InterruptSignal;
use crate::screen;
use app::display_text::count;

/// Lines of a text that is shown in part. With title and prompt they fit a screen of 24 lines.
const SHOWN_LINES: usize = 16;

/// The scenes, in their order.
pub(super) struct Scenes {
    number: usize,
    /// Whether someone reads and answers at a terminal.
    interactive: bool,
    interrupts: InterruptSignal,
    ended: bool,
}

impl Scenes {
    pub(super) fn new() -> Scenes {
        let interactive = screen::terminal_lines().is_some() && can_ask_at_terminal();
        Scenes { number: 0, interactive, interrupts: InterruptSignal::new(false), ended: false }
    }

    pub(super) fn is_interactive(&self) -> bool {
        self.interactive
    }

    /// Returns whether the user has ended the demonstration.
    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }

    /// The state of Ctrl-C.
    pub(super) fn interrupts(&self) -> InterruptSignal {
        self.interrupts.clone()
    }

    pub(super) fn begin(&mut self, name: &str, what: &str) {
        self.number += 1;
        let paint = screen::stdout_paint();
        screen::print("");
        screen::print(paint.bold(format!("{}. {name}", self.number)));
        if !what.is_empty() {
            screen::print(paint.dim(what));
        }
    }

    pub(super) fn line(&self, line: impl Display) {
        screen::print(line);
    }

    pub(super) fn lines(&self, lines: &[String]) {
        lines.iter().for_each(screen::print);
    }

    /// Prints the beginning of a long text, and where the rest is.
    pub(super) fn first_lines(&self, lines: &[String], rest: &str) {
        self.lines(&lines[..lines.len().min(SHOWN_LINES)]);
        if lines.len() > SHOWN_LINES {
            let more = count((lines.len() - SHOWN_LINES) as u64, "more line");
            screen::print(screen::stdout_paint().dim(format_args!("  and {more}; {rest}")));
        }
    }

    /// Waits for Enter at a terminal. Returns whether the user ended the demonstration instead.
    pub(super) fn end(&mut self) -> bool {
        if self.interactive && !self.ended {
            let prompt = screen::stderr_paint().bold("Enter to go on, q to end:");
            let line = wait_for_line(&self.interrupts, &prompt);
            self.ended = line.is_none_or(|line| matches!(line.as_str(), "q" | "quit"));
        }
        self.ended
    }

    /// Asks a yes-or-no question. Nobody is asked without a terminal, which is a no.
    pub(super) fn ask(&mut self, question: &str) -> bool {
        let question = screen::stderr_paint().bold(question);
        let answer = self.interactive.then(|| wait_for_line(&self.interrupts, &question)).flatten();
        answer.is_some_and(|answer| matches!(answer.as_str(), "y" | "yes"))
    }
}

/// Asks at the terminal, and shows a long question page by page.
pub(super) struct PagingApprover {
    inner: TerminalApprover,
}

impl PagingApprover {
    pub(super) fn new(inner: TerminalApprover) -> PagingApprover {
        PagingApprover { inner }
    }
}

impl Approver for PagingApprover {
    fn confirm<'a>(&'a self, request: &'a ConfirmRequest) -> BoxFuture<'a, ConfirmAnswer> {
        Box::pin(async {
            let shown = screen::wrap_for_stderr(&request.text);
            let lines: Vec<&str> = shown.lines().collect();
            let pages: Vec<&[&str]> = lines.chunks(SHOWN_LINES).collect();
            let Some((last, before)) = pages.split_last() else {
                return self.inner.confirm(request).await;
            };
            for page in before {
                page.iter().for_each(screen::notice);
                // The user waits for nothing else now.
                let _line =
                    ask_at_terminal(&screen::stderr_paint().bold("Enter shows more of the question:"));
            }
            let (run_id, binding, whole_plan) = (request.run_id.clone(), request.binding, request.whole_plan);
            let (risk, client, text) = (request.risk, request.client.clone(), last.join("\n"));
            self.inner.confirm(&ConfirmRequest { run_id, text, binding, whole_plan, risk, client }).await
        })
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        self.inner.approve(request)
    }

    fn settle<'a>(&'a self, uncertain: &'a UncertainCall) -> BoxFuture<'a, UncertainDecision> {
        self.inner.settle(uncertain)
    }
}
