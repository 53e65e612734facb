//! The trace of a call: one fact per phase.

use envelope::{Failure, Mutation, Phase, PhaseFact, PhaseOutcome};

use crate::Clock;

/// The current phase of a call, and the facts of the phases before it.
pub(crate) struct PhaseTrace<'a> {
    clock: &'a dyn Clock,
    facts: Vec<PhaseFact>,
    pub(crate) mutations: Vec<Mutation>,
    current: Option<(Phase, u64)>,
    detail: Option<String>,
}

impl<'a> PhaseTrace<'a> {
    pub(crate) fn new(clock: &'a dyn Clock) -> PhaseTrace<'a> {
        PhaseTrace {
            clock,
            facts: Vec::with_capacity(12),
            mutations: Vec::new(),
            current: None,
            detail: None,
        }
    }

    /// Ends the current phase with success and begins the next.
    pub(crate) fn enter(&mut self, phase: Phase) {
        let now = self.clock.micros();
        self.close(PhaseOutcome::Ok, now);
        self.current = Some((phase, now));
    }

    /// Adds a detail to the fact of the current phase.
    pub(crate) fn note(&mut self, detail: impl Into<String>) {
        let detail = detail.into();
        match &mut self.detail {
            Some(text) => {
                text.push_str("; ");
                text.push_str(&detail);
            }
            None => self.detail = Some(detail),
        }
    }

    /// Ends the current phase with a failure.
    pub(crate) fn failed(&mut self, failure: Failure) {
        let now = self.clock.micros();
        self.close(PhaseOutcome::Failed(failure), now);
    }

    pub(crate) fn finish(mut self) -> (Vec<PhaseFact>, Vec<Mutation>) {
        let now = self.clock.micros();
        self.close(PhaseOutcome::Ok, now);
        (self.facts, self.mutations)
    }

    fn close(&mut self, outcome: PhaseOutcome, now: u64) {
        if let Some((phase, began)) = self.current.take() {
            self.facts.push(PhaseFact {
                phase,
                outcome,
                micros: now.saturating_sub(began),
                detail: self.detail.take(),
            });
        }
    }
}
