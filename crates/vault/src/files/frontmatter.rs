//! Puts properties above the text of a new note.

use envelope::{Failure, Fault};
use serde_json::{Map, Value};

use notes::yaml;

/// Returns `content` with `properties` above it. Fails if it begins with frontmatter.
pub(super) fn on_top(properties: &Map<String, Value>, content: &str) -> Result<String, Fault> {
    let text = content.strip_prefix('\u{feff}').unwrap_or(content);
    if text.lines().next().is_some_and(|line| line.trim_end() == "---") {
        return Err(Fault::new(
            Failure::InvalidArguments,
            "`content` already begins with frontmatter, and `frontmatter` would add a second block",
        )
        .hint("put all properties into `frontmatter`, or leave it out"));
    }
    let mut note = String::from("---\n");
    for (name, value) in properties {
        yaml::write_property(&mut note, name, value, "\n");
    }
    note.push_str("---\n");
    note.push_str(text);
    Ok(note)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    use super::on_top;

    fn check(properties: &Value, content: &str, expected: Expect) {
        let shown = match on_top(properties.as_object().unwrap(), content) {
            Ok(note) => note,
            Err(fault) => format!("{}: {fault}", fault.failure),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn plain_values_stay_plain_and_doubtful_ones_are_quoted() {
        check(
            &json!({
                "title": "Das Café, am Abend", "tags": ["idea", "to do", "#x", "no"], "done": false, "rank": 1.5,
                "date": "2026-11-15", "at": "2026-11-15T09:30:00", "version": "1.0", "link": "[[Note]]",
                "empty": "", "none": null, "nothing": [], "yes": "yes", "a: b": "c: d",
            }),
            "# Text\n",
            expect![[r##"
                ---
                title: Das Café, am Abend
                tags:
                  - idea
                  - to do
                  - "#x"
                  - "no"
                done: false
                rank: 1.5
                date: 2026-11-15
                at: 2026-11-15T09:30:00
                version: "1.0"
                link: "[[Note]]"
                empty: ""
                none:
                nothing: []
                "yes": "yes"
                "a: b": "c: d"
                ---
                # Text
            "##]],
        );
    }

    #[test]
    fn nothing_in_a_value_can_end_the_block_or_start_a_property() {
        check(
            &json!({"a": "x\n---\nevil: true", "b": "tab\tquote\" back\\ nel\u{85} ls\u{2028}",
                    "c": {"k, }": ["v", {"deep": null}]}, "---": "x", "d": "trailing ", "e": "- item"}),
            "",
            expect![[r#"
                ---
                a: "x\n---\nevil: true"
                b: "tab\tquote\" back\\ nel\u0085 ls\u2028"
                c: {"k, }": ["v", {"deep": null}]}
                "---": x
                d: "trailing "
                e: "- item"
                ---
            "#]],
        );
    }

    #[test]
    fn two_blocks_are_refused() {
        check(
            &json!({"a": 1}),
            "---\nb: 2\n---\n",
            expect![
                "invalid_arguments: `content` already begins with frontmatter, and `frontmatter` would add a second block"
            ],
        );
    }
}
