//! Removes old runs, and the stored content that no remaining run names.

use std::str::FromStr;

use envelope::Timestamp;
use journal::{PruneLimits, PrunePlan, PruneReport, RunsFolder};
use serde_json::{Value, json};

use crate::display_text::{count, display_size, escape_line, truncate_line};
use crate::error::AppError;
use crate::report::format_time;
use crate::vault_context::VaultContext;

/// Age from which runs are removed if no limit is given.
pub const DEFAULT_AGE: RunAge = RunAge { hours: 30 * 24 };
/// Newest runs that are kept if no limit is given.
pub const DEFAULT_KEEP: usize = 100;
/// Runs that the question lists.
const LISTED_RUNS: usize = 20;

/// Age of a run: a number of hours, days or weeks, such as `12h`, `30d` or `4w`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunAge {
    hours: u32,
}

impl FromStr for RunAge {
    type Err = String;

    fn from_str(text: &str) -> Result<RunAge, String> {
        let bad = || {
            format!(
                "`{text}` is not an age; write a whole number of hours, days or weeks: `12h`, `30d`, `4w`"
            )
        };
        let unit = text.chars().last().ok_or_else(bad)?;
        let hours: u32 = match unit {
            'h' => 1,
            'd' => 24,
            'w' => 7 * 24,
            _ => return Err(bad()),
        };
        let digits =
            text.strip_suffix(unit).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let number: u32 = digits.and_then(|digits| digits.parse().ok()).ok_or_else(bad)?;
        let hours = number.checked_mul(hours).ok_or_else(bad)?;
        Ok(RunAge { hours })
    }
}

impl RunAge {
    /// Returns the time this long before `now`, or the earliest time there is.
    fn before(self, now: Timestamp) -> Timestamp {
        let millis = now.as_millisecond().saturating_sub(i64::from(self.hours) * 3_600_000);
        Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MIN)
    }
}

/// Limits of the runs that the user wants to keep.
#[derive(Debug, Clone, Copy, Default)]
pub struct PruneRequest {
    /// Removes only runs older than this.
    pub older_than: Option<RunAge>,
    /// Keeps the newest runs, this many.
    pub keep: Option<usize>,
}

impl PruneRequest {
    /// Returns the limits of the journal. A limit that is left out does not apply; without any the defaults do.
    fn limits(self, now: Timestamp) -> PruneLimits {
        let (older_than, keep) = match (self.older_than, self.keep) {
            (None, None) => (Some(DEFAULT_AGE), DEFAULT_KEEP),
            (older_than, keep) => (older_than, keep.unwrap_or(0)),
        };
        PruneLimits { created_before: older_than.map(|age| age.before(now)), keep }
    }
}

/// A prune that is ready to be shown and approved.
pub struct PreparedPrune {
    runs: RunsFolder,
    limits: PruneLimits,
    plan: PrunePlan,
}

/// Finds out what a prune would remove. Changes nothing.
pub fn prepare_prune(
    context: &VaultContext,
    request: PruneRequest,
    now: Timestamp,
) -> Result<PreparedPrune, AppError> {
    // A folder outside of the vault may be shared, and a run without a vault name there may be that of another vault.
    let runs = context.runs_for_clients()?.folder()?;
    let limits = request.limits(now);
    let plan = runs.plan_prune(&limits)?;
    Ok(PreparedPrune { runs, limits, plan })
}

impl PreparedPrune {
    /// Returns whether there is nothing to remove.
    pub fn is_empty(&self) -> bool {
        self.plan.is_empty()
    }

    /// Removes what was shown, as far as it is still not needed.
    pub fn run(&self) -> Result<PruneReport, AppError> {
        Ok(self.runs.prune(&self.plan, &self.limits)?)
    }

    /// Returns the text of the question: the runs, and totals.
    pub fn lines(&self) -> Vec<String> {
        let plan = &self.plan;
        let mut lines = Vec::new();
        for pruned in plan.runs.iter().take(LISTED_RUNS) {
            lines.push(format!(
                "{}  {}  {}  {}",
                pruned.run.run_id,
                format_time(pruned.run.created_at),
                display_size(pruned.bytes),
                truncate_line(pruned.run.goal.as_deref().unwrap_or("?"), 60)
            ));
        }
        if let (Some(newest), Some(oldest)) = (plan.runs.first(), plan.runs.last()) {
            if plan.runs.len() > LISTED_RUNS {
                lines.push(format!("and {} more", plan.runs.len() - LISTED_RUNS));
            }
            lines.push(format!(
                "{} ({}), from {} to {}; {} stay",
                count(plan.runs.len() as u64, "run"),
                display_size(plan.run_bytes()),
                format_time(oldest.run.created_at),
                format_time(newest.run.created_at),
                plan.kept
            ));
        } else {
            lines.push(format!("No run is to be removed; {} stay", plan.kept));
        }
        if !plan.begun.is_empty() {
            let begun: Vec<String> = plan.begun.iter().map(|run| escape_line(run.as_str())).collect();
            lines.push(format!("Left by a prune that was interrupted: {}", begun.join(", ")));
        }
        if plan.objects > 0 {
            let objects = count(plan.objects, "stored content");
            lines
                .push(format!("{objects} ({}) that no remaining run needs", display_size(plan.object_bytes)));
        }
        if let Some(run) = &plan.objects_in_use_by {
            lines
                .push(format!("Stored contents stay while run {run} is being written by an earlier version"));
        }
        if !plan.unreadable.is_empty() {
            let names: Vec<String> =
                plan.unreadable.iter().take(LISTED_RUNS).map(|name| escape_line(name)).collect();
            let more = plan.unreadable.len() - names.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            lines.push(format!(
                "Stored contents stay while {}{more} in {} cannot be read: a link or a name that is not UTF-8 may belong \
                 to a run that needs them; move it elsewhere to free the space",
                names.join(", "),
                escape_line(&self.runs.path().display().to_string())
            ));
        }
        lines
    }

    /// Returns the same for programs.
    pub fn to_json(&self) -> Value {
        let plan = &self.plan;
        let runs: Vec<Value> = plan
            .runs
            .iter()
            .map(|pruned| {
                json!({ "runId": pruned.run.run_id, "createdAt": pruned.run.created_at,
                        "goal": pruned.run.goal, "bytes": pruned.bytes })
            })
            .collect();
        json!({ "runs": runs, "runBytes": plan.run_bytes(), "interruptedRemoval": plan.begun, "keptRuns": plan.kept,
                "objects": plan.objects, "objectBytes": plan.object_bytes,
                "objectsInUseBy": plan.objects_in_use_by, "unreadableEntries": plan.unreadable })
    }
}

/// Returns the report for programs.
pub fn report_json(report: &PruneReport) -> Value {
    json!({ "runs": report.runs, "runBytes": report.run_bytes, "objects": report.objects,
            "objectBytes": report.object_bytes })
}

#[cfg(test)]
mod tests {
    use envelope::Timestamp;
    use expect_test::expect;

    use super::{PruneRequest, RunAge};

    #[test]
    fn an_age_is_a_number_of_hours_days_or_weeks() {
        let read =
            |text: &str| text.parse::<RunAge>().map_or_else(|why| why, |age| format!("{} h", age.hours));
        let told: Vec<String> =
            ["12h", "30d", "4w", "0d", "", "d", "30", "3m", "-1d", "1.5d", " 3d", "9999999999d", "é"]
                .map(|text| format!("{text:?}: {}", read(text)))
                .to_vec();
        expect![[r#"
            "12h": 12 h
            "30d": 720 h
            "4w": 672 h
            "0d": 0 h
            "": `` is not an age; write a whole number of hours, days or weeks: `12h`, `30d`, `4w`
            "d": `d` is not an age; write a whole number of hours, days or weeks: `12h`, `30d`, `4w`
            "30": `30` is not an age; write a whole number of hours, days or weeks: `12h`, `30d`, `4w`
            "3m": `3m` is not an age; write a whole number of hours, days or weeks: `12h`, `30d`, `4w`
            "-1d": `-1d` is not an age; write a whole number of hours, days or weeks: `12h`, `30d`, `4w`
            "1.5d": `1.5d` is not an age; write a whole number of hours, days or weeks: `12h`, `30d`, `4w`
            " 3d": ` 3d` is not an age; write a whole number of hours, days or weeks: `12h`, `30d`, `4w`
            "9999999999d": `9999999999d` is not an age; write a whole number of hours, days or weeks: `12h`, `30d`, `4w`
            "é": `é` is not an age; write a whole number of hours, days or weeks: `12h`, `30d`, `4w`"#]]
        .assert_eq(&told.join("\n"));
    }

    #[test]
    fn the_defaults_apply_only_without_any_limit() {
        let now = Timestamp::from_second(100 * 86_400).unwrap();
        let limits = |older_than: Option<&str>, keep| {
            let older_than = older_than.map(|age| age.parse().unwrap());
            let limits = PruneRequest { older_than, keep }.limits(now);
            (limits.created_before.map(|before| before.as_second() / 86_400), limits.keep)
        };
        assert_eq!(limits(None, None), (Some(70), 100));
        assert_eq!(limits(Some("1w"), None), (Some(93), 0));
        assert_eq!(limits(None, Some(5)), (None, 5));
        assert_eq!(limits(Some("100w"), Some(5)), (Some(-600), 5));
        assert_eq!(limits(Some("4294967295h"), None).0, Some(Timestamp::MIN.as_second() / 86_400));
    }
}
