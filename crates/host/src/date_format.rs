//! Formatter of dates in Moment's format language, which the settings and templates of the application use.
//!
//! English names, weeks that begin on Sunday. Time zones, Unix times and eras are refused, because the clock is a local
//! one.

use envelope::{Failure, Fault};
use jiff::civil::{Date, DateTime};

pub(crate) const DEFAULT_DATE: &str = "YYYY-MM-DD";
pub(crate) const DEFAULT_TIME: &str = "HH:mm";

/// Every token, longer ones before their prefixes.
const TOKENS: [&str; 58] = [
    "YYYY", "YY", "Y", "gggg", "gg", "GGGG", "GG", "Qo", "Q", "MMMM", "MMM", "MM", "Mo", "M", "DDDD", "DDDo",
    "DDD", "DD", "Do", "D", "dddd", "ddd", "dd", "do", "d", "ww", "wo", "w", "WW", "Wo", "W", "E", "e", "HH",
    "H", "hh", "h", "kk", "k", "mm", "m", "ss", "s", "SSS", "SS", "S", "A", "a", "LTS", "LT", "LLLL", "LLL",
    "LL", "L", "llll", "lll", "ll", "l",
];

/// Tokens that need more than a local time.
const UNSUPPORTED: [&str; 6] = ["Z", "z", "X", "x", "N", "y"];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Formats a time. Fails with `precondition_failed` for a token that needs a time zone or an era.
pub(crate) fn format_date(format: &str, now: DateTime) -> Result<String, Fault> {
    let mut text = String::new();
    let mut rest = format;
    while let Some(c) = rest.chars().next() {
        let literal = rest.strip_prefix('[').and_then(|inside| inside.split_once(']'));
        if let Some((inside, after)) = literal {
            text.push_str(inside);
            rest = after;
        } else if let Some(token) = UNSUPPORTED.iter().find(|token| rest.starts_with(**token)) {
            return Err(unsupported(format, token));
        } else if let Some(token) = TOKENS.iter().find(|token| rest.starts_with(**token)) {
            text.push_str(&format_token(token, now)?);
            rest = &rest[token.len()..];
        } else {
            text.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    Ok(text)
}

fn unsupported(format: &str, token: &str) -> Fault {
    Fault::new(
        Failure::PreconditionFailed,
        format!("the date format `{format}` asks for `{token}`: no time zone, Unix time or era is known"),
    )
    .hint(format!("leave `{token}` out of the format in the settings, or write it as `[{token}]`"))
}

fn format_token(token: &str, now: DateTime) -> Result<String, Fault> {
    let date = now.date();
    let weekday = usize::try_from(date.weekday().to_sunday_zero_offset()).unwrap_or_default();
    let month = usize::try_from(now.month() - 1).unwrap_or_default();
    let iso = date.iso_week_date();
    let hour = i64::from(now.hour());
    let twelve = if hour % 12 == 0 { 12 } else { hour % 12 };
    let quarter = i64::from((now.month() + 2) / 3);
    let day_of_year = i64::from(date.day_of_year());
    let two = |number: i64| format!("{number:02}");
    Ok(match token {
        "YYYY" => format!("{:04}", now.year()),
        "YY" => two(i64::from(now.year()).rem_euclid(100)),
        "Y" => now.year().to_string(),
        "gggg" => format!("{:04}", week(date).0),
        "gg" => two(week(date).0.rem_euclid(100)),
        "GGGG" => format!("{:04}", iso.year()),
        "GG" => two(i64::from(iso.year()).rem_euclid(100)),
        "Q" => quarter.to_string(),
        "Qo" => ordinal(quarter),
        "MMMM" => MONTHS[month].to_owned(),
        "MMM" => MONTHS[month][..3].to_owned(),
        "MM" => two(i64::from(now.month())),
        "Mo" => ordinal(i64::from(now.month())),
        "M" => now.month().to_string(),
        "DDDD" => format!("{day_of_year:03}"),
        "DDDo" => ordinal(day_of_year),
        "DDD" => day_of_year.to_string(),
        "DD" => two(i64::from(now.day())),
        "Do" => ordinal(i64::from(now.day())),
        "D" => now.day().to_string(),
        "dddd" => DAYS[weekday].to_owned(),
        "ddd" => DAYS[weekday][..3].to_owned(),
        "dd" => DAYS[weekday][..2].to_owned(),
        "do" => ordinal(weekday as i64),
        "d" | "e" => weekday.to_string(),
        "ww" => two(week(date).1),
        "wo" => ordinal(week(date).1),
        "w" => week(date).1.to_string(),
        "WW" => two(i64::from(iso.week())),
        "Wo" => ordinal(i64::from(iso.week())),
        "W" => iso.week().to_string(),
        "E" => date.weekday().to_monday_one_offset().to_string(),
        "HH" => two(hour),
        "H" => hour.to_string(),
        "hh" => two(twelve),
        "h" => twelve.to_string(),
        "kk" => two(if hour == 0 { 24 } else { hour }),
        "k" => (if hour == 0 { 24 } else { hour }).to_string(),
        "mm" => two(i64::from(now.minute())),
        "m" => now.minute().to_string(),
        "ss" => two(i64::from(now.second())),
        "s" => now.second().to_string(),
        "SSS" => format!("{:03}", now.millisecond()),
        "SS" => two(i64::from(now.millisecond()) / 10),
        "S" => (now.millisecond() / 100).to_string(),
        "A" => (if hour < 12 { "AM" } else { "PM" }).to_owned(),
        "a" => (if hour < 12 { "am" } else { "pm" }).to_owned(),
        "LTS" => format_date("h:mm:ss A", now)?,
        "LT" => format_date("h:mm A", now)?,
        "LLLL" => format_date("dddd, MMMM D, YYYY h:mm A", now)?,
        "LLL" => format_date("MMMM D, YYYY h:mm A", now)?,
        "LL" => format_date("MMMM D, YYYY", now)?,
        "L" => format_date("MM/DD/YYYY", now)?,
        "llll" => format_date("ddd, MMM D, YYYY h:mm A", now)?,
        "lll" => format_date("MMM D, YYYY h:mm A", now)?,
        "ll" => format_date("MMM D, YYYY", now)?,
        "l" => format_date("M/D/YYYY", now)?,
        other => other.to_owned(),
    })
}

/// Returns the year and number of a week. Weeks begin on Sunday; the first one contains the first of January.
fn week(date: Date) -> (i64, i64) {
    let year = i64::from(date.year());
    let saturday =
        date.saturating_add(jiff::Span::new().days(i64::from(6 - date.weekday().to_sunday_zero_offset())));
    if i64::from(saturday.year()) > year {
        return (year + 1, 1);
    }
    let first = i64::from(date.first_of_year().weekday().to_sunday_zero_offset());
    (year, (i64::from(date.day_of_year()) - 1 + first) / 7 + 1)
}

/// Returns 1st, 2nd, 3rd, 4th; 11th, 12th, 13th.
fn ordinal(number: i64) -> String {
    let ending = match (number % 100 / 10, number % 10) {
        (1, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        (_, _) => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use jiff::civil::{DateTime, date};

    use super::format_date;

    #[track_caller]
    fn check(written: &str, expected: Expect) {
        let at: DateTime = date(2026, 2, 1).at(0, 5, 9, 87_000_000);
        let later: DateTime = date(2024, 12, 31).at(15, 40, 0, 0);
        let both = [at, later].map(|now| format_date(written, now).unwrap_or_else(|fault| fault.message));
        expected.assert_eq(&both.join(" | "));
    }

    #[test]
    fn dates_are_written_as_moment_writes_them() {
        check("YYYY-MM-DD", expect!["2026-02-01 | 2024-12-31"]);
        check(
            "YYYY/MM-MMMM/YYYY-MM-DD dddd",
            expect!["2026/02-February/2026-02-01 Sunday | 2024/12-December/2024-12-31 Tuesday"],
        );
        check("ddd, MMM Do YY", expect!["Sun, Feb 1st 26 | Tue, Dec 31st 24"]);
        check("gggg-[W]ww GGGG-[W]WW E d", expect!["2026-W06 2026-W05 7 0 | 2025-W01 2025-W01 2 2"]);
        check("DDDD DDD Q Qo Mo M D", expect!["032 32 1 1st 2nd 2 1 | 366 366 4 4th 12th 12 31"]);
        check(
            "HH:mm:ss.SSS h:mm A hh a k H m s",
            expect!["00:05:09.087 12:05 AM 12 am 24 0 5 9 | 15:40:00.000 3:40 PM 03 pm 15 15 40 0"],
        );
        check(
            "[on] dddd [at] LT; L LL",
            expect![
                "on Sunday at 12:05 AM; 02/01/2026 February 1, 2026 | on Tuesday at 3:40 PM; 12/31/2024 December 31, 2024"
            ],
        );
        check("日记 YYYY年M月D日 [open", expect!["日记 2026年2月1日 [op0n | 日记 2024年12月31日 [op2n"]);
        check(
            "YYYY Z",
            expect![
                "the date format `YYYY Z` asks for `Z`: no time zone, Unix time or era is known | the date format `YYYY Z` asks for `Z`: no time zone, Unix time or era is known"
            ],
        );
    }

    #[test]
    fn the_weeks_around_a_new_year_belong_where_moment_puts_them() {
        let weeks = |day: i8| format_date("gggg-ww", date(2021, 1, day).at(0, 0, 0, 0)).unwrap();
        assert_eq!([weeks(1), weeks(2), weeks(3)], ["2021-01", "2021-01", "2021-02"]);
        let iso = |day: i8| format_date("GGGG-WW", date(2021, 1, day).at(0, 0, 0, 0)).unwrap();
        assert_eq!([iso(1), iso(3), iso(4)], ["2020-53", "2020-53", "2021-01"]);
    }
}
