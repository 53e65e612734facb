//! Plans that come from a client: checked, foreseen and run as on the command line, told in few words.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::{Approver, Engine, Forecaster, Observer, RunCancel, RunPlace, RunReport, RunRequest};
use envelope::{EventType, ExecutionEvent, ToolResult};
use gateway::mcp::{PLAN_BUDGET, PlanAnswer, PlanRun, Plans};
use journal::RunKind;
use plan::{CheckedPlan, Finding, RunStatus};
use serde_json::json;
use shell::Lifetime;
use toolkit::preview::tokens::prefix_within;
use toolkit::{BoxFuture, CancelToken, Progress as CallProgress, ProgressSink};

use super::live::LivePlace;
use crate::diff::Limits;
use crate::effects;
use crate::findings;
use crate::place::Place;
use crate::preview::{ForecastRules, OverlayForecaster, Rehearsal};
use crate::progress::Progress;
use crate::screen::Paint;
use crate::stop::Stop;
use crate::visible::{count, one_line};
use crate::watch::Watcher;
use crate::wiring::{self, Toolset};

/// What is kept for the line that says how much is missing.
const NOTE_TOKENS: usize = 40;

/// The plans of clients on one vault.
pub(crate) struct ClientPlans {
    pub(crate) live: Arc<LivePlace>,
    /// Who answers where the client brings nobody.
    pub(crate) approver: Arc<dyn Approver>,
}

impl Plans for ClientPlans {
    fn check(&self, plan: String) -> BoxFuture<'static, PlanAnswer> {
        let place = self.live.current();
        Box::pin(async move {
            or_stopped(match place {
                Ok(place) => checked(&place, &plan).await,
                Err(stop) => Err(stop),
            })
        })
    }

    fn preview(&self, plan: String, cancel: CancelToken) -> BoxFuture<'static, PlanAnswer> {
        let place = self.live.current();
        Box::pin(async move {
            or_stopped(match place {
                Ok(place) => previewed(&place, &plan, cancel).await,
                Err(stop) => Err(stop),
            })
        })
    }

    fn run(&self, plan: String, with: PlanRun) -> BoxFuture<'static, PlanAnswer> {
        let (place, approver) = (self.live.current(), self.approver.clone());
        Box::pin(async move {
            or_stopped(match place {
                Ok(place) => carried(&place, &plan, approver, with).await,
                Err(stop) => Err(stop),
            })
        })
    }
}

/// A plan that may run, or what is wrong with it.
type Judged = Result<CheckedPlan, Box<PlanAnswer>>;

async fn checked(place: &Place, text: &str) -> Result<PlanAnswer, Stop> {
    let tools = Toolset::open(place, Lifetime::Run)?;
    Ok(match judge(place, &tools, text) {
        Err(wrong) => *wrong,
        Ok(plan) => {
            let order = findings::order(&plan).join(", ");
            let summary = format!(
                "The plan can run: {}, {}",
                count(plan.steps.len() as u64, "step"),
                plan.plan.risk_level
            );
            PlanAnswer {
                ok: true,
                text: short(format!("{summary}\nOrder: {order}\nNext: plan_preview, or plan_run")),
                summary,
                data: findings::answer(&[], Some(&plan)),
                run: None,
            }
        }
    })
}

fn judge(place: &Place, tools: &Toolset, text: &str) -> Judged {
    let report = plan::check(text, &*tools.surface, &wiring::check_limits(&place.settings));
    let found = findings::sorted(report.findings);
    report.plan.ok_or_else(|| {
        let summary =
            format!("The plan has {}; nothing was run", count(findings::errors(&found) as u64, "error"));
        let mut text = summary.clone();
        for finding in &found {
            let _infallible = write!(text, "\n{}", findings::lines(finding, Paint::plain()));
        }
        Box::new(refused(summary, text, &found))
    })
}

fn refused(summary: String, text: String, found: &[Finding]) -> PlanAnswer {
    PlanAnswer { ok: false, summary, text: short(text), data: findings::answer(found, None), run: None }
}

async fn previewed(place: &Arc<Place>, text: &str, cancel: CancelToken) -> Result<PlanAnswer, Stop> {
    let tools = Arc::new(Toolset::open(place, Lifetime::Run)?);
    let plan = match judge(place, &tools, text) {
        Ok(plan) => plan,
        Err(wrong) => return Ok(*wrong),
    };
    let rehearsal = Rehearsal::new(&ForecastRules::of(&place.settings), tools, &plan);
    let preview = rehearsal.perform(Limits::screen(), ended_by(cancel)).await?;
    let text = preview.plain();
    let summary = text.lines().next().unwrap_or_default().to_owned();
    let data = serde_json::to_value(&preview).unwrap_or_default();
    Ok(PlanAnswer { ok: true, summary, text: short(text), data, run: None })
}

async fn carried(
    place: &Arc<Place>,
    text: &str,
    fallback: Arc<dyn Approver>,
    with: PlanRun,
) -> Result<PlanAnswer, Stop> {
    let tools = Arc::new(Toolset::open(place, Lifetime::Run)?);
    let plan = match judge(place, &tools, text) {
        Ok(plan) => plan,
        Err(wrong) => return Ok(*wrong),
    };
    // With a yes in advance nobody looks, so nothing is forecast.
    let forecaster =
        with.approver.is_some().then(|| Arc::new(OverlayForecaster::new(&place.settings, &tools)));
    let watcher = Watcher::of_run(Arc::new(Progress::new(true)));
    let follower = Arc::new(Follower {
        watcher: watcher.clone(),
        told: with.progress,
        steps: plan.steps.len() as u64,
        finished: AtomicU64::new(0),
    });
    let engine: Engine =
        wiring::engine(place, &tools, with.approver.unwrap_or(fallback), follower, forecaster.clone())?;
    let request = RunRequest {
        plan,
        place: RunPlace::Disk(place.prepare_runs()?),
        kind: RunKind::Plan,
        planner_version: Some(with.client),
        cancel: ended_by(with.cancel),
        forecaster: forecaster.map(|forecaster| forecaster as Arc<dyn Forecaster>),
        approved: None,
        budget: None,
    };
    let report = engine.run_plan(request).await.map_err(|error| match error {
        engine::RunError::Journal(error) => Stop::from(error),
    })?;
    Ok(told(&report, &watcher))
}

fn told(report: &RunReport, watcher: &Watcher) -> PlanAnswer {
    let verdict = match report.status {
        RunStatus::Ok => "Done",
        RunStatus::Failed => "Finished with failures",
        RunStatus::Cancelled => "Cancelled",
        RunStatus::Declined => "Not run",
    };
    let reason = report.reason.as_deref().map(|reason| format!(": {}", one_line(reason))).unwrap_or_default();
    let summary = format!("{verdict}{reason}");
    let mut text = summary.clone();
    for step in &report.steps {
        let failed = if step.failed > 0 { format!(", {} failed", step.failed) } else { String::new() };
        let calls = count(step.calls, "call");
        let _infallible = write!(text, "\n{} {}: {calls}{failed}", step.status.name(), step.id);
        for receipt in watcher.receipts(&step.id) {
            let _infallible = write!(text, "\n  {receipt}");
        }
        if let Some(error) = &step.error {
            let hint = error.recovery_hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
            let _infallible = write!(text, "\n  {}{}", one_line(&error.message), one_line(&hint));
        }
    }
    for line in effects::lines(&report.effects, false) {
        let _infallible = write!(text, "\n{line}");
    }
    let _infallible = write!(text, "\nRun: {}", report.run_id);
    if let Some(error) = &report.journal_error {
        let _infallible = write!(text, "\nThe record is incomplete: {}", one_line(error));
    }
    PlanAnswer {
        ok: report.status == RunStatus::Ok && report.journal_error.is_none(),
        summary,
        text: short(text),
        data: serde_json::to_value(report).unwrap_or_default(),
        run: Some(report.run_id.to_string()),
    }
}

/// Tells the client how far its plan has come, and keeps what the summary shows.
struct Follower {
    watcher: Arc<Watcher>,
    told: ProgressSink,
    steps: u64,
    finished: AtomicU64,
}

impl Observer for Follower {
    fn event(&self, event: &ExecutionEvent) {
        self.watcher.event(event);
        let is_end = event.event_type == EventType::StepFinished;
        if is_end || event.event_type == EventType::StepProgress {
            let done = self.finished.fetch_add(u64::from(is_end), Ordering::Relaxed) + u64::from(is_end);
            let step = event.step_id.as_ref().map(|step| format!("{step}: ")).unwrap_or_default();
            let message = format!("{step}{}", one_line(&event.message));
            (self.told)(CallProgress { done: done.min(self.steps), total: Some(self.steps), message });
        }
    }

    fn result(&self, result: &ToolResult) {
        self.watcher.result(result);
    }
}

/// A run that ends when its call is cancelled.
fn ended_by(cancel: CancelToken) -> RunCancel {
    RunCancel::of(cancel)
}

fn or_stopped(answer: Result<PlanAnswer, Stop>) -> PlanAnswer {
    answer.unwrap_or_else(|stop| {
        let hint = stop.hint.as_deref().map(|hint| format!("\n{hint}")).unwrap_or_default();
        PlanAnswer {
            ok: false,
            text: short(format!("{}{hint}", stop.message)),
            data: json!({ "error": { "code": stop.code, "message": stop.message } }),
            summary: stop.message,
            run: None,
        }
    })
}

/// Within what a model may be given. What is left out is counted, and where to find it is said.
fn short(text: String) -> String {
    if prefix_within(&text, PLAN_BUDGET) == text.len() {
        return text;
    }
    let cut = prefix_within(&text, PLAN_BUDGET - NOTE_TOKENS);
    let kept = text[..cut].rfind('\n').unwrap_or(cut);
    let rest = text[kept..].lines().count();
    format!(
        "{}\n… {} more; `tollgate preview` and `tollgate show last` have them all",
        &text[..kept],
        count(rest as u64, "line")
    )
}

#[cfg(test)]
mod tests {
    use gateway::mcp::PLAN_BUDGET;
    use toolkit::preview::tokens::estimate;

    use super::short;

    #[test]
    fn a_text_in_any_language_is_cut_to_what_a_model_may_be_given() {
        assert_eq!(short("one\ntwo".to_owned()), "one\ntwo");
        for line in ["a line of words\n", "計画は三つのノートを作ります\n", "\"\\\"\\\"\\\n"] {
            let text = short(line.repeat(4_000));
            assert!(estimate(&text) <= PLAN_BUDGET, "{}", estimate(&text));
            assert!(
                text.contains(" more lines") || text.contains(" lines more"),
                "{}",
                &text[text.len() - 90..]
            );
        }
    }
}
