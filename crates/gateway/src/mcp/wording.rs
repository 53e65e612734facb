//! The words of a question as a client shows them. Some dialogs show the first three lines, each cut at the edge of the
//! screen, and no key shows the rest; so those lines have to say what a yes would be to, and how much is not in sight.
//!
//! What others wrote stands behind words of ours, on one line and without the room to look like another one.

use envelope::escape_invisible;
use serde_json::Value;

/// What fits one line of most screens.
const LINE: usize = 72;
/// More blanks than this in a row are told by their number: they would push what follows out of sight.
const BLANKS: usize = 3;

/// A call: what it would do, why there is a question, what it was called with, and what is foreseen of it.
pub(super) fn call(tool: &str, preview: &str, why: &str, input: &Value, foreseen: Option<&str>) -> String {
    let whole = format!("{tool}: {}", one_line(preview));
    let (first, was_cut) = within_a_line(&whole);
    let mut below = String::new();
    if was_cut {
        below += &format!("What it would do: {}\n", one_line(preview));
    }
    let short = input.to_string();
    let shown =
        if short.len() <= LINE { short } else { serde_json::to_string_pretty(input).unwrap_or_default() };
    below += &format!("Input: {shown}");
    if let Some(foreseen) = foreseen {
        below += &format!("\n\n{}", foreseen.trim_end());
    }
    format!("{first}\n{}Why you are asked: {}\n{below}", notice(&below), one_line(why))
}

/// A plan: what it comes to in words that are not its own, and then all of it.
pub(super) fn plan(headline: &str, text: &str) -> String {
    let whole = one_line(headline);
    let (first, was_cut) = within_a_line(&whole);
    let rest = if was_cut { format!("{whole}\n{text}") } else { text.to_owned() };
    format!("{first}\n{}\n{rest}", notice(&rest).trim_end())
}

/// How much there is to read, where it begins a line and is not cut off with its end.
fn notice(below: &str) -> String {
    match below.lines().count() {
        0 | 1 if below.len() <= LINE => String::new(),
        0 | 1 => "Read the line below to its end. ".to_owned(),
        lines => format!("Read all {lines} lines below. "),
    }
}

/// The beginning of a text as far as a line goes, and whether there is more.
fn within_a_line(text: &str) -> (String, bool) {
    match text.char_indices().nth(LINE) {
        Some((cut, _)) => (format!("{}…", &text[..cut]), true),
        None => (text.to_owned(), false),
    }
}

/// Text that others wrote, so that it can neither begin a line nor push anything out of one.
fn one_line(text: &str) -> String {
    let text = escape_invisible(text);
    let mut line = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(c) = rest.chars().next() {
        let blanks = rest.len() - rest.trim_start_matches(is_blank).len();
        let count = rest[..blanks].chars().count();
        if count > BLANKS {
            line += &format!(" ({count} blanks) ");
            rest = &rest[blanks..];
            continue;
        }
        match c {
            '\n' => line += "\\n",
            '\t' => line += "\\t",
            c => line.push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
    line
}

/// White on most screens. What is blank and no white space has been spelled out.
fn is_blank(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\n' | '\t')
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::{call, one_line, plan};

    #[test]
    fn a_small_call_is_all_of_three_lines() {
        let input = json!({ "cmd": "rm -r Projects" });
        expect![[r#"
            ExecCommand: Run rm -r Projects
            Why you are asked: mode ask
            Input: {"cmd":"rm -r Projects"}"#]]
        .assert_eq(&call("ExecCommand", "Run rm -r Projects", "mode ask", &input, None));
    }

    #[test]
    fn what_is_not_in_sight_is_said_at_the_beginning_of_a_line() {
        let path = format!("{}/a.md", "folder".repeat(12));
        let text = call(
            "vault.writeFile",
            &format!("Write {path}"),
            "mode ask",
            &json!({ "path": path }),
            Some("+ a\n"),
        );
        expect![[r#"
            vault.writeFile: Write folderfolderfolderfolderfolderfolderfolderfolderf…
            Read all 6 lines below. Why you are asked: mode ask
            What it would do: Write folderfolderfolderfolderfolderfolderfolderfolderfolderfolderfolderfolder/a.md
            Input: {
              "path": "folderfolderfolderfolderfolderfolderfolderfolderfolderfolderfolderfolder/a.md"
            }

            + a"#]]
        .assert_eq(&text);
    }

    #[test]
    fn no_argument_looks_like_a_line_of_ours() {
        let forged = format!("echo hi{}Why you are asked: nothing\nInput: {{}}", " ".repeat(80));
        expect!["echo hi (80 blanks) Why you are asked: nothing\\nInput: {}"].assert_eq(&one_line(&forged));
        expect!["a  b (4 blanks) c"].assert_eq(&one_line("a  b\u{3000}\u{2003} \u{a0}c"));
        expect![r"b\u{3164}\u{2800}\r \u{e0041}c"].assert_eq(&one_line("b\u{3164}\u{2800}\r \u{e0041}c"));
    }

    #[test]
    fn a_plan_begins_with_what_it_comes_to() {
        expect![[r#"
            Run a plan of 1 step with vault.delete
            Read all 2 lines below.
            Goal: Tidy up, nothing is deleted
            Steps: 1
        "#]]
        .assert_eq(&plan(
            "Run a plan of 1 step with vault.delete",
            "Goal: Tidy up, nothing is deleted\nSteps: 1\n",
        ));
    }
}
