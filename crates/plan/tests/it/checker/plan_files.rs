//! Plans as data: each `NAME.json` with its exact findings in `NAME.findings`.

use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use plan::{CheckReport, PlanFinding, Severity};

use super::check;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

pub(crate) fn plans(name: &str) -> Vec<PathBuf> {
    let mut plans: Vec<PathBuf> = fs::read_dir(folder(name))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    plans.sort();
    plans
}

/// Checks every plan of a folder against its `.findings`, and passes each report to `also`.
fn each(name: &str, mut also: impl FnMut(&Path, &CheckReport)) -> usize {
    let plans = plans(name);
    for path in &plans {
        let report = check(&fs::read_to_string(path).unwrap());
        expect_file![path.with_extension("findings")].assert_eq(&print(&report.findings));
        for finding in &report.findings {
            assert!(finding.hint.is_some(), "{}: no hint in `{finding}`", path.display());
        }
        also(path, &report);
    }
    plans.len()
}

fn print(findings: &[PlanFinding]) -> String {
    let line = |finding: &PlanFinding| {
        let code = serde_json::to_value(finding.code).unwrap();
        format!("[{}] {finding}\n", code.as_str().unwrap())
    };
    findings.iter().map(line).collect()
}

// Conformance: envelope 3.9
// Conformance: envelope 6.4
//     A reference that leads nowhere is an error before anything is dispatched.
//     In: plan/check/mod.rs
#[test]
fn every_wrong_plan_is_refused_with_its_exact_findings() {
    let count = each("wrong_plans", |path, report| {
        let errors = report.findings.iter().any(|finding| finding.severity == Severity::Error);
        assert!(errors, "{}: no error", path.display());
        assert!(report.plan.is_none(), "{}: a wrong plan could be run", path.display());
    });
    assert!(count >= 60, "only {count} wrong plans");
}

#[test]
fn every_odd_plan_runs_and_draws_its_exact_warnings() {
    let count = each("odd_plans", |path, report| {
        assert!(report.plan.is_some(), "{}: an odd plan was refused", path.display());
        assert!(!report.findings.is_empty(), "{}: nothing was found odd", path.display());
    });
    assert!(count >= 10, "only {count} odd plans");
}

#[test]
fn no_good_plan_has_a_finding() {
    let plans = plans("good_plans");
    assert!(plans.len() >= 8, "only {} good plans", plans.len());
    for path in plans {
        let report = check(&fs::read_to_string(&path).unwrap());
        assert_eq!(print(&report.findings), "", "{}", path.display());
        assert!(report.plan.is_some(), "{}", path.display());
    }
}

#[test]
fn no_golden_file_has_lost_its_plan() {
    for name in ["wrong_plans", "odd_plans"] {
        for entry in fs::read_dir(folder(name)).unwrap() {
            let path = entry.unwrap().path();
            assert!(path.with_extension("json").exists(), "{} belongs to no plan", path.display());
        }
    }
}

/// Returns a good plan to start from.
pub(crate) fn good(name: &str) -> serde_json::Value {
    let text = fs::read_to_string(folder("good_plans").join(name).with_extension("json")).unwrap();
    serde_json::from_str(&text).unwrap()
}
