//! Properties of compaction for any calls and any budget.

use envelope::{CanonicalError, CanonicalResult, CanonicalStatus, Failure, ReceiptFamily};
use proptest::collection::vec;
use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use proptest::sample::select;
use serde_json::{Map, Value, json};

use super::reduce::reduce;
use super::{CallEntry, CallRound, CompactedHistory, CompactionRules, DetailLevel, compact};

/// A call with owned parts.
#[derive(Debug, Clone)]
struct RecordedCall {
    call: String,
    id: String,
    family: ReceiptFamily,
    canonical: CanonicalResult,
    receipt: String,
}

/// Returns the texts that every shown text of a call must contain, except its receipt.
fn protected(call: &RecordedCall) -> Vec<String> {
    let mut parts = vec![call.canonical.tool_name.clone()];
    match &call.canonical.error {
        Some(error) => {
            parts.extend([error.kind.to_string(), error.message.clone()]);
            parts.push(if error.retryable { "retryable" } else { "not retryable" }.to_owned());
            parts.extend(error.recovery_hint.clone());
        }
        None => parts.extend(["success".to_owned(), call.canonical.summary_text.clone()]),
    }
    let result = call.canonical.result.as_ref();
    if let Some(id) = result.and_then(|result| result.pointer("/task_handle/task_id")) {
        parts.extend(id.as_str().map(str::to_owned));
    }
    let artifacts = result.and_then(|result| result.get("artifacts")).and_then(Value::as_array);
    parts.extend(artifacts.into_iter().flatten().filter_map(|kept| kept["path"].as_str()).map(str::to_owned));
    parts
}

fn lines() -> impl Strategy<Value = String> {
    vec("[a-z]{1,8}( [a-z]{1,8}){0,8}", 0..24).prop_map(|lines| lines.join("\n"))
}

/// Generates command results with previews, tasks, artifacts and counts.
fn results() -> impl Strategy<Value = Value> {
    (lines(), lines(), any::<bool>(), 0..3_usize, any::<u16>()).prop_map(|(out, err, task, kept, count)| {
        let mut result = json!({
            "disposition": "completed", "exit_status": 0, "stdout_preview": out, "stderr_preview": err,
            "truncated": false, "stdout_lines": count,
        });
        if task {
            result["task_handle"] = json!({ "task_id": format!("task_{count}"), "kind": "command_task" });
        }
        if kept > 0 {
            let paths: Vec<Value> =
                (0..kept).map(|n| json!({ "path": format!("artifacts/{n}-{count}.log") })).collect();
            result["artifacts"] = paths.into();
            result["stdout_artifact"] = 0.into();
        }
        result
    })
}

/// Generates results of external tools.
fn values() -> impl Strategy<Value = Value> {
    let names = select(vec![
        "id",
        "content",
        "items",
        "note_id",
        "artifacts",
        "left_out",
        "truncated",
        "size",
        "path",
    ]);
    let leaf =
        prop_oneof![Just(Value::Null), any::<u32>().prop_map(Value::from), lines().prop_map(Value::from)];
    leaf.prop_recursive(3, 40, 8, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..8).prop_map(Value::from),
            vec((names.clone(), inner), 0..8).prop_map(|fields| {
                let fields: Map<String, Value> =
                    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
                fields.into()
            }),
        ]
    })
}

fn errors() -> impl Strategy<Value = CanonicalError> {
    let kinds = select(vec![Failure::NotFound, Failure::ExecutionFailed, Failure::Timeout]);
    let hint = proptest::option::of("[a-z]{4,9}( [a-z]{4,9}){1,4}");
    (kinds, "[a-z]{4,9}( [a-z]{4,9}){1,6}", hint, any::<bool>(), lines()).prop_map(
        |(kind, message, recovery_hint, retryable, details)| CanonicalError {
            kind,
            message,
            details: Some(Map::from_iter([("output".to_owned(), details.into())])),
            recovery_hint,
            retryable,
        },
    )
}

fn canonicals() -> impl Strategy<Value = (ReceiptFamily, CanonicalResult)> {
    let outcome = prop_oneof![
        results().prop_map(|result| (ReceiptFamily::Command, Ok(result))),
        values().prop_map(|result| (ReceiptFamily::External, Ok(result))),
        errors().prop_map(|error| (ReceiptFamily::Read, Err(error))),
    ];
    (outcome, "[a-z]{4,9}( [a-z]{4,9}){1,6}").prop_map(|((family, outcome), summary)| {
        let (status, result, error) = match outcome {
            Ok(result) => (CanonicalStatus::Success, Some(result), None),
            Err(error) => (CanonicalStatus::Error, None, Some(error)),
        };
        let summary_text = error.as_ref().map_or(summary, |error: &CanonicalError| error.message.clone());
        (family, CanonicalResult { tool_name: "tool.name".to_owned(), status, summary_text, result, error })
    })
}

fn sessions() -> impl Strategy<Value = Vec<Vec<RecordedCall>>> {
    let call =
        (canonicals(), lines(), any::<u16>()).prop_map(|((family, canonical), receipt, n)| RecordedCall {
            call: format!("step{n} {{\"n\":{n}}}"),
            id: format!("step{n}"),
            family,
            canonical,
            receipt,
        });
    vec(vec(call, 0..4), 0..5)
}

fn compacted(session: &[Vec<RecordedCall>], budget: usize, keep: usize) -> CompactedHistory<'_> {
    let rounds: Vec<CallRound<'_>> = session
        .iter()
        .map(|round| CallRound {
            calls: round
                .iter()
                .map(|call| CallEntry {
                    call: &call.call,
                    id: &call.id,
                    family: call.family,
                    canonical: &call.canonical,
                    receipt: &call.receipt,
                })
                .collect(),
        })
        .collect();
    compact(&rounds, budget, &CompactionRules { keep_exact_rounds: keep })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn it_fits_unless_nothing_more_can_be_left_out(session in sessions(), budget in 0..1500_usize, keep in 0..3_usize) {
        let shown = compacted(&session, budget, keep);
        prop_assert_eq!(shown.over_budget, shown.tokens > budget);
        if shown.over_budget {
            prop_assert_eq!(&shown, &CompactedHistory { over_budget: true, ..compacted(&session, 0, keep) });
        }
    }

    // Conformance: result 7.1
    //     Always kept: `tool_name`, `status`, `summary_text`, the stable fields of an error, ids and handles,
    //     references to artifacts; previews are trimmed or dropped.
    //     In: receipts/compaction/mod.rs
    #[test]
    fn what_is_protected_is_there_at_every_level(session in sessions(), budget in 0..1500_usize) {
        let shown = compacted(&session, budget, 0);
        for (call, shown) in session.iter().flatten().zip(&shown.entries) {
            if shown.level == DetailLevel::Exact {
                continue;
            }
            for part in protected(call) {
                prop_assert!(shown.text.contains(&part), "{part:?} is not in {:?}: {}", shown.level, shown.text);
            }
            if shown.level == DetailLevel::Recap {
                prop_assert_eq!(shown.text.lines().count(), 1);
            }
        }
    }

    // Conformance: result 7.2
    //     Deterministic, towards a budget; the last rounds stay exact, older ones become one line; no receipt is read
    //     again.
    //     In: receipts/compaction/mod.rs
    #[test]
    fn calls_stay_in_order_and_the_last_rounds_as_they_were(session in sessions(), budget in 0..1500_usize, keep in 0..3_usize) {
        let shown = compacted(&session, budget, keep);
        let calls: Vec<&RecordedCall> = session.iter().flatten().collect();
        let ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        prop_assert_eq!(shown.entries.iter().map(|shown| shown.id).collect::<Vec<_>>(), ids);
        let last: usize = session.iter().rev().take(keep).map(Vec::len).sum();
        for (call, shown) in calls.iter().zip(&shown.entries).rev().take(last) {
            prop_assert_eq!((shown.level, &*shown.text), (DetailLevel::Exact, call.receipt.as_str()));
        }
    }

    #[test]
    fn a_larger_budget_never_shows_less(session in sessions(), small in 0..1500_usize, more in 0..1000_usize) {
        let (less, more) = (compacted(&session, small, 1), compacted(&session, small + more, 1));
        prop_assert!(less.tokens <= more.tokens);
        for (less, more) in less.entries.iter().zip(&more.entries) {
            prop_assert!(more.level <= less.level);
        }
    }

    // Conformance: result 7.2
    #[test]
    fn the_oldest_calls_become_recaps_first(session in sessions(), budget in 0..1500_usize) {
        // A level that saves nothing is skipped, so only calls that went through all levels are compared.
        let (at_least, now) = (compacted(&session, 0, 0), compacted(&session, budget, 0));
        let levels: Vec<DetailLevel> = at_least
            .entries
            .iter()
            .zip(&now.entries)
            .filter(|(least, _)| least.level == DetailLevel::Recap)
            .map(|(_, now)| now.level)
            .collect();
        if let Some(first_kept) = levels.iter().position(|level| *level != DetailLevel::Recap) {
            prop_assert!(levels[first_kept..].iter().all(|level| *level != DetailLevel::Recap), "{levels:?}");
        }
    }

    // Conformance: result 5.5
    #[test]
    fn what_is_reduced_already_stays_as_it_is((family, canonical) in canonicals()) {
        for level in DetailLevel::ALL {
            let once = reduce(level, family, &canonical);
            prop_assert_eq!(&reduce(level, family, &once), &once, "{:?}", level);
        }
    }

    #[test]
    fn what_was_compacted_and_comes_back_as_receipts_stays_as_it_is(session in sessions(), budget in 0..1500_usize) {
        let first = compacted(&session, budget, 0);
        let mut calls = first.entries.iter();
        let again: Vec<Vec<RecordedCall>> = session
            .iter()
            .map(|round| {
                let shown = round.iter().zip(calls.by_ref());
                shown
                    .map(|(call, shown)| RecordedCall {
                        receipt: shown.text.to_string(),
                        call: shown.call.unwrap_or_default().to_owned(),
                        canonical: reduce(shown.level, call.family, &call.canonical),
                        ..call.clone()
                    })
                    .collect()
            })
            .collect();
        // A recap has no line for the call, but still a line end.
        let second = compacted(&again, budget + again.len() * 4, 0);
        if !first.over_budget {
            for (first, second) in first.entries.iter().zip(&second.entries) {
                prop_assert_eq!(&first.text, &second.text);
            }
        }
    }
}
