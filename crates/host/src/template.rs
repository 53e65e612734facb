//! Template substitution: `{{title}}`, `{{date}}`, `{{time}}`, with an optional format after a colon.
//!
//! Anything else between braces is left as it is: it can belong to another program.

use envelope::Fault;
use jiff::civil::DateTime;

use crate::date_format::{self, DEFAULT_DATE, DEFAULT_TIME};

pub(crate) fn fill_template(template: &str, title: &str, now: DateTime) -> Result<String, Fault> {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        text.push_str(before);
        let Some((inside, tail)) = after.split_once("}}") else {
            text.push_str("{{");
            rest = after;
            break;
        };
        let (word, format) = match inside.split_once(':') {
            Some((word, format)) => (word.trim(), Some(format.trim())),
            None => (inside.trim(), None),
        };
        match (word.to_lowercase().as_str(), format) {
            ("title", None) => text.push_str(title),
            ("date", format) => {
                text.push_str(&date_format::format_date(format.unwrap_or(DEFAULT_DATE), now)?);
            }
            ("time", format) => {
                text.push_str(&date_format::format_date(format.unwrap_or(DEFAULT_TIME), now)?);
            }
            (_, _) => {
                // Only the first pair of braces is skipped: a known word can follow.
                text.push_str("{{");
                rest = after;
                continue;
            }
        }
        rest = tail;
    }
    text.push_str(rest);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::fill_template;

    #[test]
    fn words_are_filled_in_and_the_rest_is_left_alone() {
        let now = date(2026, 11, 15).at(9, 5, 0, 0);
        let fill = |template: &str| fill_template(template, "Day", now).unwrap();
        assert_eq!(fill("# {{title}}\n{{date}} {{time}}"), "# Day\n2026-11-15 09:05");
        assert_eq!(fill("{{date:dddd, D MMMM}} {{ time:h A }}"), "Sunday, 15 November 9 AM");
        assert_eq!(fill("{{tp.file}} {{ {{title}} {{"), "{{tp.file}} {{ Day {{");
        assert!(fill_template("{{date:Z}}", "Day", now).is_err());
    }
}
