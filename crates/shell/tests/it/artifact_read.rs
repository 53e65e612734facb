//! `artifact.read` as a model uses it: JSON in, a canonical result and a receipt out, through the registry.

#![allow(clippy::disallowed_methods, reason = "a test writes the files that it reads")]

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use envelope::{Artifact, CallId, Failure, Fault, Hash};
use expect_test::{Expect, expect, expect_file};
use serde_json::{Value, json};
use shell::{PastRuns, register_artifact_read};
use toolkit::{ArtifactSink, CancelCause, CancelToken, OpenArtifact, Projection, Registry, ToolCx};

/// A folder as the artifacts of the run, and as those of the run `0193`.
struct Folder(PathBuf);

impl Folder {
    fn file(&self, path: &str) -> Result<File, Fault> {
        File::open(self.0.join(path)).map_err(|_| Fault::new(Failure::NotFound, "there is none"))
    }

    fn listed(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.join("artifacts")).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| format!("artifacts/{}", entry.unwrap().file_name().to_str().unwrap()))
            .collect();
        names.sort();
        names
    }
}

impl ArtifactSink for Folder {
    fn create(&self, _role: &str, _extension: &str) -> Result<Option<OpenArtifact>, Fault> {
        panic!("what was read is never kept again")
    }

    fn seal(&self, _artifact: OpenArtifact, _bytes: u64, _hash: Hash) -> Result<Artifact, Fault> {
        panic!("what was read is never kept again")
    }

    fn discard(&self, _artifact: &Artifact) {}

    fn open(&self, path: &str) -> Result<File, Fault> {
        self.file(path)
    }

    fn names(&self) -> Vec<String> {
        self.listed()
    }
}

impl PastRuns for Folder {
    fn find(&self, run: &str) -> Result<String, Fault> {
        match run {
            "last" | "01" => Ok("0193".to_owned()),
            other => Err(Fault::new(Failure::NotFound, format!("no run is named `{other}`"))),
        }
    }

    fn open(&self, _id: &str, path: &str) -> Result<File, Fault> {
        self.file(path)
    }

    fn names(&self, _id: &str) -> Vec<String> {
        self.listed()
    }
}

struct Bench {
    folder: tempfile::TempDir,
    registry: Registry,
    cancel: CancelToken,
}

impl Bench {
    fn new(artifacts: &[(&str, &str)]) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("artifacts")).unwrap();
        for (name, content) in artifacts {
            std::fs::write(folder.path().join("artifacts").join(name), content).unwrap();
        }
        let mut registry = Registry::new();
        register_artifact_read(&mut registry, Some(Arc::new(Folder(folder.path().to_owned())))).unwrap();
        Bench { folder, registry, cancel: CancelToken::new() }
    }

    /// The only place that calls the tool, as the gate does.
    async fn call(&self, args: Value) -> Result<(Value, String), Fault> {
        let entry = self.registry.get("artifact.read").unwrap();
        let problems = entry.input.validate(&args);
        assert!(problems.is_empty(), "{problems:?}");
        let sink: Arc<dyn ArtifactSink> = Arc::new(Folder(self.folder.path().to_owned()));
        let id = CallId::parse("call").unwrap();
        let cx = ToolCx::with_storage(id, self.cancel.clone(), None, None, Some(sink.clone()));
        let mut args = entry.tool.decode(&args)?;
        entry.tool.validate(&cx, &mut args).await?;
        let budget = usize::try_from(entry.tool.budget(&args).unwrap_or(2_000)).unwrap();
        let mapped = entry.tool.run(&cx, args).await?.map(Projection::new(budget, Some(&*sink)))?;
        assert!(entry.output.validate(&mapped.data).is_empty());
        assert!(mapped.artifacts.is_empty());
        Ok((mapped.canonical.result.unwrap(), mapped.receipt))
    }

    async fn check(&self, args: Value, expected: Expect) {
        expected.assert_eq(&match self.call(args).await {
            Ok((_, receipt)) => format!("{receipt}\n"),
            Err(fault) => format!("{}: {} | {}\n", fault.failure, fault.message, fault.recovery_hint()),
        });
    }
}

fn log() -> String {
    (1..=1_000)
        .map(|n| format!("{n}: {}\n", if n % 100 == 0 { "error: it broke" } else { "all is well" }))
        .collect()
}

#[test]
fn the_schemas_are_what_models_were_told() {
    let bench = Bench::new(&[]);
    let decl = &bench.registry.get("artifact.read").unwrap().decl;
    let schemas = json!({"input": decl.input_schema, "output": decl.output_schema});
    expect_file!["artifact_read_schema.json"].assert_eq(&format!("{schemas:#}\n"));
}

#[tokio::test]
async fn every_view_says_what_it_shows_and_how_to_go_on() {
    let bench = Bench::new(&[("build.log", &log())]);
    let path = "artifacts/build.log";
    bench
        .check(
            json!({"path": path, "max_output_tokens": 160}),
            expect![[r#"
        artifacts/build.log (1000 lines, 16933 bytes)
        1: all is well
        2: all is well
        3: all is well
        4: all is well
        5: all is well
        ... [990 lines left out]
        996: all is well
        997: all is well
        998: all is well
        999: all is well
        1000: error: it broke
        … go on with artifact_read {"path":"artifacts/build.log","lines":{"start":6,"count":990,"at_byte":75}}
    "#]],
        )
        .await;
    bench.check(json!({"path": path, "lines": {"start": 500, "count": 3}}), expect![[r#"
        Lines 500-502 of artifacts/build.log (1000 lines, 16933 bytes)
        500: error: it broke
        501: all is well
        502: all is well
        … go on with artifact_read {"path":"artifacts/build.log","lines":{"start":503,"count":3,"at_byte":8446}}
    "#]]).await;
    bench
        .check(
            json!({"path": path, "bytes": {"start": 3, "count": 11}}),
            expect![[r#"
        Bytes 3-13 of artifacts/build.log (16933 bytes)
        all is well
        … go on with artifact_read {"path":"artifacts/build.log","bytes":{"start":14,"count":11}}
    "#]],
        )
        .await;
    bench
        .check(
            json!({"path": path, "head": {"lines": 2}}),
            expect![[r#"
        The first 2 lines of artifacts/build.log (1000 lines, 16933 bytes)
        1: all is well
        2: all is well
        … go on with artifact_read {"path":"artifacts/build.log","lines":{"start":3,"count":2,"at_byte":30}}
    "#]],
        )
        .await;
    bench
        .check(
            json!({"path": path, "run": "last", "tail": {"lines": 2}}),
            expect![[r#"
        The last 2 lines of artifacts/build.log (1000 lines, 16933 bytes) of run 0193
        999: all is well
        1000: error: it broke
    "#]],
        )
        .await;
    let grep = json!({"pattern": "ERROR", "ignore_case": true, "context": 1, "max_matches": 2});
    bench.check(json!({"path": path, "grep": grep}), expect![[r#"
        2 matching lines so far in artifacts/build.log (16933 bytes)
        99- 99: all is well
        100: 100: error: it broke
        101- 101: all is well
        --
        199- 199: all is well
        200: 200: error: it broke
        201- 201: all is well
        … go on with artifact_read {"path":"artifacts/build.log","grep":{"pattern":"ERROR","ignore_case":true,"context":1,"max_matches":2,"from_line":300,"at_byte":4983}}
    "#]]).await;
    bench
        .check(
            json!({"path": path, "grep": {"pattern": "panic"}}),
            expect![[r#"
        No line matches in artifacts/build.log (1000 lines, 16933 bytes)
    "#]],
        )
        .await;
}

#[tokio::test]
async fn what_cannot_be_had_is_answered_with_a_way_out() {
    let bench = Bench::new(&[("build.log", "x\n")]);
    let path = "artifacts/build.log";
    bench.check(json!({"path": "artifacts/biuld.log"}), expect![[r#"
        not_found: there is no artifact `artifacts/biuld.log` in this run | did you mean `artifacts/build.log`?
    "#]]).await;
    bench
        .check(
            json!({"path": "artifacts/other", "run": "01"}),
            expect![[r#"
        not_found: there is no artifact `artifacts/other` in run 0193 | there is `artifacts/build.log`
    "#]],
        )
        .await;
    bench
        .check(
            json!({"path": path, "run": "zz"}),
            expect![[r#"
        not_found: no run is named `zz` | list what exists and use one of those names
    "#]],
        )
        .await;
    for outside in
        ["../secret", "artifacts/../run.json", "artifacts/", "artifacts/a/b", "/etc/passwd", "build.log"]
    {
        let fault = bench.call(json!({"path": outside})).await.unwrap_err();
        assert_eq!(fault.failure, Failure::NotFound, "{outside}");
        assert!(fault.message.contains("is not the path of an artifact"), "{outside}");
    }
    let both = json!({"path": path, "head": {"lines": 1}, "tail": {"lines": 1}});
    bench.check(both, expect![[r#"
        invalid_arguments: only one view can be requested at a time | give one of `lines`, `bytes`, `grep`, `head` and `tail`
    "#]]).await;
    bench.check(json!({"path": path, "grep": {"pattern": "(a"}}), expect![[r#"
        invalid_arguments: the pattern cannot be used: unclosed group | fix it, or search for the text itself with mode: "plain"
    "#]]).await;
    bench.cancel.cancel(CancelCause::Deadline);
    bench.check(json!({"path": path, "grep": {"pattern": "a"}}), expect![[r#"
        timeout: stopped: the time of the call is up | ask for less in one call, or allow more time with `timeoutMs`
    "#]]).await;
}
