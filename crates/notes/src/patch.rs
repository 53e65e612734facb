//! The edit behind `vault.patchFile`: inserts, deletes and replaces at given positions.
//!
//! Positions are byte offsets in the UTF-8 file before the patch, as in the ranges of `vault.readFile`. Texts
//! are inserted exactly as given: their line endings do not change.

use std::ops::Range;

use envelope::{Failure, Fault};

use super::splice::{TextSplice, apply_splices};

/// One change. Its order in the list matters only among inserts at the same position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchEdit {
    Insert { at: u64, text: String },
    Delete { start: u64, end: u64 },
    Replace { start: u64, end: u64, text: String },
}

/// The patched text.
#[derive(Debug, PartialEq, Eq)]
pub struct PatchedText {
    pub text: String,
    pub bytes_added: usize,
    pub bytes_removed: usize,
}

/// Applies all `operations` to `text`, or none.
///
/// Fails if two of them overlap or if a position is invalid. An insert at the edge of a replaced or deleted
/// range stays outside of it: before the range at its start, after it at its end. Inserts at one position
/// keep their order.
pub fn apply_patch(text: &str, operations: &[PatchEdit]) -> Result<PatchedText, Fault> {
    if operations.is_empty() {
        return Err(Fault::new(Failure::InvalidArguments, "the patch has no operations")
            .hint("give at least one operation"));
    }
    let mut placed = operations
        .iter()
        .enumerate()
        .map(|(index, operation)| Ok((index, splice(text, index, operation)?)))
        .collect::<Result<Vec<_>, Fault>>()?;
    placed.sort_by_key(|(index, splice)| (splice.range.start, !splice.range.is_empty(), *index));
    for pair in placed.windows(2) {
        if let [(a, first), (b, second)] = pair
            && second.range.start < first.range.end
        {
            return Err(overlap((*a, &first.range), (*b, &second.range)));
        }
    }
    let splices: Vec<TextSplice> = placed.into_iter().map(|(_, splice)| splice).collect();
    Ok(PatchedText {
        text: apply_splices(text, &splices),
        bytes_added: splices.iter().map(|splice| splice.text.len()).sum(),
        bytes_removed: splices.iter().map(|splice| splice.range.len()).sum(),
    })
}

fn splice(text: &str, index: usize, operation: &PatchEdit) -> Result<TextSplice, Fault> {
    let (start, end, new) = match operation {
        PatchEdit::Insert { at, text } => (*at, *at, text.clone()),
        PatchEdit::Delete { start, end } => (*start, *end, String::new()),
        PatchEdit::Replace { start, end, text } => (*start, *end, text.clone()),
    };
    if start > end {
        return Err(Fault::new(
            Failure::InvalidArguments,
            format!("operation {index} starts at byte {start} and ends before that, at {end}"),
        )
        .hint("give `start` and `end` in bytes with start <= end"));
    }
    Ok(TextSplice { range: position(text, index, start)?..position(text, index, end)?, text: new })
}

/// Returns `at` as an offset; it must be inside the text and between two characters.
fn position(text: &str, index: usize, at: u64) -> Result<usize, Fault> {
    let Some(known) = usize::try_from(at).ok().filter(|known| *known <= text.len()) else {
        return Err(Fault::new(
            Failure::InvalidArguments,
            format!("operation {index} names byte {at}, and the file has {} bytes", text.len()),
        )
        .hint("read the file again: positions are bytes of the file before the patch")
        .detail("sizeBytes", text.len()));
    };
    if text.is_char_boundary(known) {
        return Ok(known);
    }
    let (before, after) = (text.floor_char_boundary(known), text.ceil_char_boundary(known));
    Err(Fault::new(
        Failure::InvalidArguments,
        format!(
            "operation {index} names byte {at}, which is inside the character `{}`",
            &text[before..after]
        ),
    )
    .hint(format!("the nearest positions between characters are {before} and {after}"))
    .detail("before", before)
    .detail("after", after))
}

fn overlap(first: (usize, &Range<usize>), second: (usize, &Range<usize>)) -> Fault {
    let shown = |(index, range): (usize, &Range<usize>)| {
        format!("operation {index} (bytes {} to {})", range.start, range.end)
    };
    Fault::new(Failure::InvalidArguments, format!("{} and {} overlap", shown(first), shown(second)))
        .hint("positions mean the file before the patch; join the two operations into one")
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::{Strategy, any, prop_assert_eq, proptest};

    use super::{PatchEdit, PatchedText, apply_patch};

    fn insert(at: u64, text: &str) -> PatchEdit {
        PatchEdit::Insert { at, text: text.to_owned() }
    }

    fn delete(start: u64, end: u64) -> PatchEdit {
        PatchEdit::Delete { start, end }
    }

    fn replace(start: u64, end: u64, text: &str) -> PatchEdit {
        PatchEdit::Replace { start, end, text: text.to_owned() }
    }

    #[track_caller]
    fn check(text: &str, operations: &[PatchEdit], expected: Expect) {
        let shown = match apply_patch(text, operations) {
            Ok(PatchedText { text, bytes_added, bytes_removed }) => {
                format!("{text:?} +{bytes_added} -{bytes_removed}")
            }
            Err(fault) => format!("{}: {fault}; {}", fault.failure, fault.recovery_hint()),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn positions_mean_the_text_before_the_patch() {
        check(
            "0123456789",
            &[replace(8, 10, "end"), delete(0, 2), insert(5, "<>")],
            expect![[r#""234<>567end" +5 -4"#]],
        );
    }

    #[test]
    fn inserts_at_one_place_keep_their_order_and_stand_outside_of_a_replaced_part() {
        check(
            "abcd",
            &[insert(1, "1"), replace(1, 3, "XX"), insert(1, "2"), insert(3, "3")],
            expect![[r#""a12XX3d" +5 -2"#]],
        );
    }

    #[test]
    fn overlapping_operations_are_refused() {
        check(
            "abcdef",
            &[replace(0, 3, ""), delete(2, 4)],
            expect![
                "invalid_arguments: operation 0 (bytes 0 to 3) and operation 1 (bytes 2 to 4) overlap; positions mean the file before the patch; join the two operations into one"
            ],
        );
        check(
            "abcdef",
            &[insert(2, "x"), replace(1, 3, "")],
            expect![
                "invalid_arguments: operation 1 (bytes 1 to 3) and operation 0 (bytes 2 to 2) overlap; positions mean the file before the patch; join the two operations into one"
            ],
        );
        check("abcdef", &[delete(0, 3), delete(3, 6)], expect![[r#""" +0 -6"#]]);
    }

    #[test]
    fn a_position_that_the_file_does_not_have_is_refused() {
        check(
            "abc",
            &[insert(4, "x")],
            expect![
                "invalid_arguments: operation 0 names byte 4, and the file has 3 bytes; read the file again: positions are bytes of the file before the patch"
            ],
        );
        check(
            "abc",
            &[delete(2, 1)],
            expect![
                "invalid_arguments: operation 0 starts at byte 2 and ends before that, at 1; give `start` and `end` in bytes with start <= end"
            ],
        );
        check(
            "a😀b",
            &[delete(0, 2)],
            expect![
                "invalid_arguments: operation 0 names byte 2, which is inside the character `😀`; the nearest positions between characters are 1 and 5"
            ],
        );
        check(
            "abc",
            &[],
            expect!["invalid_arguments: the patch has no operations; give at least one operation"],
        );
    }

    #[test]
    fn texts_go_in_as_they_are() {
        check("\u{feff}a\r\nb", &[insert(6, "x\ny")], expect![[r#""\u{feff}a\r\nx\nyb" +3 -0"#]]);
    }

    fn operation() -> impl Strategy<Value = PatchEdit> {
        (any::<u8>(), 0..24_u64, 0..6_u64, "[xyé]{0,3}").prop_map(|(kind, start, length, text)| {
            match kind % 3 {
                0 => PatchEdit::Insert { at: start, text },
                1 => PatchEdit::Delete { start, end: start + length },
                _ => PatchEdit::Replace { start, end: start + length, text },
            }
        })
    }

    /// Reference implementation: applies the operations from the back, later inserts first.
    fn one_by_one(text: &str, operations: &[PatchEdit]) -> String {
        let mut ranges: Vec<(usize, usize, usize, &str)> = operations
            .iter()
            .enumerate()
            .map(|(n, operation)| match operation {
                PatchEdit::Insert { at, text } => (*at as usize, *at as usize, n, text.as_str()),
                PatchEdit::Delete { start, end } => (*start as usize, *end as usize, n, ""),
                PatchEdit::Replace { start, end, text } => (*start as usize, *end as usize, n, text.as_str()),
            })
            .collect();
        ranges.sort_by_key(|(start, end, n, _)| (*start, *end != *start, *n));
        let mut out = text.to_owned();
        for (start, end, _, new) in ranges.into_iter().rev() {
            out.replace_range(start..end, new);
        }
        out
    }

    proptest! {
        #[test]
        fn a_patch_is_its_operations_from_the_back(
            text in "[abé😀\n]{0,12}",
            operations in proptest::collection::vec(operation(), 1..5),
        ) {
            if let Ok(patched) = apply_patch(&text, &operations) {
                prop_assert_eq!(&patched.text, &one_by_one(&text, &operations));
                prop_assert_eq!(
                    patched.text.len() + patched.bytes_removed,
                    text.len() + patched.bytes_added
                );
            }
        }
    }
}
