//! Escapes in strings, byte by byte.

/// The state of an escape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EscapeStep {
    /// After the backslash.
    Letter,
    /// So many hexadecimal digits are missing.
    Digits {
        left: u8,
        unit: u16,
        half: SurrogateHalf,
    },
    /// After the first half of a surrogate pair; the second must follow.
    SecondBackslash,
    SecondLetter,
}

/// Which half of a surrogate pair a code unit may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SurrogateHalf {
    First,
    Second,
}

const ALONE: &str = "half of a surrogate pair stands alone";

impl EscapeStep {
    /// Returns the state after this byte; `None` at the end of the escape. Fails if the escape is invalid.
    pub(super) fn read(self, byte: u8) -> Result<Option<EscapeStep>, &'static str> {
        match (self, byte) {
            (EscapeStep::Letter, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(None),
            (EscapeStep::Letter, b'u') => {
                Ok(Some(EscapeStep::Digits { left: 4, unit: 0, half: SurrogateHalf::First }))
            }
            (EscapeStep::SecondBackslash, b'\\') => Ok(Some(EscapeStep::SecondLetter)),
            (EscapeStep::SecondLetter, b'u') => {
                Ok(Some(EscapeStep::Digits { left: 4, unit: 0, half: SurrogateHalf::Second }))
            }
            (EscapeStep::Digits { left, unit, half }, _) => {
                let digit = char::from(byte).to_digit(16).ok_or("four hexadecimal digits were expected")?;
                let unit = unit << 4 | digit as u16;
                if left > 1 {
                    Ok(Some(EscapeStep::Digits { left: left - 1, unit, half }))
                } else {
                    ended(unit, half)
                }
            }
            (EscapeStep::SecondBackslash | EscapeStep::SecondLetter, _) => Err(ALONE),
            (EscapeStep::Letter, _) => Err("a backslash is followed by a letter that is no escape"),
        }
    }
}

fn ended(unit: u16, half: SurrogateHalf) -> Result<Option<EscapeStep>, &'static str> {
    match (half, unit) {
        (SurrogateHalf::First, 0xD800..=0xDBFF) => Ok(Some(EscapeStep::SecondBackslash)),
        (SurrogateHalf::First, 0xDC00..=0xDFFF) => Err(ALONE),
        (SurrogateHalf::First, _) | (SurrogateHalf::Second, 0xDC00..=0xDFFF) => Ok(None),
        (SurrogateHalf::Second, _) => Err(ALONE),
    }
}
