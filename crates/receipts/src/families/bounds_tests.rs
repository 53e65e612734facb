//! Two rules for every family, whatever a tool returns: a canonical result never exceeds its budget, and it says
//! `truncated` whenever a part of the output is missing.

use envelope::EntryKind;
use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_oneof, proptest};
use serde_json::{Value, json};

use super::artifact::{ArtifactSlice, ArtifactView, GrepLine, PieceEncoding, SlicePiece};
use super::command::{CommandReport, ProcessExit};
use super::editor::{CursorPosition, CursorRange, EditorOutput, EditorSelection};
use super::external::{ExternalOutput, OutputBlock};
use super::host_command::{HostCommandEntry, HostCommandOutput};
use super::links::renamed::RenameReport;
use super::links::{LinkLine, LinkLists};
use super::listing::{FileListing, ListingEntry};
use super::mutation::restored::RestoreReport;
use super::mutation::{FileMutation, MutationFacts, MutationOutcome, PropertyChanges};
use super::process_output::ProcessOutput;
use super::read::{ContentEncoding, ContentRange, FileRead};
use super::search::{MatchEntry, SearchOutput};
use super::streams::ProcessStream;
use super::task::{TaskReport, TaskRetrieval, TaskSnapshot, TaskStatus, TaskWait, TaskWaitEnd};
use super::test_support::{DiscardingSink, cases};
use super::text::ListItem;
use super::workspace::{ActiveContext, WorkspaceLeaf, WorkspaceOutput};
use super::{ProjectedResult, Projection, json_budget, json_cost};

/// Checks both rules. `complete` are the texts of the output.
#[track_caller]
fn check<'a>(
    name: &str,
    budget: usize,
    complete: impl IntoIterator<Item = &'a str>,
    project: impl FnOnce(&mut Projection<'_>) -> Result<ProjectedResult, envelope::Fault>,
) {
    let sink = DiscardingSink::default();
    let result = project(&mut Projection::new(budget, Some(&sink))).unwrap().result;
    let cost = json_cost(&result);
    assert!(cost <= json_budget(budget), "{name}: {cost} tokens for {budget}: {result}");
    let mut kept = Vec::new();
    strings(&result, &mut kept);
    let missing = complete.into_iter().find(|text| {
        let text = text.trim_end_matches('\n');
        !kept.iter().any(|kept| kept.contains(text))
    });
    if let Some(missing) = missing {
        assert!(says_truncated(&result), "{name}: {missing:?} is missing from {result}");
    }
}

fn strings<'v>(value: &'v Value, all: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => all.push(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, all)),
        Value::Object(map) => map.values().for_each(|value| strings(value, all)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn says_truncated(value: &Value) -> bool {
    value.as_object().is_some_and(|fields| {
        fields.iter().any(|(name, value)| {
            (name == "truncated" || name.ends_with("_truncated")) && *value == true || says_truncated(value)
        })
    })
}

fn stream(text: &str) -> ProcessStream<'_> {
    let bytes = text.len() as u64;
    let lines = Some(text.lines().count() as u64);
    ProcessStream { text, complete: true, from: 0, bytes, lines, digest: None, artifact: None }
}

/// Lines as programs print them: some of them again and again, some that JSON escapes.
fn printed() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "[a-z]{1,8}( [a-z]{1,8}){0,9}",
        "warning: [a-c] is unused \\([0-9]{1,2}\\)",
        "test [a-z]{1,6} \\.\\.\\. ok",
        "[0-9a-f]{20,60}",
        "[\"\\\\]{1,30}",
    ];
    vec((line, 1_usize..60), 0..20).prop_map(|lines| {
        lines.iter().flat_map(|(line, times)| std::iter::repeat_n(format!("{line}\n"), *times)).collect()
    })
}

fn names() -> impl Strategy<Value = Vec<String>> {
    vec("[a-zäß\"\\\\ ]{1,12}/[a-z]{1,40}\\.md", 0..120)
}

fn budgets() -> impl Strategy<Value = usize> {
    400_usize..3_000
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn output_of_processes(out in printed(), err in printed(), terminal in any::<bool>(), budget in 700_usize..3_000) {
        let output = match terminal {
            true => ProcessOutput::Combined(stream(&out)),
            false => ProcessOutput::Separate { stdout: stream(&out), stderr: stream(&err) },
        };
        // Copies of a line are counted, so nothing is missing if one of them is shown.
        let streams = if terminal { vec![out.as_str()] } else { vec![&*out, &*err] };
        let all: Vec<&str> = streams.iter().flat_map(|text| text.lines()).collect();
        let warnings = [out.lines().take(3).collect::<String>()];
        let warned: Vec<&str> = all.iter().copied().chain(warnings.iter().map(String::as_str)).collect();
        let end = ProcessExit::Exited(101);
        let completed = CommandReport::Completed { end, output, unsandboxed: true, warnings: &warnings };
        check("command", budget, warned.clone(), |with| super::command::project(&completed, with));
        let promoted = CommandReport::Promoted { task_id: "task_1", output, unsandboxed: true };
        check("promoted", budget, all, |with| super::command::project(&promoted, with));
        let task = TaskSnapshot {
            task_id: "task_1", command: "make", status: TaskStatus::Running, exit_status: None, signal: None, runtime_ms: 7,
        };
        let wait = TaskWait { reason: TaskWaitEnd::NewOutput, matched_line: None };
        let retrieval = TaskRetrieval::Success;
        let seen = TaskReport::Output { retrieval, wait, task: task.clone(), output, warnings: &warnings };
        check("task output", budget, warned, |with| super::task::project(&seen, with));
        let commands: Vec<&str> = out.lines().take(90).collect();
        let listed = commands.iter().map(|command| TaskSnapshot { command, ..task.clone() }).collect();
        check("tasks", budget, commands, |with| super::task::project(&TaskReport::Listed(listed), with));
    }

    #[test]
    fn texts(text in printed(), budget in budgets()) {
        let size = text.len() as u64;
        let read = FileRead {
            path: "a.md", content: &text, encoding: ContentEncoding::Utf8, etag: Some("8f434346648f6b96df89dda901c5176b"),
            size_bytes: size, range: ContentRange { start: 0, end: size }, more: false,
        };
        check("read", budget, [text.as_str()], |with| super::read::project(&read, with));
        check("text", budget, [text.as_str()], |with| super::text::project(&text, with));
        let items: Vec<&str> = text.lines().collect();
        let listed = items.iter().map(|text| ListItem { text: *text, depth: 1 });
        check("items", budget, items.clone(), |with| super::text::project_items(listed, with));
        let range = CursorRange { from: CursorPosition { line: 0, ch: 0 }, to: CursorPosition { line: 9, ch: 0 } };
        let selection =
            EditorOutput::Selection(EditorSelection { file_path: "a.md", range, text: &text, mode: Some("source") });
        check("selection", budget, [text.as_str()], |with| super::editor::project(&selection, with));
        check("external text", budget, [text.as_str()], |with| super::external::project(&text, with));
        let value = json!({ "lines": items });
        check("external json", budget, items.clone(), |with| super::external::project(&value, with));
        let mut blocks: Vec<OutputBlock<'_>> = items.iter().take(40).map(|line| OutputBlock::Text(line)).collect();
        blocks.push(OutputBlock::Text(&text));
        blocks.push(OutputBlock::Json(&value));
        let output = ExternalOutput { blocks };
        check("blocks", budget, [text.as_str()], |with| super::external::project_blocks(&output, with));
        let picture = ExternalOutput { blocks: vec![
            OutputBlock::Text("a picture"), OutputBlock::Binary { media_type: "image/png", bytes: text.as_bytes() },
        ] };
        check("picture", budget, ["bytes that are only in the artifact"], |with| super::external::project_blocks(&picture, with));
    }

    #[test]
    fn pages_of_artifacts(text in printed(), lossy in any::<bool>(), budget in budgets()) {
        let encoding = if lossy { PieceEncoding::Lossy } else { PieceEncoding::Utf8 };
        let piece = SlicePiece { start_line: Some(1), start_byte: 0, end_byte: text.len() as u64, content: text.clone(), encoding };
        let found: Vec<GrepLine> = text.lines().enumerate().map(|(number, text)| GrepLine {
            line: number as u64 + 1, at_byte: 0, matched: true, text: text.to_owned(), left_out_before: 0, left_out_after: 0,
        }).collect();
        for view in [
            ArtifactView::Lines, ArtifactView::Bytes, ArtifactView::Head, ArtifactView::Tail, ArtifactView::HeadAndTail,
            ArtifactView::Grep,
        ] {
            let of_grep = view == ArtifactView::Grep;
            let slice = ArtifactSlice {
                path: "artifacts/a.log".to_owned(), run: None, view, total_bytes: text.len() as u64, total_lines: None,
                pieces: if of_grep || text.is_empty() { Vec::new() } else { vec![piece.clone()] },
                found: if of_grep { found.clone() } else { Vec::new() },
                grep: None, matches: None, next: None,
            };
            let complete: Vec<&str> = if of_grep { text.lines().collect() } else { vec![&text] };
            check("artifact", budget, complete, |with| super::artifact::project(&slice, with));
        }
    }

    #[test]
    fn lists(names in names(), others in names(), count in 0_u64..3, budget in budgets()) {
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        let some: Vec<&str> = others.iter().take(30).map(String::as_str).collect();
        let both: Vec<&str> = all.iter().chain(&some).copied().collect();
        let entries = all.iter().map(|path| ListingEntry {
            path: *path, kind: EntryKind::File, size_bytes: Some(count), mtime_ms: Some(1_700_000_000_000),
        });
        let listing = FileListing {
            entries, more: false, unusable: some.len() as u64, unusable_names: some.clone(), folders_skipped: 0,
            not_looked_into: Vec::new(),
        };
        check("listing", budget, both.clone(), |with| super::listing::project(listing, with));
        let matches = all.iter().map(|path| MatchEntry { path: *path, line: 7, start: 100, end: 104, snippet: "x" });
        let search = SearchOutput {
            matches, offset: 0, more: false, files_searched: 9, files_skipped: 0, folders_skipped: some.len() as u64,
            not_looked_into: some.clone(),
        };
        check("search", budget, both.clone(), |with| super::search::project(search, with));
        let link = |target| LinkLine { from_path: "a.md", to_path: None, target, fragment: None, line: 1, form: "wikilink" };
        let links = LinkLists {
            path: Some("a.md".to_owned()), outgoing: all.iter().copied().map(link), backlinks: std::iter::empty(),
            unresolved: some.iter().copied().map(link), offset: 0, more: false, not_looked_into: some.clone(),
        };
        check("links", budget, both.clone(), |with| super::links::project(links, with));
        let rename = RenameReport {
            from_path: "a.md", to_path: "b.md", files_updated: all.len() as u64, updated_in: all.clone(),
            mentioned_in: some.clone(), ..RenameReport::default()
        };
        check("rename", budget, both.clone(), |with| super::links::renamed::project(rename, with));
        let restore = RestoreReport {
            restored: 1, already_so: 0, kept: &names, left: &others, conflicts: Vec::new(), dry_run: false,
        };
        let everything: Vec<&str> = names.iter().chain(&others).map(String::as_str).collect();
        check("restore", budget, everything, |with| super::mutation::restored::project(restore, with));
        let properties = PropertyChanges { added: names.clone(), removed: others.clone(), ..PropertyChanges::default() };
        let mutation = FileMutation {
            outcome: MutationOutcome::Changed, path: "a.md".into(), etag: None,
            facts: MutationFacts { properties: Some(properties), ..MutationFacts::default() }, dry_run: false,
        };
        check("mutation", budget, all.clone(), |with| super::mutation::project(mutation, with));
        let leaves = all.iter().map(|id| WorkspaceLeaf { id: *id, view_type: "markdown", title: Some("t") }).collect();
        let context = WorkspaceOutput::Context(ActiveContext { open_leaves: Some(leaves), ..ActiveContext::default() });
        check("workspace", budget, all.clone(), |with| super::workspace::project(&context, with));
        let commands = all.iter().map(|id| HostCommandEntry { id: *id, name: *id, owner_type: "core" }).collect();
        let listed = HostCommandOutput::Listed { commands, more: false };
        check("commands", budget, all.clone(), |with| super::host_command::project(&listed, with));
    }
}
