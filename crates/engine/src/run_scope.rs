//! One run as its calls see it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use envelope::{ConfirmationId, Fault, ToolResult};
use journal::{Journal, Seq};

use crate::driver::RecordOrder;
use crate::engine::journal_fault;
use crate::forecast::{ApprovedCalls, ForecastCall};
use crate::run_context::RunContext;

/// The journal of a run, the context that its calls share, and its approvals.
pub struct RunScope {
    pub(crate) journal: Journal,
    pub(crate) context: RunContext,
    /// Set for a plan run, whose machine takes note of results in the order of the record.
    order: Option<Arc<RecordOrder>>,
    /// All confirmations of this run. A call that claims another one is treated as unconfirmed.
    confirmations: Mutex<BTreeSet<ConfirmationId>>,
    /// The forecast that the approval of the plan covers.
    approved: OnceLock<Arc<ApprovedCalls>>,
}

impl RunScope {
    /// A scope for calls that belong to no plan.
    pub fn new(journal: Journal) -> Arc<RunScope> {
        Arc::new(RunScope::with_order(journal, None))
    }

    /// A scope for a plan run, and the order of its results.
    pub(crate) fn ordered(journal: Journal) -> (Arc<RunScope>, Arc<RecordOrder>) {
        let order = Arc::<RecordOrder>::default();
        (Arc::new(RunScope::with_order(journal, Some(order.clone()))), order)
    }

    fn with_order(journal: Journal, order: Option<Arc<RecordOrder>>) -> RunScope {
        RunScope {
            journal,
            context: RunContext::default(),
            order,
            confirmations: Mutex::default(),
            approved: OnceLock::new(),
        }
    }

    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Binds the calls of the run to a forecast. Only the first one counts.
    pub(crate) fn approve(&self, calls: Vec<ForecastCall>) {
        let _bound_before = self.approved.set(Arc::new(ApprovedCalls::new(calls)));
    }

    /// Returns the forecast that the approval of the plan covers, if it was given for one.
    pub(crate) fn approved(&self) -> Option<Arc<ApprovedCalls>> {
        self.approved.get().cloned()
    }

    pub(crate) fn add_confirmation(&self, given: &ConfirmationId) {
        self.confirmations.lock().unwrap_or_else(PoisonError::into_inner).insert(given.clone());
    }

    pub(crate) fn has_confirmation(&self, claimed: &ConfirmationId) -> bool {
        self.confirmations.lock().unwrap_or_else(PoisonError::into_inner).contains(claimed)
    }

    /// Appends the result of a call.
    pub(crate) fn record_result(&self, result: &ToolResult) -> Result<Seq, Fault> {
        let appended = match &self.order {
            Some(order) => order.append(&result.call_id, || self.journal.result(result)),
            None => self.journal.result(result),
        };
        appended.map_err(|error| journal_fault(&error))
    }
}
