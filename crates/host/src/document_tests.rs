//! Documents against a model that knows nothing but UTF-16: an array of code units.

use expect_test::expect;
use proptest::prelude::{Strategy, prop, prop_assert_eq, proptest};

use super::NoteDocument;
use crate::position::{EditorPosition, EditorRange};

/// A note as an array of UTF-16 units with `\n` between lines.
struct Model(Vec<u16>);

impl Model {
    fn of(file: &str) -> Model {
        let text = file.strip_prefix('\u{feff}').unwrap_or(file).replace("\r\n", "\n").replace('\r', "\n");
        Model(text.encode_utf16().collect())
    }

    /// Every place that is not inside a character, by its offset.
    fn places(&self) -> Vec<(usize, EditorPosition)> {
        let (mut line, mut ch) = (0, 0);
        let mut places = Vec::new();
        for offset in 0..=self.0.len() {
            let unit = self.0.get(offset).copied().unwrap_or_default();
            if !(0xdc00..0xe000).contains(&unit) {
                places.push((offset, EditorPosition { line, ch }));
            }
            if unit == u16::from(b'\n') {
                (line, ch) = (line + 1, 0);
            } else {
                ch += 1;
            }
        }
        places
    }

    fn text(&self) -> String {
        String::from_utf16(&self.0).unwrap()
    }
}

/// Text with everything that is counted differently somewhere.
fn text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a",
        "é",
        "e\u{301}",
        "😀",
        "👩‍👩‍👧",
        "日本",
        "\n",
        "\r\n",
        "\r",
        "\t",
        " ",
        "\u{2028}",
        "\u{feff}",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn a_note_that_is_not_edited_keeps_every_byte(file in text()) {
        prop_assert_eq!(NoteDocument::parse(&file).file_text(), file);
    }

    #[test]
    fn every_place_is_where_utf16_says(file in text()) {
        let (document, model) = (NoteDocument::parse(&file), Model::of(&file));
        prop_assert_eq!(document.text(), model.text());
        for (offset, place) in model.places() {
            let before = String::from_utf16(&model.0[..offset]).unwrap();
            prop_assert_eq!(document.slice(EditorRange { from: EditorPosition::default(), to: place }).unwrap(), before.clone());
            prop_assert_eq!(document.offset(place), before.len());
            prop_assert_eq!(document.position_at(before.len()), place);
        }
        prop_assert_eq!(document.end(), model.places().last().unwrap().1);
    }

    #[test]
    fn an_edit_does_what_it_does_to_the_model(file in text(), new in text(), a in 0usize..200, b in 0usize..200) {
        let (mut document, mut model) = (NoteDocument::parse(&file), Model::of(&file));
        let places = model.places();
        let pick = |n: usize| places[n % places.len()];
        let ((start, from), (stop, to)) = if pick(a).0 <= pick(b).0 { (pick(a), pick(b)) } else { (pick(b), pick(a)) };
        let end = document.replace(EditorRange { from, to }, &new).unwrap();
        // Unlike at the start of a file, U+FEFF in text that is put in is a character.
        let units: Vec<u16> = new.replace("\r\n", "\n").replace('\r', "\n").encode_utf16().collect();
        let after = start + units.len();
        model.0.splice(start..stop, units);
        prop_assert_eq!(document.text(), model.text());
        prop_assert_eq!(document.offset(end), String::from_utf16(&model.0[..after]).unwrap().len());
        // What is saved is read back as what was on the screen.
        let again = NoteDocument::parse(&document.file_text());
        let lost_mark = !file.starts_with('\u{feff}') && document.text().starts_with('\u{feff}');
        if !lost_mark {
            prop_assert_eq!(again.text(), document.text());
        }
    }

    #[test]
    fn an_edit_keeps_the_bytes_of_every_line_it_does_not_touch(file in text(), new in "[a-z]{0,3}", pick in 0usize..200) {
        let model = Model::of(&file);
        let places = model.places();
        let (_, place) = places[pick % places.len()];
        let mut document = NoteDocument::parse(&file);
        document.replace(EditorRange::at(place), &new).unwrap();
        let lines = |text: &str| -> Vec<String> {
            NoteDocument::parse(text).lines.iter().map(|line| format!("{}{}", line.text, line.end.text())).collect()
        };
        let (before, after) = (lines(&file), lines(&document.file_text()));
        prop_assert_eq!(before.len(), after.len());
        for (line, (old, new)) in before.iter().zip(&after).enumerate() {
            if line != place.line as usize {
                prop_assert_eq!(old, new);
            }
        }
    }
}

#[test]
fn a_new_line_ends_as_the_file_does() {
    let cases = [("a\r\nb", "a\r\nX\r\nYb"), ("a\nb", "a\nX\nYb"), ("a\rb", "a\rX\rYb"), ("", "X\nY")];
    for (file, expected) in cases {
        let mut document = NoteDocument::parse(file);
        let place = EditorPosition { line: document.end().line, ch: 0 };
        document.replace(EditorRange::at(place), "X\nY").unwrap();
        assert_eq!(document.file_text(), expected);
    }
}

#[test]
fn line_breaks_that_would_run_into_one_are_kept_apart() {
    let mut document = NoteDocument::parse("\n\r\ra\n");
    let range =
        EditorRange { from: EditorPosition { line: 3, ch: 0 }, to: EditorPosition { line: 3, ch: 1 } };
    document.replace(range, "").unwrap();
    assert_eq!(document.file_text(), "\n\n\n\n");
    assert_eq!(NoteDocument::parse(&document.file_text()).text(), document.text());
}

#[test]
fn a_place_outside_the_note_is_refused_with_the_places_there_are() {
    let document = NoteDocument::parse("ab\n😀c");
    let mut shown = String::new();
    for (line, ch) in [(2, 0), (0, 3), (1, 1), (1, 4)] {
        let place = EditorPosition { line, ch };
        let fault = document.check(EditorRange::at(place)).unwrap_err();
        shown.push_str(&format!("{place} | {} | {}\n", fault.message, fault.recovery_hint()));
    }
    let backwards =
        EditorRange { from: EditorPosition { line: 1, ch: 0 }, to: EditorPosition { line: 0, ch: 1 } };
    let fault = document.check(backwards).unwrap_err();
    shown.push_str(&format!("{} | {}\n", fault.message, fault.recovery_hint()));
    expect![[r#"
        2:0 | line 2 is not in the note | the note has the lines 0 to 1; it ends at 1:3 (line:ch)
        0:3 | ch 3 is past the end of line 0 | line 0 has ch 0 to 2, counted in UTF-16 units
        1:1 | 1:1 is inside a character | that character takes two UTF-16 units; use ch 0 or 2
        1:4 | ch 4 is past the end of line 1 | line 1 has ch 0 to 3, counted in UTF-16 units
        the range begins at 1:0 and ends before that, at 0:1 | give `from` and `to` in the order of the text
    "#]]
    .assert_eq(&shown);
}
