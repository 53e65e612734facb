//! Toggles list items and tasks, as the commands of the application do. Pure.

/// Turns lines into bullets, or bullets into plain lines when all of them are.
pub(super) fn toggle_bullets(lines: &[&str]) -> Vec<String> {
    let counts = |line: &&&str| lines.len() == 1 || !line.trim().is_empty();
    let all = lines.iter().filter(counts).all(|line| item(line).is_some());
    let toggled = lines.iter().map(|line| {
        let (indent, text) = line.split_at(line.len() - line.trim_start().len());
        match item(line) {
            Some((indent, _, text)) if all => format!("{indent}{text}"),
            None if counts(&line) => format!("{indent}- {text}"),
            Some(_) | None => (*line).to_owned(),
        }
    });
    toggled.collect()
}

/// Ticks an open task, opens a ticked one, and makes a task of any other line.
pub(super) fn toggle_checkboxes(lines: &[&str]) -> Vec<String> {
    let toggled = lines.iter().map(|line| {
        let (indent, text) = line.split_at(line.len() - line.trim_start().len());
        match item(line) {
            Some((indent, marker, text)) => match text.strip_prefix("[ ]") {
                Some(rest) => format!("{indent}{marker} [x]{rest}"),
                None => match status(text) {
                    Some(rest) => format!("{indent}{marker} [ ]{rest}"),
                    None => format!("{indent}{marker} [ ] {text}"),
                },
            },
            None if lines.len() == 1 || !text.is_empty() => format!("{indent}- [ ] {text}"),
            None => (*line).to_owned(),
        }
    });
    toggled.collect()
}

/// Parses a bullet: indentation, marker, text.
fn item(line: &str) -> Option<(&str, &str, &str)> {
    let (indent, rest) = line.split_at(line.len() - line.trim_start().len());
    let (marker, text) = rest.split_at_checked(1).filter(|(marker, _)| ["-", "*", "+"].contains(marker))?;
    let text = if text.is_empty() { text } else { text.strip_prefix(' ')? };
    Some((indent, marker, text))
}

/// Returns the text after a checkbox with any sign in it.
fn status(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('[')?;
    let sign = inside.chars().next()?;
    inside[sign.len_utf8()..].strip_prefix(']')
}

#[cfg(test)]
mod tests {
    use super::{toggle_bullets, toggle_checkboxes};

    #[track_caller]
    fn check(toggle: fn(&[&str]) -> Vec<String>, before: &str, after: &str) {
        assert_eq!(toggle(&before.split('\n').collect::<Vec<_>>()).join("\n"), after);
    }

    #[test]
    fn lines_become_bullets_and_back() {
        check(toggle_bullets, "one", "- one");
        check(toggle_bullets, "- one", "one");
        check(toggle_bullets, "", "- ");
        check(toggle_bullets, "  - deep\n\n\t* other", "  deep\n\n\tother");
        check(toggle_bullets, "one\n\n- two", "- one\n\n- two");
        check(toggle_bullets, "-not one", "- -not one");
    }

    #[test]
    fn tasks_are_ticked_and_opened_again() {
        check(toggle_checkboxes, "one", "- [ ] one");
        check(toggle_checkboxes, "- one", "- [ ] one");
        check(toggle_checkboxes, "  * [ ] one", "  * [x] one");
        check(toggle_checkboxes, "- [x] one\n\n- [/] two", "- [ ] one\n\n- [ ] two");
        check(toggle_checkboxes, "- [link](x)", "- [ ] [link](x)");
    }
}
