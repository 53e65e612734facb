//! Escapes in strings, byte by byte.

/// How far an escape has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escape {
    /// Behind the backslash.
    Letter,
    /// So many hexadecimal digits are still to come.
    Digits {
        left: u8,
        unit: u16,
        half: Half,
    },
    /// The first half of a surrogate pair was read; the second must follow.
    SecondBackslash,
    SecondLetter,
}

/// Which half of a surrogate pair a code unit may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Half {
    First,
    Second,
}

const ALONE: &str = "half of a surrogate pair stands alone";

impl Escape {
    /// Where the escape stands behind this byte; nothing when it is over.
    pub(super) fn read(self, byte: u8) -> Result<Option<Escape>, &'static str> {
        match (self, byte) {
            (Escape::Letter, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(None),
            (Escape::Letter, b'u') => Ok(Some(Escape::Digits { left: 4, unit: 0, half: Half::First })),
            (Escape::SecondBackslash, b'\\') => Ok(Some(Escape::SecondLetter)),
            (Escape::SecondLetter, b'u') => Ok(Some(Escape::Digits { left: 4, unit: 0, half: Half::Second })),
            (Escape::Digits { left, unit, half }, _) => {
                let digit = char::from(byte).to_digit(16).ok_or("four hexadecimal digits were expected")?;
                let unit = unit << 4 | digit as u16;
                if left > 1 {
                    Ok(Some(Escape::Digits { left: left - 1, unit, half }))
                } else {
                    ended(unit, half)
                }
            }
            (Escape::SecondBackslash | Escape::SecondLetter, _) => Err(ALONE),
            (Escape::Letter, _) => Err("a backslash is followed by a letter that is no escape"),
        }
    }
}

fn ended(unit: u16, half: Half) -> Result<Option<Escape>, &'static str> {
    match (half, unit) {
        (Half::First, 0xD800..=0xDBFF) => Ok(Some(Escape::SecondBackslash)),
        (Half::First, 0xDC00..=0xDFFF) => Err(ALONE),
        (Half::First, _) | (Half::Second, 0xDC00..=0xDFFF) => Ok(None),
        (Half::Second, _) => Err(ALONE),
    }
}
