//! Numbers, digit by digit.

/// The state of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberState {
    Minus,
    /// A leading zero; a digit must not follow.
    Zero,
    Whole,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

/// The effect of a byte on a number.
pub(super) enum NumberStep {
    GoesOn(NumberState),
    /// The number ended before this byte.
    Ends,
    Breaks,
}

impl NumberState {
    pub(super) fn begin(byte: u8) -> Option<NumberState> {
        match byte {
            b'-' => Some(NumberState::Minus),
            b'0' => Some(NumberState::Zero),
            b'1'..=b'9' => Some(NumberState::Whole),
            _ => None,
        }
    }

    pub(super) fn read(self, byte: u8) -> NumberStep {
        match (self, byte) {
            (NumberState::Minus, b'0') => NumberStep::GoesOn(NumberState::Zero),
            (NumberState::Minus, b'1'..=b'9') | (NumberState::Whole, b'0'..=b'9') => {
                NumberStep::GoesOn(NumberState::Whole)
            }
            (NumberState::Zero | NumberState::Whole, b'.') => NumberStep::GoesOn(NumberState::Point),
            (NumberState::Point | NumberState::Fraction, b'0'..=b'9') => {
                NumberStep::GoesOn(NumberState::Fraction)
            }
            (NumberState::Zero | NumberState::Whole | NumberState::Fraction, b'e' | b'E') => {
                NumberStep::GoesOn(NumberState::Exponent)
            }
            (NumberState::Exponent, b'+' | b'-') => NumberStep::GoesOn(NumberState::ExponentSign),
            (
                NumberState::Exponent | NumberState::ExponentSign | NumberState::ExponentDigits,
                b'0'..=b'9',
            ) => NumberStep::GoesOn(NumberState::ExponentDigits),
            (NumberState::Zero, b'0'..=b'9')
            | (
                NumberState::Minus | NumberState::Point | NumberState::Exponent | NumberState::ExponentSign,
                _,
            ) => NumberStep::Breaks,
            (
                NumberState::Zero | NumberState::Whole | NumberState::Fraction | NumberState::ExponentDigits,
                _,
            ) => NumberStep::Ends,
        }
    }
}
