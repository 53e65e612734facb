//! Finds the lines that differ from the lines around them: the one sick row of a table, the one record with another
//! status, a value far from all others, a row with a missing or an additional field.
//!
//! Lines with the same number of fields are rows of one table. A field that takes few values in its column is judged
//! by how rare its value is, a number by its distance from the median. A line is an outlier if its fields together
//! are much rarer than usual in their columns. The result depends on the lines alone: counts and integers, no clock
//! and no random numbers.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// Rarity in bits from which a line is an outlier: eight times as rare as usual.
const LEAST_BITS: u32 = 3;
/// Further fields of a line are not compared.
const MOST_FIELDS: usize = 32;
/// Smallest table whose columns are compared.
const LEAST_ROWS: usize = 8;
/// Longer tables are not compared: their fields would take many times the memory of the text.
const MOST_ROWS: usize = 100_000;
/// Most outliers, and their largest share: a common row does not count as an outlier.
const MOST_OUTLIERS: usize = 80;
const LARGEST_SHARE: usize = 8;
/// A column with more values than this has no first occurrences worth showing.
const FEW_VALUES: usize = 6;

/// Rows that show the values of a column that are in use from the beginning.
const FIRST_CHANGE: usize = 24;

type Counts = HashMap<u64, usize, BuildHasherDefault<DefaultHasher>>;

/// One field of a line.
#[derive(Clone, Copy)]
struct Field {
    /// Hash of the text.
    exact: u64,
    /// Hash of the text with every number replaced by one digit.
    shape: u64,
    /// The number at the start of the field, in thousandths.
    number: Option<i64>,
}

/// Returns the rarity of each line in bits; 0 for a line that is not an outlier.
pub(super) fn outliers(lines: &[&str]) -> Vec<u32> {
    let mut bits = vec![0; lines.len()];
    if !(LEAST_ROWS..=MOST_ROWS).contains(&lines.len()) {
        return bits;
    }
    let rows: Vec<Vec<Field>> = lines.iter().map(|line| fields(line)).collect();
    let mut tables: Vec<Vec<usize>> = vec![Vec::new(); MOST_FIELDS + 1];
    for (at, row) in rows.iter().enumerate() {
        tables[row.len()].push(at);
    }
    let sizes: Vec<u64> = rows.iter().map(|row| row.len() as u64).collect();
    let all: Vec<usize> = (0..rows.len()).filter(|&at| sizes[at] > 0).collect();
    add_rarity(&all, |at| sizes[at], &mut bits, false);
    for table in tables.iter().skip(1).filter(|table| table.len() >= LEAST_ROWS) {
        let columns = rows[table[0]].len();
        (0..columns).for_each(|column| judge_column(table, |at| rows[at][column], &mut bits));
    }
    keep_rarest(&mut bits);
    bits
}

/// Adds the rarity of each value of a column to its line.
fn judge_column(table: &[usize], field: impl Fn(usize) -> Field, bits: &mut [u32]) {
    let exact = count(table.iter().map(|&at| field(at).exact));
    if exact.len() == 1 {
        return;
    }
    if exact.len() * 4 <= table.len() {
        add_rarity(table, |at| field(at).exact, bits, exact.len() <= FEW_VALUES);
    } else {
        let shapes = count(table.iter().map(|&at| field(at).shape));
        if shapes.len() * 4 <= table.len() {
            add_rarity(table, |at| field(at).shape, bits, false);
        }
    }
    add_distance(table, |at| field(at).number, bits);
}

/// Adds by how many bits a value is rarer than the usual value of its column.
fn add_rarity(table: &[usize], value: impl Fn(usize) -> u64, bits: &mut [u32], changes: bool) {
    let counts = count(table.iter().map(|&at| value(at)));
    let rarity = |at: usize| {
        let times = counts.get(&value(at)).copied().unwrap_or(1);
        (table.len() / times.max(1)).max(1).ilog2()
    };
    let usual = median(table.iter().map(|&at| i64::from(rarity(at))));
    let usual = u32::try_from(usual).unwrap_or(0);
    for &at in table {
        // A value that is common here adds nothing, so that many ordinary fields make no outlier.
        let more = rarity(at).saturating_sub(usual);
        bits[at] += if more > 1 { more } else { 0 };
    }
    if changes {
        let mut seen = Counts::default();
        for (row, &at) in table.iter().enumerate() {
            if seen.insert(value(at), at).is_none() && row >= FIRST_CHANGE {
                bits[at] += LEAST_BITS;
            }
        }
    }
}

/// Adds the distance of a number from the median of its column, compared with the usual distance.
fn add_distance(table: &[usize], number: impl Fn(usize) -> Option<i64>, bits: &mut [u32]) {
    let numbers: Vec<(usize, i64)> = table.iter().filter_map(|&at| Some((at, number(at)?))).collect();
    if numbers.len() < LEAST_ROWS || numbers.len() * 4 < table.len() * 3 {
        return;
    }
    let middle = median(numbers.iter().map(|&(_, number)| number));
    let usual = median(numbers.iter().map(|&(_, number)| number.saturating_sub(middle).saturating_abs()));
    if usual == 0 {
        // Most rows have the same number, such as the year of a date: another one is rare, however close it is.
        let table: Vec<usize> = numbers.iter().map(|&(at, _)| at).collect();
        add_rarity(&table, |at| number(at).unwrap_or_default().cast_unsigned(), bits, false);
    }
    let unit = usual.max(middle.saturating_abs() / 64).max(1);
    for &(at, number) in &numbers {
        let times = number.saturating_sub(middle).saturating_abs() / unit;
        if times >= 6 {
            bits[at] += u32::try_from(times).unwrap_or(u32::MAX).ilog2().min(8) + 1;
        }
    }
}

/// Drops lines that are too common to be outliers.
fn keep_rarest(bits: &mut [u32]) {
    let most = (bits.len() / LARGEST_SHARE).clamp(2, MOST_OUTLIERS);
    let mut order: Vec<usize> = (0..bits.len()).filter(|&at| bits[at] >= LEAST_BITS).collect();
    order.sort_by_key(|&at| (std::cmp::Reverse(bits[at]), at));
    let kept = &order[..order.len().min(most)];
    let before = bits.to_vec();
    bits.fill(0);
    for &at in kept {
        bits[at] = before[at];
    }
}

fn count(values: impl Iterator<Item = u64>) -> Counts {
    let mut counts = Counts::default();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    counts
}

fn median(values: impl Iterator<Item = i64>) -> i64 {
    let mut values: Vec<i64> = values.collect();
    if values.is_empty() {
        return 0;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable(middle).1
}

/// Splits a line into fields at white space, commas and the like, and at the sign between a name and its value.
fn fields(line: &str) -> Vec<Field> {
    let mut found = Vec::new();
    let bytes = line.as_bytes();
    let mut start = 0;
    for at in 0..=bytes.len() {
        let ends = match bytes.get(at) {
            None => true,
            Some(b':') => at > start && bytes[at - 1].is_ascii_alphabetic(),
            Some(byte) => matches!(
                byte,
                b' ' | b'\t' | b',' | b';' | b'|' | b'"' | b'=' | b'(' | b')' | b'{' | b'}' | b'[' | b']'
            ),
        };
        if !ends {
            continue;
        }
        let text = bytes[start..at].trim_ascii();
        if !text.is_empty() && found.len() < MOST_FIELDS {
            found.push(Field { exact: hash(text.iter().copied()), shape: shape(text), number: number(text) });
        }
        start = at + 1;
    }
    found
}

fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    let bytes: Vec<u8> = bytes.collect();
    BuildHasherDefault::<DefaultHasher>::default().hash_one(bytes)
}

/// Hash of a field with every run of digits as one digit.
fn shape(text: &[u8]) -> u64 {
    let mut in_number = false;
    hash(text.iter().filter_map(|&byte| {
        let digit = byte.is_ascii_digit();
        let repeated = digit && in_number;
        in_number = digit;
        (!repeated).then_some(if digit { b'0' } else { byte })
    }))
}

/// Returns the number that a field begins with, in thousandths.
fn number(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+' | b'$', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    if !digits.first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let whole = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut value: i64 = 0;
    for &digit in &digits[..whole] {
        value = value.saturating_mul(10).saturating_add(i64::from(digit - b'0'));
    }
    value = value.saturating_mul(1_000);
    if let Some((b'.', decimals)) = digits[whole..].split_first() {
        let mut place = 100;
        for &digit in decimals.iter().take(3).take_while(|byte| byte.is_ascii_digit()) {
            value = value.saturating_add(i64::from(digit - b'0') * place);
            place /= 10;
        }
    }
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::outliers;

    fn found(lines: &[String]) -> Vec<usize> {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        outliers(&lines).iter().enumerate().filter(|(_, bits)| **bits > 0).map(|(at, _)| at).collect()
    }

    #[test]
    fn the_row_with_another_state_number_or_field_is_found() {
        let table = |odd: &str| -> Vec<String> {
            (0..180)
                .map(|n| match n {
                    90 => odd.to_owned(),
                    n => format!("node-{n}  ready  {}%  10.0.0.{n}  v1.29.1", 30 + n * 7 % 23),
                })
                .collect()
        };
        for odd in [
            "node-90  sick  41%  10.0.0.90  v1.29.1",
            "node-90  ready  99%  10.0.0.90  v1.28.1",
            "node-90  ready  3000%  10.0.0.90  v1.29.1",
            "node-90  ready  41%  v1.29.1",
        ] {
            assert!(found(&table(odd)).contains(&90), "{odd}");
        }
    }

    #[test]
    fn lines_of_one_kind_have_no_outliers() {
        let names = ["apple", "river", "stone", "cloud", "amber", "quiet", "lantern"];
        let lines: Vec<String> =
            (0..200).map(|n| format!("{} {} line {n}", names[n % 7], names[n / 7 % 7])).collect();
        assert_eq!(found(&lines), Vec::<usize>::new());
    }
}
