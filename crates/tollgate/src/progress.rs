//! Shows the progress of a run: bars on a terminal, plain lines in a pipe, nothing with JSON.

use std::collections::HashMap;
use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use envelope::{EventLevel, EventType, ExecutionEvent, StepId};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::screen;
use app::display_text::{count, escape_line};

pub(crate) enum Progress {
    /// Nothing is shown.
    Silent,
    /// One line for each notable event.
    Lines(Mutex<HashMap<StepId, ReportedQuarters>>),
    /// A bar for each step; with many steps one for all of them, and one for each step under way.
    Bars(ProgressBars),
}

/// The number of quarters of a loop that have been reported.
#[derive(Default)]
pub(crate) struct ReportedQuarters(u64);

pub(crate) struct ProgressBars {
    all: MultiProgress,
    /// The target of the bars while they are visible.
    target: fn() -> ProgressDrawTarget,
    drawn: Mutex<BarState>,
}

/// Steps that have a bar each until the end. More would fill the screen.
const MAX_STEP_BARS: u64 = 8;
/// Steps under way that have a bar beside the one for all steps.
const MAX_RUNNING_BARS: usize = 3;

#[derive(Default)]
struct BarState {
    bars: HashMap<StepId, ProgressBar>,
    /// The bar for all steps of a run of many.
    all_steps: Option<ProgressBar>,
    /// Steps that have begun, with the number of their calls.
    calls: HashMap<StepId, u64>,
    /// The number of open questions; while there are any, nothing ticks or is drawn.
    questions: usize,
}

impl Progress {
    pub(crate) fn new(silent: bool) -> Progress {
        if silent {
            Progress::Silent
        } else if io::stderr().is_terminal() {
            Progress::Bars(ProgressBars::new(ProgressDrawTarget::stderr))
        } else {
            Progress::Lines(Mutex::default())
        }
    }

    /// Hides the bars until the guard is dropped: nothing must move while the user types.
    pub(crate) fn pause(&self) -> ProgressPause<'_> {
        if let Progress::Bars(bars) = self {
            bars.suspend();
        }
        ProgressPause(self)
    }

    /// Removes the bars: the summary follows.
    pub(crate) fn end(&self) {
        if let Progress::Bars(bars) = self {
            let mut drawn = lock(&bars.drawn);
            let all_steps = drawn.all_steps.take();
            for bar in drawn.bars.drain().map(|(_, bar)| bar).chain(all_steps) {
                bar.finish_and_clear();
            }
            let _gone = bars.all.clear();
        }
    }

    pub(crate) fn event(&self, event: &ExecutionEvent) {
        match self {
            Progress::Silent => {}
            Progress::Lines(reported) => {
                if let Some(line) = event_line(&mut lock(reported), event) {
                    screen::notice(line);
                }
            }
            Progress::Bars(bars) => draw_event(&bars.all, &mut lock(&bars.drawn), event),
        }
    }
}

impl ProgressBars {
    fn new(target: fn() -> ProgressDrawTarget) -> ProgressBars {
        ProgressBars { all: MultiProgress::with_draw_target(target()), target, drawn: Mutex::default() }
    }

    /// Stops ticking before the screen is cleared: a tick in between would draw under the question.
    fn suspend(&self) {
        let mut drawn = lock(&self.drawn);
        drawn.questions += 1;
        if drawn.questions == 1 {
            drawn.visible_bars().for_each(ProgressBar::disable_steady_tick);
            let _gone = self.all.clear();
            self.all.set_draw_target(ProgressDrawTarget::hidden());
        }
    }

    fn resume(&self) {
        let mut drawn = lock(&self.drawn);
        drawn.questions = drawn.questions.saturating_sub(1);
        if drawn.questions == 0 {
            self.all.set_draw_target((self.target)());
            drawn.visible_bars().filter(|bar| !bar.is_finished()).for_each(tick);
        }
    }
}

impl BarState {
    fn visible_bars(&self) -> impl Iterator<Item = &ProgressBar> {
        self.bars.values().chain(&self.all_steps)
    }

    /// Adds a bar and lets it tick, unless a question is open.
    fn show(&self, all: &MultiProgress, bar: ProgressBar) -> ProgressBar {
        let bar = all.add(bar);
        if self.questions == 0 {
            tick(&bar);
        }
        bar
    }

    /// Begins the bar for all steps if there are many.
    fn begin(&mut self, all: &MultiProgress, steps: u64) {
        if steps > MAX_STEP_BARS {
            let bar = bar(steps);
            bar.set_prefix("steps");
            self.all_steps = Some(self.show(all, bar));
        }
    }

    /// Begins the bar of a step. In a run of many steps only the first few under way have one.
    fn begin_step(&mut self, all: &MultiProgress, step: &StepId, tool: String, calls: u64) {
        self.calls.insert(step.clone(), calls);
        if self.all_steps.is_some() && self.bars.len() >= MAX_RUNNING_BARS {
            return;
        }
        let bar = bar(calls);
        bar.set_prefix(step.to_string());
        bar.set_message(tool);
        let bar = self.show(all, bar);
        self.bars.insert(step.clone(), bar);
    }

    /// Takes the end of a call, or of a step without one.
    fn end_call(&mut self, all: &MultiProgress, step: &StepId, is_call: bool) {
        let is_loop = self.calls.get(step).is_some_and(|calls| *calls != 1);
        if is_call && is_loop {
            // The count of its items follows.
            return;
        }
        if let Some(bar) = self.bars.get(step)
            && bar.length() == Some(1)
        {
            bar.set_position(1);
            stop_full_bar(bar);
        }
        self.end_step(all, step);
    }

    fn count_items(&mut self, all: &MultiProgress, step: &StepId, done: u64) {
        if let Some(bar) = self.bars.get(step) {
            bar.set_position(done);
            stop_full_bar(bar);
        }
        if self.calls.get(step) == Some(&done) {
            self.end_step(all, step);
        }
    }

    /// Counts a step that has ended, once. In a run of many steps its bar makes room for the next one.
    fn end_step(&mut self, all: &MultiProgress, step: &StepId) {
        let Some(total) = &self.all_steps else { return };
        if self.calls.remove(step).is_some() {
            total.inc(1);
        }
        if let Some(bar) = self.bars.remove(step) {
            bar.finish_and_clear();
            all.remove(&bar);
        }
    }
}

/// See [`Progress::pause`].
pub(crate) struct ProgressPause<'a>(&'a Progress);

impl Drop for ProgressPause<'_> {
    fn drop(&mut self) {
        if let Progress::Bars(bars) = self.0 {
            bars.resume();
        }
    }
}

fn tick(bar: &ProgressBar) {
    bar.enable_steady_tick(Duration::from_millis(120));
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn number(event: &ExecutionEvent, name: &str) -> Option<u64> {
    event.payload.as_ref()?.get(name)?.as_u64()
}

/// Returns whether the event counts items of a step; a call's own progress and retries have a call id.
fn is_item_count(event: &ExecutionEvent) -> bool {
    event.event_type == EventType::StepProgress && event.call_id.is_none()
}

/// Returns the line for an event in a pipe: failures and warnings always, a loop at every quarter.
fn event_line(reported: &mut HashMap<StepId, ReportedQuarters>, event: &ExecutionEvent) -> Option<String> {
    let step = event.step_id.as_ref();
    let name = step.map_or("run", StepId::as_str);
    let with_step = |message: &str| Some(format!("{name}: {}", escape_line(message)));
    match event.event_type {
        EventType::StepProgress if is_item_count(event) => {
            let (done, total) = (number(event, "done")?, number(event, "total")?.max(1));
            let reported = reported.entry(step?.clone()).or_default();
            let quarters = done.saturating_mul(4) / total;
            let worth = quarters > reported.0;
            reported.0 = quarters.max(reported.0);
            worth.then(|| format!("{name}: {done} of {total}"))
        }
        EventType::StepScheduled => {
            let calls = number(event, "calls").unwrap_or(1);
            let items = if calls == 1 { String::new() } else { format!(", {}", count(calls, "call")) };
            event.tool.as_ref().map(|tool| format!("{name}: {tool}{items}"))
        }
        EventType::StepFailed | EventType::RunCancelled => with_step(&event.message),
        EventType::StepProgress if event.level >= EventLevel::Warn => with_step(&event.message),
        EventType::RunStarted | EventType::StepFinished if event.level >= EventLevel::Warn => {
            with_step(&event.message)
        }
        EventType::RunStarted
        | EventType::RunConfirmationRequested
        | EventType::RunConfirmed
        | EventType::StepStarted
        | EventType::StepProgress
        | EventType::StepFinished
        | EventType::RunFinished => None,
    }
}

fn draw_event(all: &MultiProgress, drawn: &mut BarState, event: &ExecutionEvent) {
    if event.event_type == EventType::RunStarted {
        drawn.begin(all, number(event, "steps").unwrap_or_default());
    }
    let Some(step) = &event.step_id else { return };
    match event.event_type {
        EventType::StepScheduled => {
            let tool = event.tool.as_ref().map(ToString::to_string).unwrap_or_default();
            drawn.begin_step(all, step, tool, number(event, "calls").unwrap_or(1));
        }
        EventType::StepProgress if is_item_count(event) => {
            drawn.count_items(all, step, number(event, "done").unwrap_or_default());
        }
        EventType::StepProgress => {
            if let Some(bar) = drawn.bars.get(step) {
                bar.set_message(escape_line(&event.message));
            }
        }
        EventType::StepFinished | EventType::StepFailed => {
            if event.event_type == EventType::StepFailed {
                let _gone = all.println(format!("{step}: {}", escape_line(&event.message)));
            }
            drawn.end_call(all, step, event.call_id.is_some());
        }
        EventType::RunStarted
        | EventType::RunConfirmationRequested
        | EventType::RunConfirmed
        | EventType::RunCancelled
        | EventType::StepStarted
        | EventType::RunFinished => {}
    }
}

/// Stops the spinner of a full bar.
fn stop_full_bar(bar: &ProgressBar) {
    if bar.length().is_some_and(|length| bar.position() >= length) {
        bar.disable_steady_tick();
        bar.abandon();
    }
}

fn bar(calls: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("  {spinner} {prefix:<16} {pos:>6}/{len:<6} {wide_bar} {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("━╸ ")
        .tick_chars("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏✓");
    ProgressBar::new(calls.max(1)).with_style(style)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use envelope::{CallId, EventLevel, EventType, ExecutionEvent, RunId, StepId, Timestamp, ToolName};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use expect_test::expect;
    use indicatif::{ProgressDrawTarget, TermLike};
    use serde_json::{Value, json};

    use super::{Progress, ProgressBars, event_line, lock};

    fn event(event_type: EventType, message: &str, payload: Value) -> ExecutionEvent {
        ExecutionEvent {
            event_type,
            run_id: RunId::parse("r1").unwrap(),
            timestamp: Timestamp::UNIX_EPOCH,
            level: EventLevel::Info,
            message: message.to_owned(),
            call_id: None,
            step_id: Some(StepId::parse("notes").unwrap()),
            tool: Some(ToolName::parse("vault.createFile").unwrap()),
            payload: Some(payload),
        }
    }

    #[test]
    fn a_long_loop_is_told_in_quarters() {
        let mut reported = HashMap::new();
        let mut events = vec![event(EventType::StepScheduled, "1000 items", json!({"calls": 1000}))];
        events.extend((1..=1000).map(|done| {
            event(EventType::StepProgress, "", json!({"done": done, "total": 1000, "failed": 0}))
        }));
        events.push(event(EventType::StepFailed, "no\nroom", json!({})));
        let lines: Vec<String> = events.iter().filter_map(|event| event_line(&mut reported, event)).collect();
        expect![[r"
            notes: vault.createFile, 1000 calls
            notes: 250 of 1000
            notes: 500 of 1000
            notes: 750 of 1000
            notes: 1000 of 1000
            notes: no\nroom"]]
        .assert_eq(&lines.join("\n"));
    }

    /// A terminal that counts writes.
    #[derive(Debug)]
    struct CountingTerminal;

    static WRITES: AtomicUsize = AtomicUsize::new(0);

    impl CountingTerminal {
        fn count() -> std::io::Result<()> {
            WRITES.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    }

    impl TermLike for CountingTerminal {
        fn width(&self) -> u16 {
            80
        }
        fn move_cursor_up(&self, _: usize) -> std::io::Result<()> {
            CountingTerminal::count()
        }
        fn move_cursor_down(&self, _: usize) -> std::io::Result<()> {
            CountingTerminal::count()
        }
        fn move_cursor_right(&self, _: usize) -> std::io::Result<()> {
            CountingTerminal::count()
        }
        fn move_cursor_left(&self, _: usize) -> std::io::Result<()> {
            CountingTerminal::count()
        }
        fn write_line(&self, _: &str) -> std::io::Result<()> {
            CountingTerminal::count()
        }
        fn write_str(&self, _: &str) -> std::io::Result<()> {
            CountingTerminal::count()
        }
        fn clear_line(&self) -> std::io::Result<()> {
            CountingTerminal::count()
        }
        fn flush(&self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_run_of_many_steps_has_one_bar_and_few_beside_it() {
        let progress = Progress::Bars(ProgressBars::new(ProgressDrawTarget::hidden));
        let Progress::Bars(bars) = &progress else { return };
        let of_step = |kind: EventType, number: usize, payload: Value| {
            let step_id = Some(StepId::parse(&format!("s{number}")).unwrap());
            let call_id = (kind != EventType::StepScheduled && payload["done"].is_null())
                .then(|| CallId::parse("01890000-0000-7000-8000-000000000002").unwrap());
            progress.event(&ExecutionEvent { step_id, call_id, ..event(kind, "", payload) });
        };
        progress.event(&ExecutionEvent {
            step_id: None,
            ..event(EventType::RunStarted, "", json!({ "steps": 500 }))
        });
        for step in 0..10 {
            of_step(EventType::StepScheduled, step, json!({ "calls": if step == 9 { 2 } else { 1 } }));
        }
        let counted = || {
            let drawn = lock(&bars.drawn);
            let all_steps = drawn.all_steps.as_ref().unwrap();
            (all_steps.position(), all_steps.length(), drawn.bars.len())
        };
        assert_eq!(counted(), (0, Some(500), 3));
        for step in 0..9 {
            of_step(EventType::StepFinished, step, json!({}));
        }
        // A step counts once, also if its call was tried again.
        of_step(EventType::StepFailed, 0, json!({}));
        assert_eq!(counted(), (9, Some(500), 0));
        of_step(EventType::StepFinished, 9, json!({}));
        of_step(EventType::StepProgress, 9, json!({ "done": 1, "total": 2 }));
        assert_eq!(counted(), (9, Some(500), 0), "one of two items");
        of_step(EventType::StepProgress, 9, json!({ "done": 2, "total": 2 }));
        assert_eq!(counted(), (10, Some(500), 0));
        progress.end();
    }

    #[test]
    fn nothing_moves_while_a_question_is_open() {
        let progress =
            Progress::Bars(ProgressBars::new(|| ProgressDrawTarget::term_like(Box::new(CountingTerminal))));
        let Progress::Bars(bars) = &progress else { return };
        let move_on = || {
            progress.event(&event(EventType::StepProgress, "", json!({"done": 1, "total": 9})));
            lock(&bars.drawn).bars.values().for_each(indicatif::ProgressBar::force_draw);
        };
        progress.event(&event(EventType::StepScheduled, "", json!({"calls": 9})));
        move_on();
        let first = progress.pause();
        let second = progress.pause();
        let before = WRITES.load(Ordering::SeqCst);
        assert!(before > 0);
        progress.event(&event(EventType::StepScheduled, "another", json!({"calls": 9})));
        move_on();
        drop(first);
        move_on();
        assert_eq!(WRITES.load(Ordering::SeqCst), before);
        drop(second);
        move_on();
        assert!(WRITES.load(Ordering::SeqCst) > before);
    }
}
