//! Declarations that violate a convention, and the reported problems.

use envelope::{ReceiptFamily, ToolDecl};
use expect_test::{Expect, expect};
use serde_json::{Value, json};
use toolkit::check_conventions;

/// The only place in this file that calls the API: a valid declaration with some fields replaced.
#[track_caller]
fn check(changes: Value, expect: Expect) {
    let mut decl = json!({
        "name": "vault.writeFile", "version": "1.0.0", "summary": "Write a note.", "category": "vault",
        "riskLevel": "writes", "sideEffects": ["modify-file"], "availability": ["vault"], "concurrency": "parallel",
        "idempotency": "not-idempotent", "cancellable": true, "timeoutMs": 30_000,
        "inputSchema": strict(json!({
            "path": {"type": "string", "description": "The note."},
            "expectedEtag": {"type": ["string", "null"], "description": "What it must still be."},
        })),
        "outputSchema": strict(json!({"path": {"type": "string"}, "etag": {"type": "string"}})),
    });
    for (field, value) in changes.as_object().unwrap() {
        decl[field] = value.clone();
    }
    let decl: ToolDecl = serde_json::from_value(decl).unwrap();
    expect.assert_eq(&check_conventions(&decl).join("\n"));
}

fn strict(properties: Value) -> Value {
    json!({"type": "object", "additionalProperties": false, "required": [], "properties": properties})
}

/// Input properties with descriptions, so that only the tested part is invalid.
fn input(mut properties: Value) -> Value {
    for (_, property) in properties.as_object_mut().unwrap() {
        property["description"] = json!("x");
    }
    properties["expectedEtag"] = json!({"type": "string", "description": "x"});
    json!({"inputSchema": strict(properties)})
}

fn output(mut properties: Value) -> Value {
    properties["etag"] = json!({"type": "string"});
    json!({"outputSchema": strict(properties)})
}

#[test]
fn a_good_declaration_passes() {
    check(json!({}), expect![""]);
}

#[test]
fn commands_their_tasks_and_their_artifacts_keep_the_spelling_of_the_shell() {
    for family in ReceiptFamily::ALL {
        let problems = match family {
            ReceiptFamily::Command | ReceiptFamily::Task | ReceiptFamily::Artifact => expect![""],
            ReceiptFamily::Mutation
            | ReceiptFamily::Read
            | ReceiptFamily::Listing
            | ReceiptFamily::Search
            | ReceiptFamily::Links
            | ReceiptFamily::Editor
            | ReceiptFamily::Workspace
            | ReceiptFamily::HostCommand
            | ReceiptFamily::Text
            | ReceiptFamily::External => expect![[r#"
                input.timeout_ms: write it in camelCase
                output.exit_status: write it in camelCase"#]],
        };
        check(
            json!({"category": "command", "family": family, "name": "ExecCommand",
                   "riskLevel": "commands", "sideEffects": ["run-command"],
                   "inputSchema": strict(json!({"cmd": {"type": "string", "description": "x"},
                                                "timeout_ms": {"type": "integer", "description": "x"}})),
                   "outputSchema": strict(json!({"exit_status": {"type": "integer"}}))}),
            problems,
        );
    }
}

// Conformance: tool 1.1
//     An input is a strict object: unknown fields are refused, required ones are listed.
//     In: toolkit/conventions/mod.rs
#[test]
fn schemas_are_strict_objects_at_every_level() {
    check(
        json!({"inputSchema": {"type": "string"}, "outputSchema": true}),
        expect![[r#"
        input: make it a struct, so that its schema is of type `object`
        output: make it a struct, so that its schema is of type `object`
        input: accept `expectedEtag` or `ifNotExists`, or declare the tool idempotent, so that a write can be run again safely"#]],
    );
    check(
        json!({"outputSchema": {"type": "object", "properties": {"etag": {"type": "string"}}}}),
        expect![
            "output: refuse unknown fields (`#[serde(deny_unknown_fields)]`, `additionalProperties: false`)"
        ],
    );
    let loose = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    check(
        output(json!({
            "one": loose, "many": {"type": "array", "items": loose},
            "either": {"anyOf": [loose, {"type": "null"}]}, "named": {"type": "object", "additionalProperties": loose},
            "bare": {"type": "object"},
            "frontmatter": {"type": "object", "additionalProperties": true},
        })),
        expect![[r#"
            output.one: refuse unknown fields (`#[serde(deny_unknown_fields)]`, `additionalProperties: false`)
            output.many[]: refuse unknown fields (`#[serde(deny_unknown_fields)]`, `additionalProperties: false`)
            output.either: refuse unknown fields (`#[serde(deny_unknown_fields)]`, `additionalProperties: false`)
            output.named.*: refuse unknown fields (`#[serde(deny_unknown_fields)]`, `additionalProperties: false`)
            output.bare: refuse unknown fields (`#[serde(deny_unknown_fields)]`, `additionalProperties: false`)"#]],
    );
    check(
        json!({"inputSchema": {"type": "object", "additionalProperties": false, "required": ["nope"],
               "properties": {"expectedEtag": {"type": "string", "description": "x"}}}}),
        expect!["input: `required` names `nope`, which is not a property"],
    );
}

#[test]
fn a_recursive_schema_is_checked_and_ends() {
    let node = json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}});
    let mut schema = strict(json!({"etag": {"type": "string"}, "head": {"$ref": "#/$defs/Node"}}));
    schema["$defs"] = json!({"Node": node});
    check(
        json!({"outputSchema": schema}),
        expect![
            "output.head: refuse unknown fields (`#[serde(deny_unknown_fields)]`, `additionalProperties: false`)"
        ],
    );
}

// Conformance: tool 1.7
//     Fields have shared names: `path`, `paths`, `fromPath`, `toPath`, `query`, `items`, `matches`, `content`.
//     In: toolkit/conventions/fields.rs
#[test]
fn fields_have_the_shared_names() {
    check(
        input(json!({
            "file": {"type": "string"}, "filename": {"type": "string"}, "dir": {"type": ["string", "null"]},
            "uri": {"type": "string"}, "files": {"type": "array", "items": {"type": "string"}},
            "path": {"type": "integer"}, "paths": {"type": "string"}, "filePath": {"type": "string"},
            "pattern": {"type": "string"}, "Title": {"type": "string"}, "max_bytes": {"type": "integer"},
        })),
        expect![[r#"
            input.file: call it `path` (`fromPath` and `toPath` for a move, `prefix` for a scope)
            input.filename: call it `path` (`fromPath` and `toPath` for a move, `prefix` for a scope)
            input.dir: call it `path` (`fromPath` and `toPath` for a move, `prefix` for a scope)
            input.uri: call it `path` (`fromPath` and `toPath` for a move, `prefix` for a scope)
            input.files: call it `paths`
            input.path: make it a string: a vault-relative path with forward slashes
            input.paths: make it a list of vault-relative paths
            input.pattern: call it `query`, `regex` or `glob`, or add `mode` to say which it is
            input.Title: write it in camelCase
            input.max_bytes: write it in camelCase"#]],
    );
    check(input(json!({"pattern": {"type": "string"}, "mode": {"enum": ["glob", "regex"]}})), expect![""]);
}

// Conformance: tool 1.5
//     File times are integers of milliseconds (`mtimeMs`).
//     In: toolkit/conventions/mod.rs
#[test]
fn times_are_integers_of_milliseconds() {
    check(
        output(json!({
            "mtime": {"type": "integer"}, "modified": {"type": "string"}, "createdAt": {"type": "number"},
            "sizeMs": {"type": "number"}, "mtimeMs": {"type": "integer"}, "changedAt": {"type": "string"},
        })),
        expect![[r#"
            output.mtime: give times as integers of milliseconds, such as `mtimeMs`
            output.modified: give times as integers of milliseconds, such as `mtimeMs`
            output.createdAt: a number of milliseconds has a name that ends in `Ms`
            output.sizeMs: make it an integer of milliseconds"#]],
    );
    check(output(json!({"modified": {"type": "boolean"}})), expect![""]);
}

// Conformance: tool 1.4
//     An output is a strict object, the result itself, without `ok`.
//     In: toolkit/conventions/mod.rs
#[test]
fn outputs_are_the_result_itself() {
    check(
        output(json!({"ok": {"type": "boolean"}})),
        expect!["output.ok: leave it out: whether a call worked is said around the output"],
    );
    let inner = strict(json!({"a": {"type": "string"}}));
    check(
        json!({"sideEffects": ["edit-buffer"], "inputSchema": strict(json!({})),
                 "outputSchema": strict(json!({"result": inner}))}),
        expect!["output.result: return its fields directly instead of wrapping them"],
    );
    check(
        output(json!({"wrap": strict(json!({"data": inner}))})),
        expect!["output.wrap.data: return its fields directly instead of wrapping them"],
    );
}

// Conformance: tool 1.3
//     Every tool takes `note` and `requestId` without declaring them; a plan that sets `requestId` is warned.
//     In: toolkit/common_args.rs, toolkit/conventions/mod.rs, plan/check/templates.rs
#[test]
fn inputs_are_described_and_leave_tracing_to_the_gate() {
    check(
        json!({"inputSchema": {"type": "object", "additionalProperties": false, "required": ["requestId"],
               "properties": {"requestId": {"type": "string", "description": "x"},
                              "dryRun": {"type": "string", "description": "x"},
                              "expectedEtag": {"type": "string", "description": ""},
                              "range": strict(json!({"start": {"type": "integer"}}))}}}),
        expect![[r#"
            input.requestId: make it optional: the engine fills it in, not the planner
            input.dryRun: make it a boolean, as in every tool
            input.expectedEtag: describe it (a doc comment on the field)
            input.range: describe it (a doc comment on the field)
            input.range.start: describe it (a doc comment on the field)"#]],
    );
}

// Conformance: tool 1.8
//     A write takes `expectedEtag` or `ifNotExists`, and answers with `etag`.
//     In: toolkit/conventions/mod.rs, vault/files/expected_etag.rs
#[test]
fn a_write_can_be_repeated_and_chained() {
    let plain = strict(json!({"path": {"type": "string", "description": "x"}}));
    check(
        json!({"inputSchema": plain}),
        expect![
            "input: accept `expectedEtag` or `ifNotExists`, or declare the tool idempotent, so that a write can be run again safely"
        ],
    );
    check(json!({"inputSchema": plain, "idempotency": "idempotent"}), expect![""]);
    check(
        json!({"outputSchema": strict(json!({"path": {"type": "string"}}))}),
        expect!["output: return `etag` with the path, so that the next write can expect it"],
    );
    let gone = strict(json!({"path": {"type": "string"}, "deleted": {"type": "boolean"}}));
    check(json!({"inputSchema": plain, "outputSchema": gone, "sideEffects": ["delete-file"]}), expect![""]);
}

// Conformance: tool 1.9
//     A tool declares its risk, its side effects and what it needs.
//     In: toolkit/conventions/mod.rs
#[test]
fn the_declared_risk_fits_the_declared_effects() {
    check(
        json!({"riskLevel": "read-only"}),
        expect!["riskLevel: a tool with side effects is `writes` or `commands`, not `read-only`"],
    );
    check(
        json!({"sideEffects": []}),
        expect!["sideEffects: name what a `writes` tool changes, or make it `read-only`"],
    );
    check(
        json!({"sideEffects": ["run-command"], "idempotency": "idempotent"}),
        expect!["riskLevel: a tool that runs commands is `commands`"],
    );
    // Ending a task that was approved in the same run needs no further approval.
    check(json!({"riskLevel": "read-only", "sideEffects": ["stop-task"]}), expect![""]);
    check(json!({"timeoutMs": 0}), expect!["timeoutMs: 0 is not between 1 and 3600000"]);
    check(json!({"timeoutMs": 7_200_000}), expect!["timeoutMs: 7200000 is not between 1 and 3600000"]);
}

// Conformance: tool 1.11
//     A preview is a sentence that starts with a verb and names the path or command.
//     In: toolkit/tool.rs
#[test]
fn the_words_for_people_are_checked() {
    check(json!({"summary": ""}), expect!["summary: start with a capital verb, such as `Create a note`"]);
    check(
        json!({"summary": "writes a note\nand more"}),
        expect![[r#"
        summary: start with a capital verb, such as `Create a note`
        summary: write one line of at most 200 characters"#]],
    );
    check(
        json!({"summary": "The tool that writes"}),
        expect!["summary: start with a capital verb, such as `Create a note`"],
    );
    check(
        json!({"version": "1.0", "category": "My Tools", "name": "a".repeat(70)}),
        expect![[r#"
        name: shorten `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa` to 48 characters; providers refuse longer ones
        version: write `1.0` as three numbers, such as `1.0.0`
        category: write `My Tools` as one lower-case word, such as `vault`"#]],
    );
}
