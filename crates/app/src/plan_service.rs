//! Checks, forecasts and runs plans, for the command line and every client.
//!
//! [`check_plan`], [`run_plan`] and [`confirm_saved_preview`] are the steps; [`PlanService`] combines them for clients,
//! with short answers.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use call_session::{PlanRunOptions, PlanRunner, PlanSource, PlanToolResult, ToolChoice, UndoRequest};
use engine::{
    Approver, Engine, ForecastCall, Forecaster, Observer, Rule, RuleEffect, RunCancel, RunPlace, RunReport,
    RunRequest,
};
use envelope::{EventType, ExecutionEvent, SessionId, ToolResult};
use journal::{Continuation, RunKind};
use plan::{CheckedPlan, PlanFinding, RunStatus};
use receipts::preview::tokenizer::prefix_within;
use serde_json::{Value, json};
use shell::ProcessLifetime;
use toolkit::{BoxFuture, CallProgress, CancelToken, ProgressSink, Surface};

use crate::diff::DiffLimits;
use crate::display_text::{count, escape_line, escape_text, truncate_line};
use crate::effects;
use crate::error::{AppError, ErrorKind};
use crate::findings;
use crate::live_settings::ReloadableVault;
use crate::plan_previews::{PlanPreviews, PreviewedPlan};
use crate::preview::{ForecastRules, ForecastRun, KnownFailure, OverlayForecaster, SavedPreview};
use crate::receipt_collector::ReceiptCollector;
use crate::settings::Settings;
use crate::text_style::TextStyle;
use crate::toolset::{self, Toolset};
use crate::undo::{
    ConflictPolicy, UndoOutlook, prepare_undo, refuse_other_sessions, session_undo_target,
    undo_target_in_session,
};
use crate::vault_context::VaultContext;

/// Tokens reserved for the line that counts omitted lines.
const NOTE_TOKENS: usize = 40;

/// Largest text of one output of a plan in tokens.
const OUTPUT_TOKENS: usize = 800;

/// The tool of the plan that undoes.
const RESTORE: &str = "vault.restore";

/// Longest name of an output that is shown.
const OUTPUT_NAME_CHARS: usize = 60;

/// A plan after its check.
pub struct PlanCheck {
    /// Findings, errors first.
    pub findings: Vec<PlanFinding>,
    /// The plan, if it has no errors.
    pub plan: Option<CheckedPlan>,
}

/// Checks the text of a plan against the tools and the limits of the settings.
pub fn check_plan(text: &str, surface: &Surface, settings: &Settings) -> PlanCheck {
    let report = plan::check(text, surface, &settings.check_limits());
    PlanCheck { findings: findings::sort_findings(report.findings), plan: report.plan }
}

/// A checked plan with everything that its run needs.
pub struct PlanWork {
    pub plan: CheckedPlan,
    pub kind: RunKind,
    /// Forecasts the plan for the question about it.
    pub forecaster: Option<Arc<OverlayForecaster>>,
    /// Forecast that was approved before.
    pub approved: Option<Vec<ForecastCall>>,
    /// Budget of a receipt in tokens.
    pub budget: Option<u32>,
    /// The run that it continues.
    pub continues: Option<Continuation>,
    /// Who wrote the plan, for the record.
    pub planner: Option<String>,
    /// The session that the run belongs to.
    pub session: Option<SessionId>,
}

impl PlanWork {
    /// Creates a plan without a forecast, for an approval that was given in advance.
    pub fn new(plan: CheckedPlan) -> PlanWork {
        let kind = RunKind::Plan;
        PlanWork {
            plan,
            kind,
            forecaster: None,
            approved: None,
            budget: None,
            continues: None,
            planner: None,
            session: None,
        }
    }
}

/// Runs a checked plan to its end. It is recorded in the vault's state folder.
pub async fn run_plan(
    engine: &Engine,
    work: PlanWork,
    context: &VaultContext,
    cancel: RunCancel,
) -> Result<RunReport, AppError> {
    let request = RunRequest {
        plan: work.plan,
        place: RunPlace::Disk(context.prepare_runs()?),
        kind: work.kind,
        undoes: Vec::new(),
        session: work.session,
        asks_always: false,
        continues: work.continues,
        planner_version: work.planner,
        cancel,
        forecaster: work.forecaster.map(|forecaster| forecaster as Arc<dyn Forecaster>),
        approved: work.approved,
        budget: work.budget,
    };
    Ok(engine.run_plan(request).await?)
}

/// Returns the calls that a saved preview shows. Fails if the plan would do anything else now: without a question,
/// exactly the preview is run, or nothing.
pub async fn confirm_saved_preview(
    forecast_run: &ForecastRun,
    saved: &SavedPreview,
    cancel: RunCancel,
) -> Result<Vec<ForecastCall>, AppError> {
    let limits = if saved.is_full() { DiffLimits::full() } else { DiffLimits::screen() };
    let now = forecast_run.perform(limits, cancel).await?;
    if now.verdict() == crate::preview::PreviewVerdict::Cancelled {
        return Err(AppError::new(ErrorKind::Cancelled, "cancelled", "cancelled before anything was run"));
    }
    let differences = forecast_run.differences(saved, &now);
    if differences.is_empty() {
        return Ok(now.calls);
    }
    let lines: Vec<String> = differences.iter().map(|line| format!("\n  {line}")).collect();
    Err(AppError::new(
        ErrorKind::Denied,
        "not_as_previewed",
        format!("the plan would not do what was previewed; nothing was run{}", lines.concat()),
    )
    .hint("look at a new preview, then run that")
    .details(json!({ "differences": differences })))
}

/// Plans of clients on one vault, under its current settings.
#[derive(Clone)]
pub struct PlanService {
    pub live: Arc<ReloadableVault>,
    /// Approver for clients that bring none.
    pub approver: Arc<dyn Approver>,
    /// Observer of every run, besides the client.
    pub observer: Arc<dyn Observer>,
    /// The tools that clients may call. A plan with another tool is refused.
    pub choice: ToolChoice,
    /// Largest text of an answer in tokens.
    pub budget: usize,
    /// Plans that clients may run by their id.
    previews: Arc<PlanPreviews>,
}

impl PlanService {
    /// Creates the service. `budget` is the largest text of an answer in tokens.
    pub fn new(
        live: Arc<ReloadableVault>,
        approver: Arc<dyn Approver>,
        observer: Arc<dyn Observer>,
        choice: ToolChoice,
        budget: usize,
    ) -> PlanService {
        PlanService { live, approver, observer, choice, budget, previews: Arc::default() }
    }
}

impl PlanRunner for PlanService {
    fn check(&self, plan: String, session: Option<SessionId>) -> BoxFuture<'static, PlanToolResult> {
        let service = self.clone();
        Box::pin(async move {
            let checked = service.live.current().and_then(|context| check(&context, plan, &service, session));
            service.bounded(checked)
        })
    }

    fn preview(
        &self,
        plan: PlanSource,
        session: Option<SessionId>,
        cancel: CancelToken,
    ) -> BoxFuture<'static, PlanToolResult> {
        let service = self.clone();
        Box::pin(async move {
            let previewed = match service.live.current() {
                Ok(context) => preview(&context, plan, &service, session, cancel).await,
                Err(error) => Err(error),
            };
            service.bounded(previewed)
        })
    }

    fn run(&self, plan: PlanSource, with: PlanRunOptions) -> BoxFuture<'static, PlanToolResult> {
        let service = self.clone();
        Box::pin(async move {
            let run = match service.live.current() {
                Ok(context) => run(&context, plan, &service, with).await,
                Err(error) => Err(error),
            };
            service.bounded(run)
        })
    }

    fn undo(&self, request: UndoRequest, with: PlanRunOptions) -> BoxFuture<'static, PlanToolResult> {
        let service = self.clone();
        Box::pin(async move {
            let undone = match service.live.current() {
                Ok(context) => undo(&context, request, &service, with).await,
                Err(error) => Err(error),
            };
            service.bounded(undone)
        })
    }

    fn end_session(&self, session: &SessionId) {
        self.previews.forget_session(session);
    }
}

impl PlanService {
    fn bounded(&self, answer: Result<PlanToolResult, AppError>) -> PlanToolResult {
        let answer = answer.unwrap_or_else(|error| {
            let hint = error.hint.as_deref().map(|hint| format!("\n{hint}")).unwrap_or_default();
            PlanToolResult {
                text: format!("{}{hint}", error.message),
                data: json!({ "error": { "code": error.code, "message": error.message } }),
                is_denied: error.kind == ErrorKind::Denied,
                summary: error.message,
                ..PlanToolResult::default()
            }
        });
        PlanToolResult { text: short(answer.text, self.budget), ..answer }
    }

    /// Returns the plan, with its forecast if it was previewed before.
    fn source(&self, plan: PlanSource, session: Option<&SessionId>) -> Result<PreviewedPlan, AppError> {
        match plan {
            PlanSource::Text(text) => Ok(PreviewedPlan { text, preview: None }),
            PlanSource::Previewed(id) => self.previews.find(session, &id),
        }
    }

    /// Keeps a plan for its session. Returns its id, if it is kept.
    fn keep(&self, session: Option<&SessionId>, plan: PreviewedPlan) -> Option<String> {
        session.and_then(|session| self.previews.keep(session, plan))
    }
}

/// Returns the arguments that name a kept plan.
fn by_id(id: &str) -> String {
    json!({ "previewId": id }).to_string()
}

fn check(
    context: &VaultContext,
    text: String,
    service: &PlanService,
    session: Option<SessionId>,
) -> Result<PlanToolResult, AppError> {
    let tools = Toolset::open(context, ProcessLifetime::Run)?;
    Ok(match judge(context, &tools, &text, &service.choice) {
        Err(wrong) => *wrong,
        Ok(plan) => {
            let order = findings::execution_order(&plan).join(", ");
            let summary = format!(
                "The plan can run: {}, {}",
                count(plan.steps.len() as u64, "step"),
                plan.plan.risk_level
            );
            let id = service.keep(session.as_ref(), PreviewedPlan { text, preview: None });
            let with = id.as_deref().map(|id| format!(" with {}", by_id(id))).unwrap_or_default();
            let mut data = findings::findings_json(&[], Some(&plan));
            add_preview_id(&mut data, id);
            PlanToolResult {
                ok: true,
                text: format!("{summary}\nOrder: {order}\nNext: plan_preview or plan_run{with}"),
                summary,
                data,
                ..PlanToolResult::default()
            }
        }
    })
}

fn add_preview_id(data: &mut Value, id: Option<String>) {
    if let (Some(fields), Some(id)) = (data.as_object_mut(), id) {
        fields.insert("previewId".to_owned(), Value::String(id));
    }
}

/// Returns a plan without errors, or the answer that names them.
fn judge(
    context: &VaultContext,
    tools: &Toolset,
    text: &str,
    choice: &ToolChoice,
) -> Result<CheckedPlan, Box<PlanToolResult>> {
    let PlanCheck { findings: found, plan } = check_plan(text, &tools.surface, &context.settings);
    let refused = plan.as_ref().and_then(|plan| plan.steps.iter().find(|step| !choice.allows(&step.decl)));
    if let Some(step) = refused {
        let message = format!("step `{}` uses {}, which this server does not offer", step.id, step.decl.name);
        return Err(Box::new(PlanToolResult {
            ok: false,
            text: format!(
                "{message}; nothing was run\nUse the tools of the list, or start the server with other --tools"
            ),
            data: json!({ "error": { "code": "tool_not_offered", "message": message } }),
            summary: message,
            is_denied: true,
            ..PlanToolResult::default()
        }));
    }
    plan.ok_or_else(|| {
        let summary = format!(
            "The plan has {}; nothing was run",
            count(findings::count_errors(&found) as u64, "error")
        );
        let mut text = summary.clone();
        for finding in &found {
            let _infallible = write!(text, "\n{}", findings::render_finding(finding, TextStyle::plain()));
        }
        Box::new(PlanToolResult {
            ok: false,
            summary,
            text,
            data: findings::findings_json(&found, None),
            ..PlanToolResult::default()
        })
    })
}

async fn preview(
    context: &VaultContext,
    plan: PlanSource,
    service: &PlanService,
    session: Option<SessionId>,
    cancel: CancelToken,
) -> Result<PlanToolResult, AppError> {
    let PreviewedPlan { text: source, .. } = service.source(plan, session.as_ref())?;
    let hosts = service.live.hosts();
    let tools = Arc::new(Toolset::open_with_hosts(context, ProcessLifetime::Run, hosts)?);
    let plan = match judge(context, &tools, &source, &service.choice) {
        Ok(plan) => plan,
        Err(wrong) => return Ok(*wrong),
    };
    let forecast_run = ForecastRun::new(&ForecastRules::of(&context.settings), tools, &plan);
    let preview = forecast_run.perform(DiffLimits::screen(), RunCancel::from_token(cancel)).await?;
    let saved = SavedPreview::of(&preview);
    let text = preview.plain();
    let (summary, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let id = service.keep(session.as_ref(), PreviewedPlan { text: source, preview: Some(saved) });
    // Before the details, which may be cut.
    let next = id.as_deref().map(|id| format!("\nTo run exactly this: plan_run with {}", by_id(id)));
    let text = format!("{summary}{}\n{rest}", next.unwrap_or_default());
    let mut data = serde_json::to_value(&preview).unwrap_or_default();
    add_preview_id(&mut data, id);
    Ok(PlanToolResult { ok: true, summary: summary.to_owned(), text, data, ..PlanToolResult::default() })
}

async fn run(
    context: &VaultContext,
    plan: PlanSource,
    service: &PlanService,
    with: PlanRunOptions,
) -> Result<PlanToolResult, AppError> {
    let PreviewedPlan { text, preview } = service.source(plan, with.session.as_ref())?;
    let hosts = service.live.hosts();
    let tools = Arc::new(Toolset::open_with_hosts(context, ProcessLifetime::Run, hosts)?);
    let plan = match judge(context, &tools, &text, &service.choice) {
        Ok(plan) => plan,
        Err(wrong) => return Ok(*wrong),
    };
    // With an approval in advance no question is shown, so nothing is forecast.
    let forecaster = with.approver.is_some().then(|| {
        let forecaster = OverlayForecaster::new(&context.settings, &tools);
        Arc::new(forecaster.refusing_failures().compared_with(preview.clone()))
    });
    let receipts = Arc::new(ReceiptCollector::of_run());
    let follower = Arc::new(ProgressReporter {
        receipts: receipts.clone(),
        besides: service.observer.clone(),
        sink: with.progress,
        steps: plan.steps.len() as u64,
        finished: AtomicU64::new(0),
    });
    let approver = with.approver.unwrap_or_else(|| service.approver.clone());
    let engine = toolset::build_engine(context, &tools, approver, follower, forecaster.clone())?;
    // Without a question exactly the preview is run, or nothing.
    let approved = match preview.filter(|_| forecaster.is_none() || !engine.needs_confirmation(&plan)) {
        Some(saved) => {
            let forecast_run = ForecastRun::new(&ForecastRules::of(&context.settings), tools, &plan);
            let cancel = RunCancel::from_token(with.cancel.clone());
            Some(confirm_saved_preview(&forecast_run, &saved, cancel).await?)
        }
        None => None,
    };
    let work = PlanWork {
        forecaster: forecaster.clone(),
        approved,
        planner: Some(with.client),
        session: with.session,
        ..PlanWork::new(plan)
    };
    let report = run_plan(&engine, work, context, RunCancel::from_token(with.cancel)).await?;
    let failures = match (report.status, forecaster) {
        (RunStatus::Declined, Some(forecaster)) => forecaster.known_failures(),
        (RunStatus::Declined | RunStatus::Ok | RunStatus::Failed | RunStatus::Cancelled, _) => Vec::new(),
    };
    Ok(run_answer(&report, &receipts, &failures))
}

/// Undoes a session of a client or a run of it. Files that were edited since are never overwritten: the user can decide about
/// them at the command line.
async fn undo(
    context: &VaultContext,
    request: UndoRequest,
    service: &PlanService,
    with: PlanRunOptions,
) -> Result<PlanToolResult, AppError> {
    let nothing = || {
        AppError::bad_input("nothing_to_undo", "this session has changed nothing that is not undone")
            .hint("the user can undo other runs: `tollgate undo RUN`")
    };
    let session = with.session.as_ref().ok_or_else(nothing)?;
    let target = match &request {
        UndoRequest::Session => {
            let target =
                session_undo_target(context, session.as_str()).map_err(|error| match error.code {
                    "no_such_session" | "already_undone" => nothing(),
                    _ => error,
                })?;
            refuse_other_sessions(context, &target, session)?;
            target
        }
        UndoRequest::Run(run) => undo_target_in_session(context, run, session)?,
    };
    let name = target.name();
    let outlook =
        prepare_undo(context, target, ConflictPolicy::Refuse, DiffLimits::screen(), TextStyle::plain())?;
    let prepared = match outlook {
        UndoOutlook::Ready(prepared) => prepared.for_client(with.session, !is_undo_allowed(context)),
        UndoOutlook::Nothing(nothing) => {
            let summary = format!("Nothing to undo: {name} {}", nothing.why);
            let text = [vec![summary.clone()], nothing.remarks()].concat().join("\n");
            return Ok(PlanToolResult {
                ok: true,
                summary,
                text,
                data: nothing.to_json(),
                ..PlanToolResult::default()
            });
        }
    };
    let receipts = Arc::new(ReceiptCollector::of_run());
    let follower = Arc::new(ProgressReporter {
        receipts: receipts.clone(),
        besides: service.observer.clone(),
        sink: with.progress,
        steps: 1,
        finished: AtomicU64::new(0),
    });
    // With an approval in advance no question is shown.
    let forecasts = with.approver.is_some();
    let approver = with.approver.unwrap_or_else(|| service.approver.clone());
    let cancel = RunCancel::from_token(with.cancel);
    let report = prepared.run(context, approver, follower, forecasts, cancel).await?;
    let answer = run_answer(&report, &receipts, &[]);
    let done = if answer.ok { "Undone" } else { "Not undone" };
    let text = [vec![format!("{done}: {name}")], prepared.remarks(), vec![answer.text]].concat().join("\n");
    Ok(PlanToolResult { summary: format!("{done}: {name}"), text, ..answer })
}

/// Returns whether an allow rule without further conditions names the tool that restores files. Otherwise an undo by a client
/// is asked about, also in the mode `trusted`.
fn is_undo_allowed(context: &VaultContext) -> bool {
    let names_restore = |rule: &Rule| {
        let is_unconditional = rule.paths.is_empty() && rule.risk.is_none() && rule.command.is_none();
        is_unconditional && rule.tools.iter().any(|tool| tool == RESTORE)
    };
    context.settings.policy.rules.iter().any(|rule| rule.effect == RuleEffect::Allow && names_restore(rule))
}

/// Returns the answer about a run. `failures` are the reasons for which it was refused without a question.
fn run_answer(report: &RunReport, receipts: &ReceiptCollector, failures: &[KnownFailure]) -> PlanToolResult {
    let verdict = match report.status {
        RunStatus::Ok => "Done",
        RunStatus::Failed => "Finished with failures",
        RunStatus::Cancelled => "Cancelled",
        RunStatus::Declined => "Not run",
    };
    let reason =
        report.reason.as_deref().map(|reason| format!(": {}", escape_line(reason))).unwrap_or_default();
    let summary = format!("{verdict}{reason}");
    let mut text = summary.clone();
    for failure in failures {
        let KnownFailure { step, code, message, hint, .. } = failure;
        let hint = hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        let _infallible = write!(text, "\nfails {step}: {code}: {message}{hint}");
    }
    for step in report.steps.iter().filter(|_| failures.is_empty()) {
        let failed = if step.failed > 0 { format!(", {} failed", step.failed) } else { String::new() };
        let calls = count(step.calls, "call");
        let _infallible = write!(text, "\n{} {}: {calls}{failed}", step.status.name(), step.id);
        let shown = receipts.receipts(&step.id);
        for receipt in &shown {
            let _infallible = write!(text, "\n  {receipt}");
        }
        let more = step.calls.saturating_sub(shown.len() as u64);
        if more > 0 && !shown.is_empty() {
            let _infallible = write!(text, "\n  and {more} more");
        }
        if let Some(incomplete) = &step.incomplete {
            let _infallible = write!(text, "\n  warning: {}", escape_line(incomplete));
        }
        if let Some(error) = &step.error {
            let hint = error.recovery_hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
            let _infallible = write!(text, "\n  {}{}", escape_line(&error.message), escape_line(&hint));
        }
    }
    for (name, value) in &report.outputs {
        let _infallible =
            write!(text, "\nOutput {}: {}", truncate_line(name, OUTPUT_NAME_CHARS), output_text(value));
    }
    for line in effects::render_effects(&report.effects, false) {
        let _infallible = write!(text, "\n{line}");
    }
    let _infallible = write!(text, "\nRun: {}", report.run_id);
    if let Some(error) = &report.journal_error {
        let _infallible = write!(text, "\nThe record is incomplete: {}", escape_line(error));
    }
    let mut data = serde_json::to_value(report).unwrap_or_default();
    if !failures.is_empty() {
        data["knownFailures"] = serde_json::to_value(failures).unwrap_or_default();
    }
    PlanToolResult {
        ok: report.status == RunStatus::Ok && report.journal_error.is_none(),
        summary,
        text,
        data,
        run: Some(report.run_id.to_string()),
        is_denied: report.status == RunStatus::Declined && failures.is_empty(),
        has_changes: effects::count_effects(&report.effects) > 0
            || !report.effects.side_effects_observed.is_empty(),
    }
}

/// Returns an output of a plan as a summary shows it: text as it is, other values as JSON, each within its budget.
pub fn output_text(value: &Value) -> String {
    let whole = match value {
        // Further lines are indented, so that none can be taken for a line of the answer.
        Value::String(text) => escape_text(text).replace('\n', "\n  "),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            escape_line(&value.to_string())
        }
    };
    let end = prefix_within(&whole, OUTPUT_TOKENS);
    match whole.len() - end {
        0 => whole,
        rest => format!(
            "{}… {rest} more bytes; the structured result and the record of the run have them all",
            &whole[..end]
        ),
    }
}

/// Reports the progress of a plan to its client, and collects receipts for the answer.
struct ProgressReporter {
    receipts: Arc<ReceiptCollector>,
    besides: Arc<dyn Observer>,
    sink: ProgressSink,
    steps: u64,
    finished: AtomicU64,
}

impl Observer for ProgressReporter {
    fn event(&self, event: &ExecutionEvent) {
        let is_end = event.event_type == EventType::StepFinished;
        if is_end || event.event_type == EventType::StepProgress {
            let done = self.finished.fetch_add(u64::from(is_end), Ordering::Relaxed) + u64::from(is_end);
            let step = event.step_id.as_ref().map(|step| format!("{step}: ")).unwrap_or_default();
            let message = format!("{step}{}", escape_line(&event.message));
            (self.sink)(CallProgress { done: done.min(self.steps), total: Some(self.steps), message });
        }
    }

    fn result(&self, result: &ToolResult) {
        self.besides.result(result);
        self.receipts.result(result);
    }
}

/// Cuts a text to the budget. Counts omitted lines and names where to find them.
fn short(text: String, budget: usize) -> String {
    if prefix_within(&text, budget) == text.len() {
        return text;
    }
    let cut = prefix_within(&text, budget - NOTE_TOKENS);
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
    use receipts::preview::tokenizer::estimate;

    use serde_json::json;

    use super::{OUTPUT_TOKENS, output_text, short};

    const PLAN_BUDGET: usize = 4_000;

    #[test]
    fn an_output_is_shown_on_its_own_lines_within_its_budget() {
        assert_eq!(output_text(&json!("two\nlines\u{202e}")), "two\n  lines\\u{202e}");
        assert_eq!(output_text(&json!({ "count": 2, "failed": 0 })), r#"{"count":2,"failed":0}"#);
        let long = output_text(&json!(vec!["a note"; 5_000]));
        assert!(long.contains(" more bytes; the structured result"), "{}", &long[long.len() - 90..]);
        assert!(estimate(&long) < OUTPUT_TOKENS + 40);
    }

    #[test]
    fn a_text_in_any_language_is_cut_to_what_a_model_may_be_given() {
        assert_eq!(short("one\ntwo".to_owned(), PLAN_BUDGET), "one\ntwo");
        for line in ["a line of words\n", "計画は三つのノートを作ります\n", "\"\\\"\\\"\\\n"] {
            let text = short(line.repeat(4_000), PLAN_BUDGET);
            assert!(estimate(&text) <= PLAN_BUDGET, "{}", estimate(&text));
            assert!(
                text.contains(" more lines") || text.contains(" lines more"),
                "{}",
                &text[text.len() - 90..]
            );
        }
    }
}
