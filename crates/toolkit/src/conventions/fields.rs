//! Conventions for field names: every tool uses the same word for the same thing.

use envelope::{ReceiptFamily, ToolDecl};
use serde_json::Value;

use super::shape::{ObjectSchema, objects};

/// Families that keep the shell's own spelling: commands, their tasks, and the artifacts of both.
const SNAKE_CASE_FAMILIES: [ReceiptFamily; 3] =
    [ReceiptFamily::Command, ReceiptFamily::Task, ReceiptFamily::Artifact];

pub(super) fn check(decl: &ToolDecl, problems: &mut Vec<String>) {
    let snake_case = SNAKE_CASE_FAMILIES.contains(&decl.family);
    for (side, schema) in [("input", &decl.input_schema), ("output", &decl.output_schema)] {
        for object in objects(side, schema) {
            for (name, property) in object.properties() {
                let field = FieldCheck { object: &object, name, property, root: schema };
                field.check_spelling(snake_case, problems);
                field.check_path(problems);
                field.check_time(problems);
                field.check_pattern(problems);
                if side == "input" {
                    field.check_input(problems);
                } else {
                    field.check_output(problems);
                }
            }
        }
    }
}

struct FieldCheck<'a> {
    object: &'a ObjectSchema<'a>,
    name: &'a str,
    property: &'a Value,
    root: &'a Value,
}

impl FieldCheck<'_> {
    fn check_spelling(&self, snake_case: bool, problems: &mut Vec<String>) {
        let starts_well = self.name.starts_with(|c: char| c.is_ascii_lowercase());
        let letters = self.name.bytes().all(|b| b.is_ascii_alphanumeric() || (snake_case && b == b'_'));
        if !starts_well || !letters {
            let style = if snake_case { "snake_case" } else { "camelCase" };
            problems.push(self.say(&format!("write it in {style}")));
        }
    }

    fn check_path(&self, problems: &mut Vec<String>) {
        if matches!(self.name, "path" | "fromPath" | "toPath" | "filePath" | "prefix") && !self.is("string") {
            problems.push(self.say("make it a string: a vault-relative path with forward slashes"));
        }
        if self.name == "paths" && !self.is("array") {
            problems.push(self.say("make it a list of vault-relative paths"));
        }
        // An object may be called `file`; a string with that name is a path under another name.
        let one = matches!(
            self.name.to_ascii_lowercase().replace('_', "").as_str(),
            "file" | "filename" | "filepath" | "folderpath" | "notepath" | "dir" | "directory" | "uri"
        );
        if one && self.name != "filePath" && self.is("string") {
            problems
                .push(self.say("call it `path` (`fromPath` and `toPath` for a move, `prefix` for a scope)"));
        }
        if matches!(self.name, "files" | "filenames" | "filepaths" | "filePaths" | "uris")
            && self.lists_strings()
        {
            problems.push(self.say("call it `paths`"));
        }
    }

    fn check_time(&self, problems: &mut Vec<String>) {
        let number = self.is("integer") || self.is("number");
        let loose = matches!(self.name, "mtime" | "ctime" | "atime" | "modified" | "timestamp");
        if loose && !self.is("boolean") {
            problems.push(self.say("give times as integers of milliseconds, such as `mtimeMs`"));
        } else if number && (self.name.ends_with("At") || self.name.ends_with("_at")) {
            problems.push(self.say("a number of milliseconds has a name that ends in `Ms`"));
        }
        if (self.name.ends_with("Ms") || self.name.ends_with("_ms")) && !self.is("integer") {
            problems.push(self.say("make it an integer of milliseconds"));
        }
    }

    fn check_pattern(&self, problems: &mut Vec<String>) {
        let has_mode = self.object.properties().any(|(name, _)| name == "mode");
        if self.name == "pattern" && !has_mode {
            problems.push(self.say("call it `query`, `regex` or `glob`, or add `mode` to say which it is"));
        }
    }

    fn check_input(&self, problems: &mut Vec<String>) {
        if self.name == "requestId" && self.object.requires(self.name) {
            problems.push(self.say("make it optional: the engine fills it in, not the planner"));
        }
        for (name, json_type) in [("requestId", "string"), ("note", "string"), ("dryRun", "boolean")] {
            if self.name == name && !self.is(json_type) {
                problems.push(self.say(&format!("make it a {json_type}, as in every tool")));
            }
        }
        // The derive macro writes the tag of a union and has no place for a description.
        let is_tag = self.property.get("const").is_some();
        let described = [self.property, self.target()].iter().any(|schema| {
            schema.get("description").and_then(Value::as_str).is_some_and(|text| !text.is_empty())
        });
        if !described && !is_tag {
            problems.push(self.say("describe it (a doc comment on the field)"));
        }
    }

    fn check_output(&self, problems: &mut Vec<String>) {
        let is_root = !self.object.at.contains('.') && !self.object.at.contains('[');
        if self.name == "ok" && is_root {
            problems.push(self.say("leave it out: whether a call worked is said around the output"));
        }
        let is_wrapper = matches!(self.name, "result" | "data" | "output" | "response");
        if is_wrapper && self.object.properties().count() == 1 && self.is("object") {
            problems.push(self.say("return its fields directly instead of wrapping them"));
        }
    }

    fn say(&self, what: &str) -> String {
        format!("{}.{}: {what}", self.object.at, self.name)
    }

    /// Returns true if the field can hold a value of this type, looking through references and "or null".
    fn is(&self, json_type: &str) -> bool {
        can_be(self.property, self.root, json_type, 8)
    }

    fn lists_strings(&self) -> bool {
        self.target().get("items").is_some_and(|items| can_be(items, self.root, "string", 8))
    }

    fn target(&self) -> &Value {
        self.property
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|reference| self.root.pointer(reference.strip_prefix('#')?))
            .unwrap_or(self.property)
    }
}

fn can_be(schema: &Value, root: &Value, json_type: &str, levels: usize) -> bool {
    if levels == 0 {
        return false;
    }
    let named = match schema.get("type") {
        Some(Value::String(name)) => name == json_type,
        Some(Value::Array(names)) => names.iter().any(|name| name == json_type),
        _ => false,
    };
    let fixed = schema
        .get("const")
        .into_iter()
        .chain(schema.get("enum").and_then(Value::as_array).into_iter().flatten());
    named
        || (json_type == "string" && fixed.into_iter().any(Value::is_string))
        || ["anyOf", "oneOf", "allOf"]
            .iter()
            .filter_map(|choice| schema.get(*choice)?.as_array())
            .flatten()
            .any(|branch| can_be(branch, root, json_type, levels - 1))
        || schema
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|reference| root.pointer(reference.strip_prefix('#')?))
            .is_some_and(|target| can_be(target, root, json_type, levels - 1))
}
