//! Whether a file was written, from what was there before and what is there now. Pure.

use envelope::Observed;
use toolkit::Reconciled;

use super::super::before::was_no_file;
use super::{CollisionStrategy, Output};
use crate::sandbox::Seen;

/// What became of a call that left no result.
pub(super) fn judge(
    strategy: CollisionStrategy,
    before: &Observed,
    now: Seen,
    intended: String,
) -> Reconciled<Output> {
    let replaces = match strategy {
        CollisionStrategy::Overwrite => true,
        CollisionStrategy::Error | CollisionStrategy::CreateUnique => false,
    };
    match (&before.etag, now) {
        // What was there was in the way: such a call fails, now as then.
        (Some(_), _) if !replaces || was_no_file(before) => Reconciled::DidNot,
        (None, Seen::Nothing) => Reconciled::DidNot,
        (_, Seen::File { etag, mtime_ms }) if etag == intended => Reconciled::Happened(Output {
            path: before.path.clone(),
            created: before.etag.is_none(),
            etag,
            mtime_ms: Some(mtime_ms),
            dry_run: false,
        }),
        (Some(old), Seen::File { etag, .. }) if etag == *old => Reconciled::DidNot,
        (Some(_), Seen::Nothing) => Reconciled::Unknown { why: format!("`{}` is gone", before.path) },
        (_, Seen::File { .. } | Seen::Folder | Seen::Other) => Reconciled::Unknown {
            why: format!("`{}` holds neither what was there before nor what was to be written", before.path),
        },
    }
}

#[cfg(test)]
mod tests {
    use envelope::Observed;
    use toolkit::Reconciled;

    use super::super::CollisionStrategy;
    use super::judge;
    use crate::sandbox::Seen;

    #[test]
    fn a_crash_between_effect_and_record_is_told_from_one_before_the_effect() {
        let file = |etag: &str| Seen::File { etag: etag.to_owned(), mtime_ms: 7 };
        let check = |strategy, before: Option<&str>, now: Seen| {
            let before = Observed { path: "a.md".to_owned(), etag: before.map(str::to_owned) };
            match judge(strategy, &before, now, "new".to_owned()) {
                Reconciled::Happened(output) => format!("happened, created={}", output.created),
                Reconciled::DidNot => "did not".to_owned(),
                Reconciled::Unknown { why } => format!("unknown: {why}"),
            }
        };
        use CollisionStrategy::{CreateUnique, Error, Overwrite};
        let neither = "unknown: `a.md` holds neither what was there before nor what was to be written";
        for (strategy, before, now, expected) in [
            (Error, None, Seen::Nothing, "did not"),
            (Error, None, file("new"), "happened, created=true"),
            (Error, None, file("other"), neither),
            (Error, None, Seen::Folder, neither),
            (Error, Some("new"), file("new"), "did not"),
            (CreateUnique, None, file("new"), "happened, created=true"),
            (CreateUnique, None, Seen::Nothing, "did not"),
            (Overwrite, None, Seen::Nothing, "did not"),
            (Overwrite, Some("old"), file("old"), "did not"),
            (Overwrite, Some("old"), file("new"), "happened, created=false"),
            (Overwrite, Some("old"), file("other"), neither),
            (Overwrite, Some("old"), Seen::Nothing, "unknown: `a.md` is gone"),
            (Overwrite, Some("folder"), file("new"), "did not"),
        ] {
            let shown = format!("{strategy:?} {before:?} {now:?}");
            assert_eq!(check(strategy, before, now), expected, "{shown}");
        }
    }
}
