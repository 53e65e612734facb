//! The log of a service: five thousand lines that differ, one of which matters.

const ROUTES: [&str; 7] = ["orders", "items", "carts", "users", "search", "export", "health"];
const WORDS: [&str; 11] = [
    "accepted", "queued", "sent", "written", "read", "skipped", "merged", "opened", "closed", "signed",
    "kept",
];

pub(super) const LINES: usize = 5_000;
/// The line, counted from 1, that says why it all went wrong.
const BROKEN: usize = 3_311;

pub(super) fn service() -> String {
    (1..=LINES).map(line).collect()
}

fn line(number: usize) -> String {
    let (minute, second) = (number / 60 % 60, number % 60);
    let at = format!("2026-03-14T09:{minute:02}:{second:02}Z");
    match number {
        BROKEN => format!(
            "{at} ERROR worker 7: cannot write batch 118: no space left on device (/var/spool/harbour)\n"
        ),
        LINES => format!("{at} INFO stopped after 4999 messages, 1 batch lost\n"),
        _ => {
            let (route, word) = (ROUTES[number * 5 % 7], WORDS[number * 7 % 11]);
            let other = WORDS[number / 11 % 11];
            format!(
                "{at} INFO {route} {word}, then {other} by {} in {} ms\n",
                WORDS[number / 3 % 11],
                number % 89
            )
        }
    }
}
