//! The interface between a plan run and the driver that executes it.
//!
//! [`plan::RunMachine`] decides what a run does next; a *driver* carries it out. [`PlanExecution`] is everything
//! between the two that does not depend on how work is executed: the run's spec and header, the journal, the
//! confirmation, the dispatch of a call through the twelve phases, and the order in which the machine takes note of
//! results. A driver only decides where and when a [`DriverAction`] is carried out. The local driver (`local_driver.rs`)
//! runs each one as a tokio task; `crates/engine/tests/it/driver.rs` has another one, outside of this crate, that runs
//! one at a time.
//!
//! A driver is a loop:
//!
//! ```ignore
//! let mut run = PlanExecution::start(&engine, request).await?;
//! let mut work = VecDeque::new();
//! loop {
//!     work.extend(run.take_actions());
//!     if run.is_finished() {
//!         break;
//!     }
//!     let Some(action) = work.pop_front() else { break };
//!     let input = match action {
//!         DriverAction::Dispatch(call) => MachineInput::Done(call.run().await),
//!         DriverAction::Confirm(question) => question.ask().await,
//!         DriverAction::StartTimer { id, after_ms } => {
//!             clock.wait_ms(after_ms).await;
//!             MachineInput::TimerFired(id)
//!         }
//!     };
//!     run.accept(input);
//! }
//! let report = run.finish().await;
//! ```
//!
//! The contract of a driver:
//!
//! 1. Actions may be carried out side by side or one after another. Calls that run one after another must be
//!    dispatched in the order in which they were handed out: a call waits for the paths of every call before it. A second
//!    dispatch of a call joins the first one and so keeps its place; a call whose runtime was shut down loses its place and is queued
//!    last.
//! 2. Each action ends in exactly one input. A second result of a call is ignored.
//! 3. The record is the same whatever the driver does between two inputs. Results reach the machine in the order in
//!    which they were recorded, not in the order in which [`PlanExecution::accept`] gets them, so that a replay of the
//!    record gives the same run.
//! 4. The id of a call is derived from run, step, index and attempt. A driver that may lose the answer of a call keeps
//!    a clone of its [`CallDispatch`] and runs the clone: the call is made in one task, which does not end with the
//!    future of [`CallDispatch::run`], and every clone gets the result of that task. Only a call that was interrupted
//!    because the runtime of its task was shut down is settled as after a crash, from what this process knows of it;
//!    the files of a live run are never read.
//! 5. Timestamps, ids and the approver come from the [`EngineParts`](crate::EngineParts) of the engine, so a
//!    driver on another engine brings its own. Time limits of calls and hooks are timers of the tokio runtime.
//! 6. A driver waits for [`PlanExecution::cancel_signal`] beside the actions and then accepts
//!    [`MachineInput::CancelRequested`](plan::MachineInput::CancelRequested) once.
//! 7. A driver that stops before [`PlanExecution::is_finished`] leaves an interrupted run:
//!    [`InterruptedRun::open`] and [`PlanExecution::resume`] continue it, also under another driver. A call is
//!    interrupted when the last clone of its [`CallDispatch`] is dropped. A thread that its tool has started runs on,
//!    without a place among the calls of the engine; a driver that must exclude this sets
//!    [`CallDispatch::cancel_token`] and waits for the result first.

mod call_dispatch;
mod confirmation;
mod continuation;
mod dispatch_state;
mod local_driver;
mod plan_execution;
mod record_order;
mod resume;
mod run_header;
mod run_request;

pub use call_dispatch::CallDispatch;
pub use confirmation::PlanQuestion;
pub use continuation::continuation;
pub use plan_execution::{DriverAction, PlanExecution};
pub use resume::{InterruptedRun, ResumeError, ResumeRequest};
pub use run_request::{RunCancel, RunError, RunPlace, RunRequest};

pub(crate) use dispatch_state::{DispatchState, RecordedResult};
pub(crate) use record_order::RecordOrder;
