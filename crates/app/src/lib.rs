//! Tollgate as a library: everything that a front end needs, without a terminal.
//!
//! The binary calls these functions for every front end; the protocol crates reach engines through `call-session`. This
//! crate prints nothing, asks nothing at a terminal, parses no arguments and knows no exit codes. Errors are [`AppError`]s; rendered text takes
//! its colours from the caller as a [`TextStyle`].
//!
//! # Public interface
//!
//! | task | entry points |
//! |---|---|
//! | find a vault, its settings and its runs | [`VaultContext::find`], [`VaultContext::runs`] |
//! | settings | [`Settings::load`]; [`live_settings::ReloadableVault`] while a server runs |
//! | trust in settings | [`trust::trust_state`], [`trust::require`], [`trust::record_trust`], [`trust::revoke_trust`] |
//! | tools, and the engine in front of them | [`Toolset::open`], [`toolset::build_engine`]; [`servers`] for external tools |
//! | a live editor as the host of a vault | [`live_settings::new_host_registry`], shared by the front ends of a server, then `host::HostRegistry::attach` |
//! | check a plan | [`plan_service::check_plan`]; [`findings`] renders the result |
//! | forecast | [`preview::ForecastRun`]; [`preview::OverlayForecaster`] inside an engine; [`diff`] for two texts |
//! | run a plan | [`plan_service::run_plan`]; [`plan_service::PlanService`] for clients |
//! | single calls and call sessions | [`single_call::one_step`], [`call_sessions::CallSessions`] |
//! | approvals of clients' calls | [`approvals::ApprovalBroker`] asks, [`approval_queue::QuestionFolder`] answers |
//! | runs and reports | [`run_list::list_runs`], [`report::read_run_details`], [`report::Transcript`], [`effects`] |
//! | undo and redo | [`undo::undo_target`], [`undo::redo_target`], [`undo::prepare_undo`] |
//! | remove old runs | [`prune::prepare_prune`] |
//! | resume an interrupted run | [`resume::resume_tools`], then `engine::Engine::resume` |
//!
//! # Example
//!
//! A plan from its text to its undo. The approver and the observer belong to the front end; `tests/it/plan_to_undo.rs`
//! has the same with assertions.
//!
//! ```ignore
//! let context = VaultContext::find(Some(vault))?;
//! trust::require(&context)?;
//! let tools = Arc::new(Toolset::open(&context, ProcessLifetime::Run)?);
//!
//! let checked = plan_service::check_plan(text, &tools.surface, &context.settings);
//! let Some(plan) = checked.plan else { return Err(report_findings(&checked.findings)) };
//!
//! let forecast = ForecastRun::new(&ForecastRules::of(&context.settings), tools.clone(), &plan);
//! let preview = forecast.perform(DiffLimits::screen(), RunCancel::new()).await?;
//! show(preview.render(TextStyle::coloured()));
//!
//! let engine = toolset::build_engine(&context, &tools, approver, observer, None)?;
//! let report = plan_service::run_plan(&engine, PlanWork::new(plan), &context, RunCancel::new()).await?;
//!
//! let target = undo::undo_target(&context, report.run_id.as_str())?;
//! let (limits, style) = (DiffLimits::screen(), TextStyle::plain());
//! if let UndoOutlook::Ready(undo) = undo::prepare_undo(&context, target, ConflictPolicy::Refuse, limits, style)? {
//!     undo.run(&context, approver, observer, true, RunCancel::new()).await?;
//! }
//! ```

pub mod approval_queue;
pub mod approvals;
mod bounded_file;
pub mod call_sessions;
mod changed_notes;
pub mod diff;
pub mod display_text;
pub mod effects;
pub mod error;
mod file_watch;
pub mod findings;
pub mod live_settings;
mod null_context;
mod past_runs;
mod plan_previews;
pub mod plan_service;
pub mod preview;
pub mod prune;
mod receipt_collector;
pub mod report;
pub mod leftovers;
pub mod resume;
pub mod retry;
pub mod run_list;
pub mod servers;
pub mod settings;
pub mod shell_quoting;
pub mod single_call;
mod state_gitignore;
mod text_style;
pub mod toolset;
pub mod trust;
pub mod undo;
pub mod vault_context;
mod vault_id;

pub use error::{AppError, ErrorKind};
pub use receipt_collector::ReceiptCollector;
pub use settings::Settings;
pub use text_style::TextStyle;
pub use toolset::Toolset;
pub use vault_context::VaultContext;
