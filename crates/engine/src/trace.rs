//! The facts a call leaves behind, one a phase.

use envelope::{Failure, Mutation, Phase, PhaseFact, PhaseOutcome};

use crate::Clock;

/// Knows which phase a call is in and what each phase before it found.
pub(crate) struct Trace<'a> {
    clock: &'a dyn Clock,
    facts: Vec<PhaseFact>,
    pub(crate) mutations: Vec<Mutation>,
    current: Option<(Phase, u64)>,
    detail: Option<String>,
}

impl<'a> Trace<'a> {
    pub(crate) fn new(clock: &'a dyn Clock) -> Trace<'a> {
        Trace { clock, facts: Vec::with_capacity(12), mutations: Vec::new(), current: None, detail: None }
    }

    /// Ends the phase before with ok and begins the next.
    pub(crate) fn enter(&mut self, phase: Phase) {
        let now = self.clock.micros();
        self.close(PhaseOutcome::Ok, now);
        self.current = Some((phase, now));
    }

    /// What the current phase found worth keeping.
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
