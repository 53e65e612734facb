//! Plans that a client has checked or previewed, so that it need not send them again to run them.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use envelope::SessionId;
use tokio::time::Instant;

use crate::display_text::escape_line;
use crate::error::AppError;
use crate::preview::SavedPreview;

/// Plans that are kept for one session.
const MAX_PER_SESSION: usize = 16;
/// Bytes of all plans that are kept. The oldest is forgotten first.
const MAX_BYTES: usize = 16 << 20;
/// Time after which a plan is forgotten.
const MAX_AGE: Duration = Duration::from_secs(60 * 60);

/// The plans of all sessions. An id means a plan only in the session that got it.
#[derive(Default)]
pub(crate) struct PlanPreviews {
    kept: Mutex<KeptPlans>,
}

#[derive(Default)]
struct KeptPlans {
    /// Oldest first.
    plans: VecDeque<KeptPlan>,
    bytes: usize,
    /// How many plans were kept so far.
    count: u64,
}

struct KeptPlan {
    id: String,
    session: SessionId,
    kept_at: Instant,
    plan: PreviewedPlan,
}

/// A plan, with its forecast if it was previewed.
#[derive(Debug, Clone)]
pub(crate) struct PreviewedPlan {
    pub(crate) text: String,
    pub(crate) preview: Option<SavedPreview>,
}

impl PlanPreviews {
    /// Keeps a plan and returns its id; `None` if it is too large to be kept.
    pub(crate) fn keep(&self, session: &SessionId, plan: PreviewedPlan) -> Option<String> {
        if plan.text.len() > MAX_BYTES / 4 {
            return None;
        }
        let mut kept = self.kept();
        kept.forget_old();
        while kept.plans.iter().filter(|plan| plan.session == *session).count() >= MAX_PER_SESSION {
            kept.forget_first(|plan| plan.session == *session);
        }
        kept.count += 1;
        kept.bytes += plan.text.len();
        let id = format!("p{}", kept.count);
        let (session, kept_at) = (session.clone(), Instant::now());
        kept.plans.push_back(KeptPlan { id: id.clone(), session, kept_at, plan });
        while kept.bytes > MAX_BYTES {
            kept.forget_first(|_| true);
        }
        Some(id)
    }

    /// Returns the plan of an id. Fails if it was not kept for this session, or not kept any more.
    pub(crate) fn find(&self, session: Option<&SessionId>, id: &str) -> Result<PreviewedPlan, AppError> {
        let mut kept = self.kept();
        kept.forget_old();
        let found = kept.plans.iter().find(|plan| Some(&plan.session) == session && plan.id == id);
        found.map(|found| found.plan.clone()).ok_or_else(|| {
            AppError::bad_input(
                "unknown_preview",
                format!("no plan is kept under the previewId `{}`", escape_line(id)),
            )
            .hint("plans are kept for an hour and for one session; send the plan itself in `plan`")
        })
    }

    /// Forgets the plans of a session.
    pub(crate) fn forget_session(&self, session: &SessionId) {
        let mut kept = self.kept();
        kept.plans.retain(|plan| plan.session != *session);
        kept.bytes = kept.plans.iter().map(|plan| plan.plan.text.len()).sum();
    }

    fn kept(&self) -> MutexGuard<'_, KeptPlans> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptPlans {
    fn forget_old(&mut self) {
        while self.plans.front().is_some_and(|plan| plan.kept_at.elapsed() >= MAX_AGE) {
            self.forget_first(|_| true);
        }
    }

    fn forget_first(&mut self, is_due: impl Fn(&KeptPlan) -> bool) {
        let first = self.plans.iter().position(is_due).and_then(|place| self.plans.remove(place));
        if let Some(plan) = first {
            self.bytes -= plan.plan.text.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use envelope::SessionId;

    use super::{MAX_AGE, MAX_BYTES, MAX_PER_SESSION, PlanPreviews, PreviewedPlan};

    fn session(name: &str) -> SessionId {
        SessionId::parse(name).unwrap()
    }

    fn plan(text: &str) -> PreviewedPlan {
        PreviewedPlan { text: text.to_owned(), preview: None }
    }

    fn found(previews: &PlanPreviews, name: &str, id: &str) -> Result<String, &'static str> {
        previews.find(Some(&session(name)), id).map(|plan| plan.text).map_err(|error| error.code)
    }

    #[tokio::test(start_paused = true)]
    async fn a_plan_is_found_by_its_session_alone_until_it_is_too_old_or_its_session_ends() {
        let previews = PlanPreviews::default();
        let [first, second] = ["one", "two"].map(|text| previews.keep(&session("a"), plan(text)).unwrap());
        let other = previews.keep(&session("b"), plan("three")).unwrap();
        assert_eq!(found(&previews, "a", &first), Ok("one".to_owned()));
        assert_eq!(found(&previews, "b", &first), Err("unknown_preview"));
        assert_eq!(previews.find(None, &first).unwrap_err().code, "unknown_preview");
        previews.forget_session(&session("a"));
        assert_eq!(found(&previews, "a", &second), Err("unknown_preview"));
        tokio::time::advance(MAX_AGE - Duration::from_secs(1)).await;
        assert_eq!(found(&previews, "b", &other), Ok("three".to_owned()));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(found(&previews, "b", &other), Err("unknown_preview"));
        assert_eq!(previews.kept().bytes, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn plans_are_kept_within_limits_and_the_oldest_goes_first() {
        let previews = PlanPreviews::default();
        let first = previews.keep(&session("a"), plan("one")).unwrap();
        let other = previews.keep(&session("b"), plan("other")).unwrap();
        for _ in 0..MAX_PER_SESSION {
            previews.keep(&session("a"), plan("more")).unwrap();
        }
        assert_eq!(found(&previews, "a", &first), Err("unknown_preview"));
        assert_eq!(found(&previews, "b", &other), Ok("other".to_owned()));
        assert_eq!(previews.keep(&session("a"), plan(&"x".repeat(MAX_BYTES))), None);
        for _ in 0..5 {
            previews.keep(&session("c"), plan(&"x".repeat(MAX_BYTES / 4))).unwrap();
        }
        assert_eq!(found(&previews, "b", &other), Err("unknown_preview"));
        assert!(previews.kept().bytes <= MAX_BYTES);
    }
}
