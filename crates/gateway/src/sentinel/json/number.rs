//! Numbers, digit by digit.

/// How far a number has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    Minus,
    /// A leading zero, which no digit may follow.
    Zero,
    Whole,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

/// What a byte does to a number.
pub(super) enum Effect {
    GoesOn(Number),
    /// The number ended before this byte.
    Ends,
    Breaks,
}

impl Number {
    pub(super) fn begin(byte: u8) -> Option<Number> {
        match byte {
            b'-' => Some(Number::Minus),
            b'0' => Some(Number::Zero),
            b'1'..=b'9' => Some(Number::Whole),
            _ => None,
        }
    }

    pub(super) fn read(self, byte: u8) -> Effect {
        match (self, byte) {
            (Number::Minus, b'0') => Effect::GoesOn(Number::Zero),
            (Number::Minus, b'1'..=b'9') | (Number::Whole, b'0'..=b'9') => Effect::GoesOn(Number::Whole),
            (Number::Zero | Number::Whole, b'.') => Effect::GoesOn(Number::Point),
            (Number::Point | Number::Fraction, b'0'..=b'9') => Effect::GoesOn(Number::Fraction),
            (Number::Zero | Number::Whole | Number::Fraction, b'e' | b'E') => {
                Effect::GoesOn(Number::Exponent)
            }
            (Number::Exponent, b'+' | b'-') => Effect::GoesOn(Number::ExponentSign),
            (Number::Exponent | Number::ExponentSign | Number::ExponentDigits, b'0'..=b'9') => {
                Effect::GoesOn(Number::ExponentDigits)
            }
            (Number::Zero, b'0'..=b'9')
            | (Number::Minus | Number::Point | Number::Exponent | Number::ExponentSign, _) => Effect::Breaks,
            (Number::Zero | Number::Whole | Number::Fraction | Number::ExponentDigits, _) => Effect::Ends,
        }
    }
}
